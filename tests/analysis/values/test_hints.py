"""A word that is no constant tells what of the line it may be; only ever a reason to ask."""

import pytest

from assent.analysis.values.hints import FITS, FOREIGN, MADE, MOST, combined, merged
from assent.analysis.values.parameter_expansion import derive
from assent.analysis.values.printed_text import run_by_xargs
from assent.model import UNKNOWN
from shell_lines import read

U = UNKNOWN


def hints(line):
    """What the last word of the last command may be."""
    return set(read(line).commands[-1].words[-1].hints)


CHOSEN = [
    ("for f in a b $X; do cat $f; done", {"a", "b"}),
    ("for f in a*; do cat $f; done", {"a*"}),
    ('for f in "a b" $X; do cat $f; done', {"a", "b"}),
    ('for f in "a b" $X; do cat "$f"; done', {"a b"}),
    ('for f in a b $X; do cat "x$f-$f"; done', {"xa-a", "xa-b", "xb-a", "xb-b"}),
    ("for i in 1 2; do cat f$i; done", set()),
    ("for i in $(seq 3); do cat f$i; done", set()),
    ("if x; then f=a; else f=b; fi; cat $f", {"a", "b"}),
    ("f=a; x && f=b; cat $f", {"a", "b"}),
    ("f=(a b); cat ${f[i]}", {"a", "b"}),
    ("f=a; cat ${f[i]}", {"a"}),
    ("f=(a b); cat ${f[@]}", set()),
    ("cat ~bob/x", {"/home/bob/x"}),
    ("cat ~root/x", {"/root/x"}),
    ("cat $x", set()),
    ("cat a", set()),
    ('cat "$x"', set()),
    ("for f in a b; do IFS=:; cat $f; done", {"b"}),
]


@pytest.mark.parametrize(("line", "expected"), CHOSEN)
def test_a_word_may_be_what_the_line_chooses(line, expected):
    assert hints(line) == expected


FED = [
    ("read f <<< a; cat $f", {"a"}),
    ("read f <<< 'a b'; cat $f", {"a", "b"}),
    ("read <<< a; cat $REPLY", {"a"}),
    ("IFS=: read a b <<< x:y; cat $b", {"x:y", "x", "y"}),
    ("IFS=$s read a b <<< x:y; cat $b", {MADE}),
    ("echo a | while read f; do cat $f; done", {"a"}),
    ("while read f; do cat $f; done <<< a", {"a"}),
    ("while read f; do cat $f; done < <(echo a)", {"a"}),
    ("while read f; do cat $f; done < x", {FOREIGN}),
    ("mapfile -t f <<< a; cat ${f[0]}", {"a"}),
    ("mapfile <<< a; cat $MAPFILE", {"a"}),
    ("printf -v f %s a; cat $f", {"a"}),
    ("printf -vf %s a; cat $f", {"a"}),
    ("printf -v f; cat $f", {MADE}),
]


@pytest.mark.parametrize(("line", "expected"), FED)
def test_a_variable_may_be_what_the_line_feeds_it(line, expected):
    assert hints(line) == expected


PRINTED = [
    ("cat $(echo a)", {"a"}),
    ("cat $(echo a b)", {"a", "b"}),
    ("cat $(echo a | sort | head -1)", {"a", "1"}),
    ("cat $(echo a | head -c1)", {MADE, "a", "c1"}),
    ("cat $(echo a | tr a b)", {MADE, "a", "b"}),
    ("cat $(echo $x | tr a b)", {MADE, "a", "b"}),
    ("cat $(rev <<< a)", {MADE, "a"}),
    ("cat $(cat <<< a)", {"a"}),
    ("cat $(echo 'a\\b')", {MADE, "ab"}),
    ("cat $(printf a)", {"a"}),
    ("cat $(printf '%s' a b)", {"ab", "%s", "a", "b"}),
    ("cat $(printf '%s-%s\\n' a b c)", {"a-b", "c-", "a", "b", "c"}),
    ("cat $(printf '%03d' 7)", {"7", "%03d"}),
    ("cat $(printf '%x' 7)", {MADE, "%x", "7"}),
    ("cat $(printf '\\056a')", {MADE, "056a"}),
    ("cat $(printf %s 'a\\b')", {MADE, "%s", "ab"}),
    ("cat $(printf)", {MADE}),
    ("cat $(basename a/b.c .c)", {"b", "a/b.c", ".c"}),
    ("cat $(basename a/b)", {"b", "a/b"}),
    ("cat $(basename $x)", set()),
    ("cat $(expr a)", {MADE, "a"}),
    ("cat $(awk 'BEGIN{print \"a\"}')", {MADE, "BEGIN", "print", "a"}),
    ("cat $(find . -name '.e*')", {".", "name", ".e*"}),
    ("cat $(grep -l a .)", set()),
    ("cat $(ls | grep '^a$')", {"a", ".a"}),
    ("cat $(ls -la)", {"la", ".*"}),
    ("cat $(ls --all)", {"all", ".*"}),
    ("cat $(ls -l)", {"l"}),
    ("cat $(wc -l < x)", set()),
    ("cat $(echo a | { cat; cat; })", {"a"}),
    ("cat $(: > x)", set()),
    ("cat $(> x)", set()),
    ("x=$(echo $(echo a)); cat $x", {"a"}),
]


@pytest.mark.parametrize(("line", "expected"), PRINTED)
def test_a_word_may_be_what_commands_of_the_line_print(line, expected):
    found = hints(line)
    assert expected <= found, found
    assert (MADE in found) == (MADE in expected)


def test_what_grows_in_a_loop_is_made_up():
    assert hints("for c in a b; do s=$s$c; done; cat $s") >= {MADE}


def test_what_may_be_too_much_is_made_up():
    many = tuple(f"a{number}" for number in range(MOST))
    assert merged(many) == many
    assert merged(many, ("b",)) == (MADE,)
    assert combined([("a", "b")] * 6) != (MADE,)
    assert combined([("a", "b")] * 7) == (MADE,)


def test_a_pipe_that_is_too_long_to_follow_makes_names_up():
    assert MADE not in hints("cat $(ls" + " | cat" * 9 + ")")
    assert hints("cat $(ls" + " | cat" * 20 + ")") == {MADE}


def test_a_folder_that_is_made_up_is_unreadable():
    assert read("cd $(rev <<< a)").unreadable
    assert not read("cd $(git rev-parse --show-toplevel)").unreadable


DERIVED = [
    ("${x:-a}", {"a"}),
    ("${x-a}", {"a"}),
    ("${x:?a}", {"a"}),
    ("${x:+a}", {"a"}),
    ("${a:-b}", {"a.b.c", "b"}),
    ("${a#*.}", {"b.c"}),
    ("${a##*.}", {"c"}),
    ("${a%.*}", {"a.b"}),
    ("${a%%.*}", {"a"}),
    ("${a#x}", {"a.b.c"}),
    ("${a/b/x}", {"a.x.c"}),
    ("${a//./-}", {"a-b-c", "a-b.c"}),
    ("${a//b}", {"a..c"}),
    ("${a/}", {"a.b.c"}),
    ("${a/*/x}", {"x", f"{U}x{U}", MADE}),
    ("${x/*/y}", {"y", f"{U}y{U}", U}),
    ("${a:2}", {"b.c"}),
    ("${a:0:1}", {"a"}),
    ("${a: -1}", {"c"}),
    ("${a: -9}", {"a.b.c"}),
    ("${a^}", {"A.b.c"}),
    ("${a^^}", {"A.B.C"}),
    ("${a,,}", {"a.b.c"}),
    ("${a^^a}", {MADE}),
    ("${a:i}", {MADE}),
    ("${x#a}", set()),
    ("${x:1}", {MADE}),
]


@pytest.mark.parametrize(("text", "expected"), DERIVED)
def test_an_expansion_may_be_what_is_made_of_constants(text, expected):
    assert hints(f"a=a.b.c; cat {text}") == expected


def test_what_is_too_long_or_made_up_is_not_followed():
    assert derive("#", ("a" * 300,), ("a",)) == (MADE,)
    assert derive("#", ("a",), ("*" * 100,)) == (MADE,)
    assert derive("#", (MADE,), ("a",)) == (MADE,)


BOUND = [
    ("for P in a; do :; done", {"P"}),
    ("select P in a; do :; done", {"P"}),
    ("((P=1))", {"P"}),
    ("echo $((P++ + --Q))", {"P", "Q"}),
    ("for ((P=0; P<1; P++)); do :; done", {"P"}),
    ("coproc P { ls; }", {"P"}),
    ("coproc ls", {"COPROC"}),
    ("ls {P}>x", {"P"}),
    ("{ ls; } {P}<x", {"P"}),
    ("read P Q", {"P", "Q"}),
    ("read -a P", {"P"}),
    ("mapfile P", {"P"}),
    ("printf -v P a", {"P"}),
    ("printf -vP a", {"P"}),
    ("getopts a P", {"P"}),
    ("wait -p P", {"P"}),
    ("let P=1", {"P"}),
    ("declare P=1 Q", {"P", "Q"}),
    ("readonly P", {"P"}),
    ("f() { local P=1; }", {"P"}),
    ("command read P", {"P"}),
    ("n=P; read $n", {"P"}),
    ("declare -p P", set()),
    ("export P=1 Q", set()),
    ("P=1", set()),
    ("unset P", set()),
]


@pytest.mark.parametrize(("line", "names"), BOUND)
def test_variables_that_are_set_otherwise_than_by_assignment_are_told(line, names):
    assert set(read(line).bound) == names


EVALUATED = [
    "RANDOM={}",
    "OPTIND={}",
    "SRANDOM+={}",
    "export HISTCMD={}",
    "declare RANDOM={}",
    "read RANDOM <<< {}",
    "mapfile RANDOM <<< {}",
    "for SECONDS in {}; do :; done",
    "printf -v OPTIND %s {}",
    "declare -i n; read n <<< {}",
    "declare -i n; for n in {}; do :; done",
    "declare -i n={}",
]


@pytest.mark.parametrize("line", EVALUATED)
def test_an_integer_that_is_set_to_more_than_a_number_is_unreadable(line):
    assert read(line.format("'a[$(touch x)]'")).unreadable


@pytest.mark.parametrize("line", ["OPTIND=1", "SECONDS=0", "declare -i n=5", "for n in 1 2; do :; done"])
def test_an_integer_that_is_set_to_a_number_is_readable(line):
    assert read(line).unreadable is None


LOOKALIKES = [
    "c\u0430t x",
    "\u0441at x",
    "ls \u2014la",
    "ls \uff06 x",
    "cat \u2215etc",
    "cat .\u0435nv",
    "echo \u201cx\u201d",
    "\U0001d5bf x",
    "l\u039f x",
]


@pytest.mark.parametrize("line", LOOKALIKES)
def test_letters_that_are_not_what_they_look_like_are_unreadable(line):
    assert "looks like another" in (read(line).unreadable or "")


@pytest.mark.parametrize(
    "line", ["cat Отчёт.md", "echo é日本 — ok", "ls 'c\u0430t'", "echo it\u2019s", "cat 数据\uff081\uff09.csv"]
)
def test_letters_of_a_language_are_readable(line):
    assert read(line).unreadable is None


def test_the_last_word_of_a_command_before_may_be_meant():
    assert read('ls .env && cat "$_"').commands[-1].words[-1].hints == (".env",)
    assert read('ls a; x=1; cat "$_"').commands[-1].words[-1].hints == ("a",)


@pytest.mark.parametrize(
    ("redirection", "feeds"),
    [("", (0,)), ("exec > list; ", (0,)), ("exec < list; ", (0, 2)), ("exec 0<> list; ", (0, 2))],
)
def test_a_shell_that_was_given_another_input_reads_nothing_of_the_pipe_for_sure(redirection, feeds):
    line = f'git ls-files | {{ {redirection}read -r f; cat "$f"; }}'
    assert read(line).commands[-1].words[-1].feeds == feeds


def test_the_dots_of_a_pattern_name_no_folder() -> None:
    hints = read(r"cat $(git ls-files | grep -E '\.(ts|tsx)$')").commands[-1].words[-1].hints
    assert {".", ".."}.isdisjoint(hints)
    assert {"ts", ".ts", ".tsx"} <= set(hints)


@pytest.mark.parametrize("pattern", [".", r"'\.'", "'.*'", "-E '^.+$'"])
def test_a_pattern_of_dots_leaves_hidden_files_in(pattern: str) -> None:
    assert ".*" in read(f"cat $(ls -a | grep {pattern})").commands[-1].words[-1].hints


ENDINGS = [
    ("fd -e pem", {r"\.pem$"}),
    ("fd -epem", {r"\.pem$"}),
    ("fd -Hepem x", {r"\.pem$", "x"}),
    ("fd --extension=pem", {r"\.pem$"}),
    ("fd -t f -d 3 x", {"x"}),
    ("fd -tf x", {"x"}),
]


@pytest.mark.parametrize(("line", "expected"), ENDINGS)
def test_what_fd_is_told_of_how_names_end_is_no_part_of_a_name(line, expected):
    hints = read(f"cat $({line})").commands[-1].words[-1].hints
    assert {hint.removeprefix(FITS) for hint in hints if hint.startswith(FITS)} == expected


RUN = [
    ("", ""),
    ("-n1", ""),
    ("-I {} cat {}", "cat"),
    ("-t -n 5 echo", "echo"),
    ("-0 /usr/bin/wc -l", "wc"),
    ("-I", ""),
]


@pytest.mark.parametrize(("words", "program"), RUN)
def test_what_xargs_runs_is_the_first_word_that_is_no_option(words, program):
    assert run_by_xargs(words.split()) == program


QUOTED = [
    *("cat $(tar xOf a.tar)", "cat $(unzip -p a.zip)", "cat $(sort list)", "ls | cat $(sed -n 1p list)"),
    *("cat $(head -n 1 list)", "cat $(jq -r .x x.json)", "ls | cat $(cat list)"),
]
LISTED = [
    *("cat $(tar tf a.tar)", "cat $(ls | head -n 1)", "cat $(grep -l x a)", "cat $(ls | grep -e x)"),
    *("cat $(ls | cut -d . -f 1)", "cat $(ls | sort -k 2)"),
]


@pytest.mark.parametrize("line", QUOTED)
def test_a_name_that_stands_in_a_file_is_somebody_elses_whoever_prints_it(line):
    assert FOREIGN in hints(line)


@pytest.mark.parametrize("line", LISTED)
def test_a_name_that_is_listed_is_not(line):
    assert FOREIGN not in hints(line)
