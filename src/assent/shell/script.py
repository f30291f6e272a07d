"""The way in: one line of shell, read without running any of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import assent.regex as re
from assent.shell.effects import EFFECTS
from assent.shell.guard import cleaned, refuse, too_long
from assent.shell.notes import Notes
from assent.shell.parser import RESERVED, Parser
from assent.shell.scope import Scope
from assent.shell.tree import Command, Script, Word
from assent.shell.walk import EnoughError, Walker

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORDS = re.compile(r"((?:[ \t]*+[\w./:@%+,=^-]++)++)[ \t]*+(?:(?<=[ \t])#[ -~]*+)?", re.ASCII)
_SPECIAL = RESERVED | EFFECTS.keys()
_NOTHING: Mapping[str, str] = {}


def parse(
    line: str,
    *,
    cwd: str | None = None,
    elsewhere: tuple[str, ...] = (),
    home: str | None = None,
    variables: Mapping[str, str] = _NOTHING,
) -> Script:
    """List every command of a line, with its words as far as they are constant.

    Never raises. What is not surely understood sets `unreadable`; the commands that were found are listed all the
    same, so that finding something can only make an answer stricter, and only a readable script proves anything.
    `elsewhere` are folders in which it may run instead of `cwd`.
    """
    if reason := too_long(line):
        return Script(unreadable=reason)
    if words := _plain_words(line):
        return Script((Command(tuple(map(Word, words)), cwd=cwd, elsewhere=elsewhere, constant=True),))
    notes = Notes()
    if reason := refuse(line):
        notes.blame(reason)
        line = cleaned(line)
    outside = variables if home is None or "HOME" in variables else {**variables, "HOME": home}
    scope = Scope(cwd, outside)
    scope.elsewhere = elsewhere
    walker = Walker(scope, notes, len(line))
    try:
        walker.sequence(Parser(line, notes).whole())
    except EnoughError:
        pass  # said in the notes
    except RecursionError:
        notes.blame("the line is nested too deeply")
    return Script(tuple(walker.commands), notes.fault, tuple(walker.functions), tuple(walker.bound))


def _plain_words(line: str) -> list[str]:
    """Give the words of a line that is a single command of plain words, as most are; otherwise nothing.

    A comment may follow them.
    """
    plain = _WORDS.fullmatch(line)
    words = plain[1].split() if plain else []
    return [] if not words or "=" in words[0] or words[0] in _SPECIAL else words
