"""Sed scripts: what they read, write and run. What is not understood is a fault."""

from __future__ import annotations

from typing import cast

import msgspec

import assent.lazy_regex as re
from assent.budget import step

_ADDRESS = re.compile(r"(?:\d+(?:~\d+)?|\$|[+~]\d+)")
_LABEL = re.compile(r"[ \t]*+[\w.]*+[ \t]*+(?=[;\n]|}+[ \t]*(?:[;\n]|\Z)|\Z)")
_BRACKET = re.compile(r"\^?\]?(?:\[[:.=][^\]\n]*+\]|\\[^\]\n]|[^\]\\\n\[]|\[(?![:.=]))*+\]")
_LINE = re.compile(r"[^\n]*")
_CONTINUED = re.compile(r"(?:\\.|[^\\\n])*\\?", re.DOTALL)
_STRANGE = "has a script that Assent does not analyse"
_PLAIN = frozenset("dDpPnNgGhHxzF=")
_TEXT = frozenset("aic")
_LABELS = frozenset(":btT")
_FLAGS = frozenset("gpeiImM0123456789 ")
"""With a space, which some versions pass over."""
_WRITING = re.compile(r"[gpeiImM0-9 ]*+w")


class Effects(msgspec.Struct, frozen=True):
    """What a script does besides printing."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    fault: str | None = None
    lines: tuple[str, ...] = ()
    """What it runs."""
    runs_input: bool = False
    """It runs what it reads."""


class _Fault(Exception):  # noqa: N818 - never leaves this module
    """The script cannot be read."""


def read_sed(script: str) -> Effects:
    """Read a script; a fault says what in it runs commands or is not understood."""
    walk = _Walk(script)
    fault = None
    try:
        walk.run()
    except _Fault as found:
        fault = str(found)
    runs = "runs commands from its script" if walk.lines or walk.runs_input else None
    return Effects(tuple(walk.reads), tuple(walk.writes), fault or runs, tuple(walk.lines), walk.runs_input)


class _Walk:
    def __init__(self, script: str) -> None:
        self.script, self.at = script, 0
        self.reads: list[str] = []
        self.writes: list[str] = []
        self.lines: list[str] = []
        self.runs_input = False

    def run(self) -> None:
        while self._skip(" \t\n;{}"):
            step()
            if self.script[self.at] == "#":
                self._line()
                continue
            self._addresses()
            self._command()

    def _skip(self, characters: str) -> bool:
        while self.at < len(self.script) and self.script[self.at] in characters:
            self.at += 1
        return self.at < len(self.script)

    def _addresses(self) -> None:
        while self._address() and self._skip(" \t") and self.script[self.at] == ",":
            self.at += 1
            self._skip(" \t")
        self._skip(" \t!")

    def _address(self) -> bool:
        found = _ADDRESS.match(self.script, self.at)
        if found:
            self.at = found.end()
            return True
        if self._peek() == "\\":
            self.at += 1
            if self._peek().isdigit():
                raise _Fault(_STRANGE)
        elif self._peek() != "/":
            return False
        self._delimited(self._next())
        self._skip("IM")
        return True

    def _command(self) -> None:
        name = self._next()
        if name in _PLAIN or name in "{}":
            return
        if name in "qQlL":
            self._skip("0123456789 ")
        elif name in _LABELS:
            self._label()
        elif name in _TEXT:
            self._text()
        elif name in "sy":
            self._substitute(flags=name == "s")
        elif name in "rR":
            self.reads.append(self._line().strip())
        elif name in "wW":
            self.writes.append(self._line().strip())
        elif name == "e":
            self._execute()
        else:
            raise _Fault(_STRANGE)

    def _execute(self) -> None:
        """Take the command that is run, or what is read in its place."""
        line = self._line().strip()
        if line:
            self.lines.append(line)
        else:
            self.runs_input = True

    def _substitute(self, *, flags: bool) -> None:
        delimiter = self._next()
        if delimiter in "\n\\" or delimiter.isdigit():
            raise _Fault(_STRANGE)  # a number may be one that the line works out, or none
        unclear = self._delimited(delimiter, regex=flags)
        if unclear and _WRITING.match(self.script, self.at):
            raise _Fault(_STRANGE)  # to some versions the pattern ends inside its brackets, and this is a flag
        self._delimited(delimiter, regex=False)
        while flags and self._peek() in _FLAGS:
            self.runs_input = self.runs_input or self._peek() == "e"
            self.at += 1
        if flags and self._peek() == "w":
            self.at += 1
            self.writes.append(self._line().strip())
        elif self._skip(" \t") and self._peek() not in "\n;}#":
            raise _Fault(_STRANGE)

    def _delimited(self, delimiter: str, *, regex: bool = True) -> bool:
        """Pass a part up to its delimiter, a plain character inside brackets; tell whether it stands in some."""
        inside = False
        while (char := self._next()) != delimiter:
            step()
            if char == "\\":
                self._next()
            elif char == "[" and regex:
                inside = delimiter in self._bracket() or inside
        return inside

    def _bracket(self) -> str:
        found = _BRACKET.match(self.script, self.at)
        if found is None:
            raise _Fault(_STRANGE)
        self.at = found.end()
        return found.group()

    def _line(self) -> str:
        """Take the rest of a line."""
        return self._passed(_LINE)

    def _text(self) -> None:
        """Pass a text: what ends in a backslash goes on."""
        self._passed(_CONTINUED)

    def _passed(self, shape: re.Pattern[str]) -> str:
        found = cast("re.Match[str]", shape.match(self.script, self.at))
        self.at = found.end()
        if "\r" in found.group():
            raise _Fault(_STRANGE)  # ends a line for some versions
        return found.group()

    def _label(self) -> None:
        # Some versions end a label at a space and take what follows as the next command; to some a brace is part of it.
        found = _LABEL.match(self.script, self.at)
        if found is None:
            raise _Fault(_STRANGE)
        self.at = found.end()

    def _peek(self) -> str:
        return self.script[self.at] if self.at < len(self.script) else "\0"

    def _next(self) -> str:
        if self.at >= len(self.script):
            raise _Fault(_STRANGE)
        self.at += 1
        return self.script[self.at - 1]
