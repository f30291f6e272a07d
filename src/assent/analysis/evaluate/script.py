"""The way in: one line of shell, read without running any of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from assent.analysis.bash.charset import cleaned, refuse, too_long
from assent.analysis.bash.diagnostics import Notes
from assent.analysis.bash.parse import Parser
from assent.analysis.evaluate.plain_lines import read_plain
from assent.analysis.evaluate.statements import EnoughError, Walker
from assent.analysis.ir import Around, Script
from assent.analysis.values.hints import MADE
from assent.analysis.values.scope import ShellScope

if TYPE_CHECKING:
    from collections.abc import Mapping

_NOTHING: Mapping[str, str] = {}
_ALONE = Around()


def parse(
    line: str,
    *,
    cwd: str | None = None,
    elsewhere: tuple[str, ...] = (),
    home: str | None = None,
    variables: Mapping[str, str] = _NOTHING,
    around: Around = _ALONE,
) -> Script:
    """List every command of a line, with its words as far as they are constant.

    Never raises. What is not surely understood sets `unreadable`; the commands that were found are listed all the
    same, so that finding something can only make an answer stricter, and only a readable script proves anything.
    `elsewhere` are folders in which it may run instead of `cwd`.
    """
    if reason := too_long(line):
        return Script(unreadable=reason)
    if "CDPATH" not in variables and (plain := read_plain(line, cwd, elsewhere)) is not None:
        return msgspec.structs.replace(plain, writes=True) if around.wrote else plain
    outside = variables if home is None or "HOME" in variables else {**variables, "HOME": home}
    return read_fully(line, cwd, elsewhere, outside, around)


def read_fully(
    line: str,
    cwd: str | None,
    elsewhere: tuple[str, ...],
    outside: Mapping[str, str],
    around: Around = _ALONE,
) -> Script:
    """List every command of a line by the grammar of the shell."""
    notes = Notes()
    if reason := refuse(line):
        notes.blame(reason)
        line = cleaned(line)
    scope = ShellScope(cwd, outside)
    scope.elsewhere, scope.continued = elsewhere, around.continued
    scope.given = (MADE,) if around.continued else ()
    if around.arguments is not None:
        scope.take(around.arguments)
    walker = Walker(scope.fork(), notes, len(line), wrote=around.wrote)
    followed: dict[str, str | None] = {}
    try:
        whole = Parser(line, notes).whole()
        walker.sequence(whole)
        if walker.wrote and walker.parted and not around.wrote:
            # What runs aside may come after what is written further on.
            walker = Walker(scope, notes, len(line), wrote=True)
            walker.sequence(whole)
        followed = walker.followed()
    except EnoughError:
        pass  # said in the notes
    except RecursionError:
        notes.blame("the command is nested too deeply")
    for name, doubt in walker.doubts.items():
        if doubt is not None and name not in followed:
            notes.blame(doubt)
    return Script(
        tuple(walker.commands),
        notes.fault,
        tuple(walker.functions),
        tuple(walker.bound),
        walker.wrote,
        tuple(followed.items()),
    )
