"""Commands of plain words are read at one go: that must be what the grammar makes of them."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.shell.commands import WORDS as WORDS_AT_ONCE
from assent.shell.effects import EFFECTS
from assent.shell.parser import RESERVED
from shell.lines import read

LETTERS = "abzAZ019_./:@%+,=^-é"
WORDS = st.one_of(
    st.text(LETTERS, min_size=1, max_size=6),
    st.sampled_from(sorted(RESERVED | EFFECTS.keys())),
    st.sampled_from(["ls", "A=1", "a=", "a+=b", "2", "-v", "-o", "x=(", "--", "HEAD^", "\u3164"]),
)
LINES = st.lists(st.tuples(WORDS, st.sampled_from([" ", "  ", "\t", "\t "])), max_size=6).map(
    lambda pairs: "".join(word + blank for word, blank in pairs)
)
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
