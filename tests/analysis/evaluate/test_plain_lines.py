"""Commands of plain words are read at one go: that must be what the grammar makes of them."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assent.analysis.bash.parse import RESERVED
from assent.analysis.bash.simple_commands import WORDS as WORDS_AT_ONCE
from assent.analysis.evaluate.builtins import EFFECTS
from assent.analysis.evaluate.plain_lines import read_plain
from assent.analysis.evaluate.script import parse, read_fully
from corpus import rows
from shell_lines import read

LETTERS = "abzAZ019_./:@%+,=^-é"
WORDS = st.one_of(
    st.text(LETTERS, min_size=1, max_size=6),
    st.sampled_from(sorted(RESERVED | EFFECTS.keys())),
    st.sampled_from(["ls", "A=1", "a=", "a+=b", "2", "-v", "-o", "x=(", "--", "HEAD^", "\u3164"]),
)
LINES = st.lists(st.tuples(WORDS, st.sampled_from([" ", "  ", "\t", "\t "])), max_size=6).map(
    lambda pairs: "".join(word + blank for word, blank in pairs)
)
PIECES = st.one_of(
    WORDS,
    st.sampled_from(
        ["|", "||", "&&", ";", "&", "|&", ";;", "2>&1", ">&2", "2>/dev/null", "> f", ">>f", "< f", "3>f", "<<E"]
    ),
    st.sampled_from(
        ["'a b'", '"a b"', "'*'", '"{a,b}"', "'$x'", '"$x"', '"!x"', "'é'", "''", '""', "'", '"', "`", "\\"]
    ),
    st.sampled_from(
        ["*.py", "a?b", "[a]", "{a,b}", "~", "~/x", "a~1", "a~b", "x=~", "a:~1", "^~1", "a~1~2", "*~1", "#", "!"]
    ),
)
MIXED = st.lists(st.tuples(PIECES, st.sampled_from([" ", " ", "\t", ""])), min_size=1, max_size=9).map(
    lambda pairs: "".join(piece + blank for piece, blank in pairs)
)
GOING = st.tuples(
    st.sampled_from(["cd ", "cd\t", "  cd  ", "cd -- ", "cd -P ", "cd", "pushd "]),
    st.one_of(
        WORDS, st.sampled_from(["src", "/", "..", "../a/./b", "/x//y/..", "-", "~", "'a'", "a b", "*", "a~1", ""])
    ),
    st.sampled_from([" && ", "&&", " ; ", " || ", " | ", " &&&& ", " & "]),
    MIXED,
).map("".join)
BY_THE_GRAMMAR = " # é"
"""A comment with which no line is read at one go."""


def commands(line):
    """The commands of a line, whichever way it was read."""
    return [msgspec.structs.replace(command, constant=False) for command in read(line).commands]


@given(LINES)
def test_a_line_is_the_same_with_a_comment_behind_it(line):
    assert commands(line) == commands(line.strip()) == commands(line + BY_THE_GRAMMAR)
    assert (read(line).unreadable is None) == (read(line + BY_THE_GRAMMAR).unreadable is None)


@given(LINES, st.text(max_size=8))
def test_a_comment_read_at_one_go_is_what_the_grammar_makes_of_it(line, comment):
    read_at_once, by_grammar = read(f"{line} #{comment}"), read(f"{line} #{comment}{BY_THE_GRAMMAR}")
    assert commands(f"{line} #{comment}") == commands(f"{line} #{comment}{BY_THE_GRAMMAR}")
    assert (read_at_once.unreadable is None) == (by_grammar.unreadable is None)


def test_what_only_looks_like_a_comment_is_a_word():
    assert [w.text for w in read("ls a#b").commands[0].words] == ["ls", "a#b"]
    assert [w.text for w in read("ls # b").commands[0].words] == ["ls"]


@given(LINES, st.sampled_from(["; ls", " | ls", " && ls", "\nls", " & ls", " 2>&1", " 'x'", ' "$x"', " &>f", " >f"]))
def test_a_command_is_the_same_whatever_stands_behind_it(line, more):
    plain, longer = read(line + BY_THE_GRAMMAR), read(line + more)
    if plain.unreadable is None and longer.unreadable is None and plain.commands and plain.commands[0].words:
        count = len(plain.commands[0].words)
        assert longer.commands[0].words[:count] == plain.commands[0].words


def agree(line):
    """Tell whether a line is read without the grammar, and hold what is found there against the grammar's."""
    for cwd, elsewhere in (("/code", ("/other",)), (None, ()), ("/code", ())):
        plain = read_plain(line, cwd, elsewhere)
        if plain is not None:
            assert plain == read_fully(line, cwd, elsewhere, {"HOME": "/home/u"})
    return plain is not None


@settings(max_examples=1_000)
@given(MIXED)
def test_a_line_that_needs_no_grammar_is_what_the_grammar_makes_of_it(line):
    agree(line)


@settings(max_examples=1_000)
@given(GOING)
def test_nor_is_one_that_goes_to_a_folder_first(line):
    agree(line)


def test_where_folders_are_searched_for_a_folder_is_not_known_by_its_name():
    line = "cd src && ls"
    assert [command.cwd for command in parse(line, cwd="/code").commands] == ["/code", "/code/src"]
    searched = parse(line, cwd="/code", variables={"CDPATH": "/x"})
    assert searched == read_fully(line, "/code", (), {"CDPATH": "/x"})
    assert searched.commands[1].cwd is None


def test_so_is_every_line_of_the_corpora_and_most_of_them_need_none():
    found = [agree(row.line) for row in rows()]
    assert sum(found) > len(found) / 2


@pytest.mark.parametrize(
    "line",
    [
        "ls -la # all",
        "git diff HEAD~1 -- 'a b' \"c\"",
        "grep -rn 'x y' *.py | sort -u | head -5",
        "make test 2>&1 | tail -n 20; echo done > out.txt",
        "a && b || c < in.txt",
        "cd src && ls",
        "cd ../.. && git log | head -5 && pwd 2>/dev/null # up",
        "cd /tmp/x@1.2 && ls *.py",
    ],
)
def test_everyday_lines_need_no_grammar(line):
    assert agree(line)


@pytest.mark.parametrize(
    "line",
    [
        "cd src",
        "cd && ls",
        "cd - && ls",
        "cd -P src && ls",
        "cd src x && ls",
        "cd src > f && ls",
        "cd 'src' && ls",
        "cd s* && ls",
        "cd HEAD~1 && ls",
        "cd src; ls",
        "cd src | ls",
        "cd src || ls",
        "cd src && ls; ls",
        "cd src && ls || ls",
        "cd src && cd x",
        "ls && cd src && ls",
        "ls | if",
        "A=1 ls",
        "ls; A=1",
        "ls &",
        "ls ;",
        "ls |& cat",
        "ls 'a'b",
        "ls $x",
        "ls ~/x",
        "ls x=~",
        "ls x=a:~1",
        "ls [a]",
        "ls\nls",
        "ls é",
        "ls '\u200b'",
        "ls 2>f*",
        "ls" + " x;ls" * 300,
    ],
)
def test_what_does_is_left_to_it(line):
    assert not agree(line)


@pytest.mark.parametrize(
    ("line", "constant"),
    [
        ("ls -la", [True]),
        ("ls; cat x", [True, True]),
        ("ls | cat > f", [True, False]),
        ("cat *.py", [False]),
        ("cat $x", [False]),
        ("cat 'a b' \"c\" d\\ e", [True]),
        ("cat 'a b' *.py", [False]),
        ("cat 'a b' > 'c d'", [False]),
        ("x=a; cat $x", [False, True]),
        ('cat "$x"', [False]),
        ("A=1 ls", [False]),
        ("A=1", [False]),
        ("ls <(a)", [True, False]),
    ],
)
def test_what_is_constant_is_words_alone(line, constant):
    assert [command.constant for command in read(line).commands] == constant


@pytest.mark.parametrize("word", sorted(word for word in RESERVED if word.isalpha()))
def test_no_run_of_plain_words_begins_with_a_keyword(word):
    assert WORDS_AT_ONCE.match(f"{word} x") is None
    assert WORDS_AT_ONCE.match(f"{word}s x")[0] == f"{word}s x"
