"""Write text for people: invisible characters escaped, colour in a terminal."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TextIO

from assent.model import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["STYLE_OF", "complain", "has_colour", "paint", "say", "visible"]

_ANSI = {
    "": "",
    "bold": "1",
    "dim": "2",
    "green": "32",
    "yellow": "33",
    "red": "31",
    "cyan": "36",
    "bold green": "1;32",
    "bold yellow": "1;33",
    "bold red": "1;31",
}
STYLE_OF = {
    "allow": "green",
    "sandboxed": "green",
    "ask": "yellow",
    "deny": "red",
    "unavailable": "red",
    "safe": "green",
    "dangerous": "yellow",
    "destructive": "red",
    "error": "red",
    "warning": "yellow",
    "hint": "cyan",
}


def has_colour(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether to use colour: `NO_COLOR` disables it, `FORCE_COLOR` enables it, else only a terminal has it."""
    if environ.get("NO_COLOR"):
        return False
    forced = environ.get("FORCE_COLOR", "")
    if forced:
        return forced != "0"
    return stream.isatty() and environ.get("TERM") != "dumb"


def paint(text: str, style: str, *, colour: bool) -> str:
    """Return the text in a style."""
    return f"\x1b[{_ANSI[style]}m{text}\x1b[0m" if colour and style and text else text


def say(text: str = "") -> None:
    """Write one line to stdout."""
    sys.stdout.write(text + "\n")


def complain(text: str, hint: str = "") -> None:
    """Write an error to stderr, with a hint on a second line."""
    if sys.stderr is None:
        return
    sys.stderr.write(f"assent: {visible(text)}\n")
    if hint:
        sys.stderr.write(f"  hint: {visible(hint)}\n")
