"""Dressing a line up never weakens its verdict, and plain clothes keep an allow."""

from __future__ import annotations

import re
import shlex
import zlib
from functools import cache
from typing import TYPE_CHECKING

import pytest

from assent.analysis.evaluate.script import parse
from assent.catalog import is_builtin, lookup
from corpus import VERDICTS, Row, decide, escape, rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

AROUND = {
    "subshell": "( %s\n)",
    "group": "{ %s\n}",
    "after true": "true && { %s\n}",
    "after nothing": ": ; %s",
    "after a variable": "unrelated=1; %s",
    "after a look": "ls; %s",
    "after a line": "ls\n%s",
    "after a here-document": "cat <<END\ntext\nEND\n%s",
    "after a quoted here-document": "cat <<'END'\ntext\nEND\n%s",
    "before a look": "%s\nls",
    "before a comment": "%s\n# done",
    "in the background": "{ %s\n} &",
    "negated": "! { %s\n}",
    "timed": "time { %s\n}",
    "if": "if true; then %s\nfi",
    "condition": "if { %s\n}; then :; fi",
    "for": "for unrelated in 1; do %s\ndone",
    "while": "while { %s\n}; do break; done",
    "case": "case x in x) %s\n;; esac",
    "into a pipe": "{ %s\n} | cat",
    "out of a pipe": "cat /dev/null | { %s\n}",
    "substitution": "echo $(%s\n)",
    "quoted substitution": 'echo "$(%s\n)"',
    "assigned substitution": "unrelated=$(%s\n)",
    "default": "echo ${unrelated:-$(%s\n)}",
    "process substitution": "cat <(%s\n)",
    "here-document": "cat <<END\n$(%s\n)\nEND",
    "function": 'unrelated() { %s\n}; unrelated "$@"',
    "silenced": "{ %s\n} > /dev/null 2>&1",
}
"""A whole line inside something else; it ends in a newline, so that comments and here-documents end with it."""

QUOTED = {
    "bash": "bash -c %s",
    "sh": "sh -c %s",
    "eval": "eval %s",
    "bash behind env": "env bash -c %s",
    "bash behind timeout": "timeout 5 bash -c %s",
    "trap": "trap %s EXIT",
    "find": "find . -exec bash -c %s \\;",
    "xargs": "echo x | xargs bash -c %s",
    "env -S": "env -S %s",
}
"""A whole line as one word. `env -S` splits it at spaces, and so is given simple commands only."""

BEFORE = {
    "env": "env %s",
    "env --": "env -- %s",
    "env with a variable": "env unrelated=1 %s",
    "command": "command %s",
    "timeout": "timeout 5 %s",
    "nice": "nice %s",
    "nohup": "nohup %s",
    "several": "nice timeout 5 env nohup %s",
    "variable": "unrelated=1 %s",
    "not": "! %s",
    "time": "time %s",
    "time -p": "time -p %s",
    "exec": "exec %s",
    "stdbuf": "stdbuf -oL %s",
    "redirection": "2>&1 %s",
    "coproc": "coproc %s",
    "and": "true && %s",
    "pipe": "%s | cat",
    "fed": "cat /dev/null | %s",
    "background": "%s &",
    "comment": "%s # nothing",
    "semicolon": "%s ; ls",
    "spaces": "  %s  ",
    "braces": "{ %s; }",
    "brackets": "(%s)",
}
"""One simple command, run by another or with something before or behind it."""


def is_known(name: str) -> bool:
    return not is_builtin(name) and lookup(name) is not None


SPELLINGS = {
    "single quotes": lambda words: " ".join(f"'{w}'" for w in words),
    "double quotes": lambda words: " ".join(f'"{w}"' for w in words),
    "escapes": lambda words: " ".join(f"$'{w}'" for w in words),
    "numbers": lambda words: " ".join("$'" + "".join(f"\\x{ord(c):02x}" for c in w) + "'" for w in words),
    "backslashes": lambda words: " ".join("".join("\\" + c for c in w) for w in words),
    "a backslash": lambda words: " ".join(w[:1] + "\\" + w[1:] if len(w) > 1 else w for w in words),
    "empty quotes": lambda words: " ".join(w[:1] + "''" + w[1:] for w in words),
    "half quoted": lambda words: " ".join(f'{w[:2]}"{w[2:]}"' for w in words),
    "spaces": "   ".join,
    "tabs": "\t".join,
    "continued": " \\\n".join,
    "variables": lambda words: "v=" + words[0] + "; $v " + " ".join(words[1:]),
    "array": lambda words: "v=(" + " ".join(words) + '); "${v[@]}"',
    "arguments": lambda words: "set -- " + " ".join(words) + '; "$@"',
    "braces": lambda words: "{" + ",".join(words) + "}" if len(words) > 1 else words[0],
    "path": lambda words: " ".join([f"/usr/bin/{words[0]}" if is_known(words[0]) else words[0], *words[1:]]),
}
"""The words of a plain command, written in other ways."""
PLAIN = re.compile(r"[\w ./:@%+-]+")
SHARE = 3
"""One row in so many is worn in each of the clothes; 1 takes some minutes."""
KEPT = 0.99
"""The share of allowed lines that stay allowed in clothes that change nothing."""
PLAIN_CLOTHES = (
    *("subshell", "group", "after true", "after nothing", "after a look", "after a here-document", "before a comment"),
    *("if", "case", "in the background", "negated", "timed", "silenced", "into a pipe", "condition"),
)
PLAIN_WRAPPERS = (
    "env",
    "env --",
    "command",
    "timeout",
    "nice",
    "nohup",
    "several",
    "time",
    "not",
    "exec",
    "and",
    "comment",
)
PLAIN_LAYERS = ("bash", "eval", "bash behind env", "bash behind timeout")


@cache
def is_simple(line: str) -> bool:
    """Tell whether a line is one simple command of a program: nothing before, behind or inside it."""
    script = parse(line)
    if script.unreadable or len(script.commands) != 1 or "\n" in line or "#" in line:
        return False
    command = script.commands[0]
    return (
        bool(command.words and not command.assignments and not command.through) and line[:1] not in "<>!({0123456789 "
    )


def is_readable(line: str) -> bool:
    return parse(line).unreadable is None


def is_whole(line: str) -> bool:
    """Tell whether no line that follows can be what is missing."""
    return not line.rstrip().endswith(("\\", "|", "&&"))


def has_command(line: str) -> bool:
    return bool(parse(line).commands)


def is_program(line: str) -> bool:
    return is_simple(line) and not is_builtin(parse(line).commands[0].words[0].text) and not line.startswith("time ")


def is_plain(line: str) -> bool:
    return is_simple(line) and bool(PLAIN.fullmatch(line)) and "~" not in line and "=" not in line.split(maxsplit=1)[0]


@cache
def verdict(line: str, rules: tuple[tuple[str, str], ...] = ()) -> str:
    return decide(line, rules).decision


def weakened(changed: Iterable[tuple[Row, str]]) -> list[str]:
    """Return what became weaker, of pairs of a row and its changed line."""
    found = []
    for row, line in changed:
        was, now = verdict(row.line, row.rules), decide(line, row.rules).decision
        if VERDICTS.index(now) < VERDICTS.index(was):
            found.append(f"{row.file}:{row.number} {was} -> {now}: {escape(line)}")
    return found


def dealt(name: str) -> Iterator[Row]:
    """Give each of the clothes its share of the rows, another one for each, always the same."""
    return (row for row in rows() if zlib.crc32(f"{name} {row.line}".encode("utf-8", "replace")) % SHARE == 0)


def guarded(name: str, fits: Callable[[str], bool] = bool) -> list[Row]:
    """Return rows that are not allowed, and so could become weaker."""
    return [row for row in dealt(name) if row.verdict != "allow" and fits(row.line)]


def report(found: Sequence[object]) -> str:
    return f"{len(found)} lines\n" + "\n".join(map(str, found))


def put(frame: str, line: str) -> str:
    return line.join(frame.split("%s"))


def kept(name: str, frame: str, fits: Callable[[str], bool], spell: Callable[[str], str] = str) -> None:
    """Hold that nearly all of the allowed lines stay allowed."""
    used = [row for row in dealt(name) if row.verdict == "allow" and fits(row.line)]
    lost = [row for row in used if decide(put(frame, spell(row.line)), row.rules).decision != "allow"]
    assert len(lost) <= len(used) * (1 - KEPT), report(lost)


@pytest.mark.parametrize("name", AROUND)
def test_nothing_around_a_line_weakens_its_verdict(name):
    frame = AROUND[name]
    fits = is_readable if "(%s" in frame else is_whole  # brackets could be just what is missing
    found = weakened((row, put(frame, row.line)) for row in guarded(name, fits))
    assert not found, report(found)


@pytest.mark.parametrize("name", QUOTED)
def test_no_line_is_weaker_as_a_word_that_is_run(name):
    fits = is_plain if name == "env -S" else bool
    found = weakened((row, put(QUOTED[name], shlex.quote(row.line))) for row in guarded(name, fits))
    assert not found, report(found)


@pytest.mark.parametrize(("outer", "inner"), [("eval", "eval"), ("bash", "eval"), ("bash", "bash"), ("eval", "sh")])
def test_no_line_is_weaker_two_words_deep(outer, inner):
    twice = (
        (row, put(QUOTED[outer], shlex.quote(put(QUOTED[inner], shlex.quote(row.line)))))
        for row in guarded(outer + inner, is_simple)
    )
    found = weakened(twice)
    assert not found, report(found)


@pytest.mark.parametrize("name", BEFORE)
def test_no_program_is_weaker_behind_another(name):
    found = weakened((row, put(BEFORE[name], row.line)) for row in guarded(name, is_program))
    assert not found, report(found)


@pytest.mark.parametrize("name", SPELLINGS)
def test_no_spelling_weakens_a_verdict(name):
    found = weakened((row, SPELLINGS[name](row.line.split())) for row in guarded(name, is_plain))
    assert not found, report(found)


@pytest.mark.parametrize("name", PLAIN_CLOTHES)
def test_what_changes_nothing_around_a_line_keeps_an_allow(name):
    kept(name, AROUND[name], has_command)


@pytest.mark.parametrize("name", PLAIN_WRAPPERS)
def test_what_changes_nothing_before_a_program_keeps_an_allow(name):
    kept(name, BEFORE[name], is_program)


@pytest.mark.parametrize("name", PLAIN_LAYERS)
def test_what_changes_nothing_about_a_word_keeps_an_allow(name):
    kept(name, QUOTED[name], has_command, shlex.quote)
