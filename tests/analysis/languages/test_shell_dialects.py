"""Lines for other shells than bash: what only bash reads that way makes them unreadable, and nothing else does."""

from __future__ import annotations

import pytest

from assent.analysis.languages.shell_dialects import bash_alone, is_plain
from assent.analysis.lines.commands import read_line
from assent.model import Tier
from lines import PLACE, operations, tier

#: what bash reads in its own way, and the name it goes by
BASH_ALONE = [
    ("[[ a || ls ]]", "[["),
    ("[[ x > y ]]", "[["),
    ("ls; [[ a ]]", "[["),
    ('echo "$(ls)" [[ a || ls ]] "x"', "[["),
    ("ls # '\n[[ a || ls ]] # '", "[["),
    ("cat <<E\nit's\nE\n[[ a || ls ]]\n: '", "[["),
    ("echo `ls '` [[ a ]] `'`", "[["),
    ("((ls))", "(("),
    ("ls $'\\'\nls\n#'", "$'…'"),
    ('echo $"x"', "$'…'"),
    ("ls &> x", "&>"),
    ("ls >& x", "&>"),
    ("cat <(ls)", "<(…)"),
    ("ls | tee >(cat)", "<(…)"),
    ("ls |& cat", "|&"),
    ("echo {a,b}", "{a,b}"),
    ("echo {1..3}", "{a,b}"),
    ("echo {a,' b'}", "{a,b}"),
    ("function f { ls; }", "function"),
    ("if true; then function f { ls; }; fi", "function"),
    ("cat <<< x", "<<<"),
    ("case x in x) ls;& y) pwd;; esac", ";&"),
    ("case x in x) ls;;& y) pwd;; esac", ";&"),
    ("a=(ls)", "name=(…)"),
    ("a[0]=ls", "name=(…)"),
    ("a+=b ls", "name=(…)"),
    ("x='C PATH=.'; export LANG=$x", "export"),
    ("uniq a {x}> /dev/null", "{name}>"),
    ("uniq a {x[0]}<b", "{name}>"),
    ("uniq a 10>/dev/null", "10>"),
    ("ls;11<a uniq b", "10>"),
    ("x=touch; declare x=ls; $x y", "declare"),
    ("x=touch; 'type'set x=ls; $x y", "typeset"),
    ("x=touch; command -p declare x=ls; $x y", "declare"),
    ("x=touch; builtin export x=ls; $x y", "builtin"),
    ("x=1; let x=2; echo $x", "let"),
    ("x=ls; x=touch :; $x y", "name=value :"),
    ("x=ls; x=touch \\set -e; $x y", "name=value set"),
]


@pytest.mark.parametrize(("line", "name"), BASH_ALONE)
def test_what_only_bash_reads_that_way_is_named(line: str, name: str) -> None:
    assert bash_alone(line) == name


@pytest.mark.parametrize(
    "line",
    [
        "ls -l; pwd && cat x | sort > y 2>&1",
        "grep '[[:alpha:]]' x",
        'grep "[[ a" x',
        "ls [[:alpha:]]*",
        "awk '{print $1, $2}' x",
        "echo \\{a,b\\}",
        "echo 'a <(b) &> c'",
        'echo "it is $x and ${y}"',
        "x=$((1 + 2)); echo $x",
        "x=1 true; x=2; : $x; echo let declare",
        "echo ${x}>/dev/null; ls a10>/dev/null; ls 2>&1 10 > /dev/null",
        "f() { ls; }; f",
        "grep function x",
        'export LANG="$x"',
        "ls >&2 2>&-",
        "for x in a b; do echo $x; done",
    ],
)
def test_what_every_shell_reads_alike_is_not(line: str) -> None:
    assert bash_alone(line) is None


@pytest.mark.parametrize(
    "line",
    [
        "sh -c '[[ a || ls ]]'",
        "dash -c '((ls))'",
        "ksh -c 'echo {a,b}'",
        "sh -c \"eval '((ls))'\"",
        "sh -c \"trap '((ls))' EXIT\"",
        "bash -c \"sh -c '((ls))'\"",
        "sh -c \"watch '((ls))'\"",
        "watch '((ls))'",
        "ls | xargs -n1 sh -c '((ls))'",
        "busybox sh -c '((ls))'",
        "sh <<'EOF'\n((ls))\nEOF",
        "echo '((ls))' | sh",
        "git -c alias.z='!((ls))' z",
        "find . -exec sh -c '((ls))' ';'",
    ],
)
def test_a_line_for_another_shell_is_not_read_as_bash(line: str) -> None:
    why = read_line(line, PLACE)[1]
    assert why is not None
    assert why.endswith("means something else in shells other than bash")
    assert tier(line) is not Tier.SAFE


@pytest.mark.parametrize(
    "line",
    [
        "bash -c '[[ a == b ]]'",
        "sh -c \"bash -c '[[ a == b ]]'\"",
        "eval '[[ a == b ]]'",
        "bash -c \"eval 'echo {a,b}'\"",
        "env bash -c 'cat <(ls)'",
        "sh -c 'ls; pwd'",
        "watch 'ls | wc -l'",
    ],
)
def test_what_bash_reads_is_read_as_bash(line: str) -> None:
    assert read_line(line, PLACE)[1] is None
    assert tier(line) is Tier.SAFE


@pytest.mark.parametrize(
    "line",
    [
        "zsh -c ls",
        "zsh -lc 'git status && pwd'",
        "zsh -c 'cat \"a b\" | head -5; ls 2>/dev/null'",
        "zsh -c 'ls x 2>&1'",
    ],
)
def test_what_every_shell_reads_alike_is_read_for_zsh_too(line: str) -> None:
    assert tier(line) is Tier.SAFE


@pytest.mark.parametrize(
    "text",
    [
        "=ls",
        "ls *(e:id:)",
        "ls **/x",
        "echo $X",
        "echo `id`",
        "ls > x",
        "ls < x",
        "ls {a,b}",
        "ls ~x",
        "ls (a|b)",
        "ls; (rm x)",
        "ls\nrm x",
        "ls &",
        "a=1",
        "ls # x",
        "ls 2>/dev/nullx",
        "ls " + "x" * 5000,
    ],
)
def test_what_zsh_may_read_in_a_way_of_its_own_is_not_read(text: str) -> None:
    assert not is_plain(text)
    assert read_line(["zsh", "-c", text], PLACE)[1] is not None


@pytest.mark.parametrize(
    "line", ["fish -c ls", "csh -c ls", "tcsh -c ls", "echo ls | zsh", "zsh -ic ls", "zsh -o x -c ls"]
)
def test_a_shell_that_is_unlike_bash_is_never_safe(line: str) -> None:
    assert tier(line) is Tier.DANGEROUS


def test_what_zsh_would_run_is_still_found() -> None:
    assert any(o.argv == ("rm", "x") for o in operations("zsh -c 'rm x'"))


@pytest.mark.parametrize("line", ["echo x >! y", "echo x >>! y", "echo x >&! y", "echo x >!y", "{ ls; } >!y"])
def test_a_redirection_that_overwrites_in_another_shell_is_unreadable(line: str) -> None:
    assert read_line(line, PLACE)[1] == "a redirection to `!` means something else in other shells"


def test_text_that_is_fed_in_may_start_with_an_exclamation_mark() -> None:
    assert read_line("cat <<< '!x'", PLACE)[1] is None
