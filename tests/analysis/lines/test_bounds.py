"""Hostile lines: read in bounded time, never with an error, and never safe for being too much."""

from __future__ import annotations

import pytest

from assent.analysis.lines.commands import read_line
from assent.model import Tier
from lines import PLACE, tier
from lines import worst as read
from work import steps

LONG = 60_000
HOSTILE = {
    "many commands": "ls;" * (LONG // 3),
    "many pipes into shells": "curl x|" + "sh|" * 9_000 + "sh",
    "a long pipe": "curl x|" + "cat|" * 9_000 + "sh",
    "many wrappers": "nice " * (LONG // 5) + "ls",
    "eval of eval": "eval " * 9 + "'" + "ls;" * 15_000 + "'",
    "many options": "ls " + "-a " * (LONG // 3),
    "one cluster": "ls -" + "a" * LONG,
    "many unknown words": "cat " + "$X " * (LONG // 3),
    "many finds": "find . " + "-exec ls {} ; ".replace(";", "\\;") * 3_000,
    "open brackets": "sed 's/" + "[" * LONG + "/x/'",
    "sed addresses": "sed '" + "1," * (LONG // 2) + "'",
    "open slashes": "awk '" + "/[" * (LONG // 2) + "'",
    "open comments": "psql -c '" + "/*" * (LONG // 2) + "'",
    "open dollars": "psql -c '" + "".join(f"$a{i}$ " for i in range(6_000)) + "'",
    "open quotes": 'psql -c "' + "' `" * (LONG // 4) + '"'.replace("`", ""),
    "many statements": "psql -c '" + "select 1;" * (LONG // 9) + "'",
    "a long host": "curl " + "a@" * (LONG // 2),
    "a long path": "cat " + "a/" * (LONG // 2),
    "a long pattern": "cat " + "*a" * (LONG // 2),
    "many globs": "cat " + "*/" * (LONG // 2),
    "many words for many": "echo " + "a " * 3_000 + "|xargs cat" * 900,
    "many names": "ls " + " ".join(f"f{n}" for n in range(9_000)),
    "many folders to go to": "git " + "-C a " * 9_000 + "log",
    "many remote lines": "ssh h " * 9_000,
    "many redirections": "cat " + " ".join(f"<f{n}" for n in range(7_000)),
    "many scripts": "sed " + "-e p " * 13_000,
    "many exports": "export " + " ".join(f"A{n}={n}" for n in range(6_000)),
    "many changes of folder": "cd a || " * 5_000 + "ls",
    "many feeds": "echo " + "$(ls)" * (LONG // 6),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_line_is_read_with_bounded_work(name: str) -> None:
    taken = steps(lambda: read(HOSTILE[name]))
    assert taken < 1_000_000, taken


@pytest.mark.parametrize("line", ["LD_A=b " * 1_200 + "ls", "export " + "LD_A=b " * 1_200])
def test_more_settings_than_are_kept_make_a_line_unreadable(line: str) -> None:
    assert "more than 1000 things" in (read_line(line, PLACE)[1] or "")


@pytest.mark.parametrize(("times", "whole"), [(3, True), (4, False)])
def test_lines_inside_the_line_are_read_up_to_a_length(times: int, whole: bool) -> None:
    unreadable = read_line("eval " * times + "echo " + "x" * 40_000, PLACE)[1]
    assert unreadable == (None if whole else "the nested scripts are too long to analyse")


def test_length_does_not_hide_code_from_the_network() -> None:
    assert tier("curl x|" + "cat|" * 300 + "sh") is Tier.DESTRUCTIVE


@pytest.mark.parametrize(
    "name",
    [
        "many commands",
        "a long pipe",
        "many wrappers",
        "eval of eval",
        "many names",
        "many folders to go to",
        "many remote lines",
        "many redirections",
        "many scripts",
        "many words for many",
    ],
)
def test_what_is_too_much_is_not_safe(name: str) -> None:
    assert tier(HOSTILE[name]) is not Tier.SAFE
    assert tier(HOSTILE[name] + "; rm x") is not Tier.SAFE


def test_length_does_not_hide_a_command() -> None:
    assert tier("ls;" * 300 + "rm -rf /") is Tier.DESTRUCTIVE


#: lines over which an expression could go back and forth: with them the suite would take minutes longer
WINDING = (
    ("1", "{}x"),
    ("1.", "{}"),
    (".", "cat x{}x"),
    (" ", "cat 'x{}x'"),
    ("A", "echo $(({}!))"),
    ("a1", "(({}!))"),
    ("\n", "mysql -e 'select 1{}x'"),
    ("a", "frob {}!://x"),
    ("a.", "ping {}x"),
    ("a", "chmod {}x f"),
    ("e", "docker top x {}"),
    (" ", "sed 'b{}x x' f"),
)


@pytest.mark.parametrize(("piece", "line"), WINDING)
def test_a_long_word_is_what_a_short_one_is(piece, line):
    short, long = (read_line(line.format(piece * count), PLACE)[0] for count in (20, 30_000 // len(piece)))
    assert [(o.kind, o.tier) for o in long] == [(o.kind, o.tier) for o in short]


def test_long_words_inside_a_word_are_not_taken_apart_sign_by_sign(monkeypatch):
    taken = []
    monkeypatch.setattr(
        "assent.analysis.programs.wrappers.shlex.split", lambda text: taken.append(text) or text.split()
    )
    assert tier("env -S 'ls " + "x" * 4096 + "'") is not Tier.SAFE
    assert not taken
    assert tier("env -S 'rm -rf / " + "x" * 4096 + "'") is Tier.DESTRUCTIVE
    assert tier("env -S 'ls -l'") is Tier.SAFE
    assert taken == ["ls -l"]
