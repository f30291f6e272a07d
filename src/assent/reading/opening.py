"""Commands that run other commands: what is inside them, as words or as a line to be parsed in turn."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from assent.catalog import Role
from assent.model import UNKNOWN
from assent.reading.find import Expression
from assent.reading.options import Match
from assent.shell.tree import Command, Script, Word

DEEPEST = 10
"""Layers of commands inside commands that are read; what is deeper is unreadable."""
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_SOURCES = (":::", "::::", ":::+", "::::+")
_ANYTHING = Word(UNKNOWN, splits=True)


class Inner(msgspec.Struct, frozen=True):
    """One command or line found inside a command."""

    layer: str
    command: Command | None = None
    line: Word = Word("")
    """What is parsed, where there is no command yet."""
    elsewhere: bool = False
    """It runs on another machine or in another root: paths are not ours."""


def openings(match: Match, roles: Sequence[tuple[Role, Word]], command: Command) -> Iterator[Inner]:
    """Yield everything a command runs, by its entry."""
    for role, word in roles:
        if role in ("line", "helper"):
            yield Inner(_layer(match), line=word)
    rest = match.operands[match.entry.skip :]
    if match.entry.runs and rest:
        yield from _rest(match, rest, command)


def _layer(match: Match) -> str:
    return f"{match.name} -c" if "-c" in match.present else match.name


def _rest(match: Match, rest: tuple[Word, ...], command: Command) -> Iterator[Inner]:
    match match.entry.runs:
        case "line" | "remote":
            yield Inner(match.name, line=join(rest), elsewhere=match.entry.runs == "remote")
        case "xargs":
            yield Inner(match.name, command=inner_command(command, _fed(match, rest)))
        case "parallel":
            yield Inner(match.name, line=_template(rest))
        case _:
            yield from _words(match, rest, command)


def _words(match: Match, rest: tuple[Word, ...], command: Command) -> Iterator[Inner]:
    start = 0
    while match.entry.assignments and start < len(rest) and _ASSIGNMENT.match(rest[start].text):
        start += 1
    assignments = tuple(_assignment(w) for w in rest[:start])
    if rest[start:]:
        inner = inner_command(command, rest[start:], assignments)
        yield Inner(match.name, command=inner, elsewhere=match.entry.runs == "elsewhere")


def _assignment(word: Word) -> tuple[str, Word]:
    name, _, value = word.text.partition("=")
    return name, Word(value, word.variables, word.feeds, word.splits)


def inner_command(outer: Command, words: tuple[Word, ...], assignments: tuple[tuple[str, Word], ...] = ()) -> Command:
    """Return a command that takes over the outer one's standard input and folder."""
    fed = tuple(r for r in outer.redirects if r.direction == "here")
    return Command(words, assignments, fed, outer.cwd, outer.piped_from, outer.fed_by)


def join(words: Sequence[Word]) -> Word:
    """Join words into one line, as `eval` and `ssh` do."""
    return Word(
        " ".join(w.text for w in words),
        tuple(v for w in words for v in w.variables),
        tuple(f for w in words for f in w.feeds),
        splits=any(w.splits and UNKNOWN in w.text for w in words),
    )


def _fed(match: Match, rest: tuple[Word, ...]) -> tuple[Word, ...]:
    """Put what xargs reads into the words: in place of its mark, or at the end."""
    marks = [w.text for n, _, w in match.values if n in ("-I", "-J", "--replace", "-i")]
    if not marks and match.present.isdisjoint(("-i", "--replace")):
        return (*rest, _ANYTHING)
    mark = marks[0] if marks else "{}"
    return tuple(
        Word(w.text.replace(mark, UNKNOWN), w.variables, w.feeds, w.splits) if mark and mark in w.text else w
        for w in rest
    )


def _template(rest: tuple[Word, ...]) -> Word:
    """Return the line that parallel runs: its marks, and its end, are only known at run time."""
    words: list[Word] = []
    for word in rest:
        if word.text in _SOURCES:
            break
        words.append(Word(re.sub(r"\{[^{}]*\}", UNKNOWN, word.text), word.variables, word.feeds, word.splits))
    return join([*words, _ANYTHING])


def find_openings(expression: Expression, command: Command) -> Iterator[Inner]:
    """Yield what find runs for each file."""
    for words in expression.commands:
        if words:
            yield Inner("find -exec", command=inner_command(command, words))


def fed_text(command: Command, script: Script) -> Word | None:
    """Return what a command reads from standard input: a here-document, or the constant output of `echo`."""
    here = [r.target for r in command.redirects if r.direction == "here"]
    if here:
        return here[-1]
    if command.piped_from is None or command.piped_from >= len(script.commands):
        return None
    return _constant_output(script.commands[command.piped_from])


def _constant_output(command: Command) -> Word | None:
    name = command.words[0].text if command.words else ""
    words = command.words[1:]
    if name == "cat" and not words:
        return fed_text(msgspec.structs.replace(command, piped_from=None), Script())
    if name not in ("echo", "printf") or any("\\" in w.text or "%" in w.text for w in words):
        return None
    return join([w for w in words if name == "printf" or w.text not in ("-n", "-e", "-E")])
