"""What people see: text in which nothing can hide, with colour where there is a terminal."""

from __future__ import annotations

import os
import sys
import unicodedata
from typing import TYPE_CHECKING, TextIO

import assent.regex as re
from assent.model import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping

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
_PLAIN = re.compile(r"[ -~]*")
_HIDING = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
# Letters and marks that leave no trace on a screen.
_TRACELESS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", UNKNOWN: "…"}


def visible(text: str) -> str:
    """Return the text with everything escaped that is invisible or moves what is visible; unknown parts are `…`."""
    return text if _PLAIN.fullmatch(text) else "".join(map(_show, text))


def _show(char: str) -> str:
    if char in _SHORT:
        return _SHORT[char]
    if char == " " or not (unicodedata.category(char) in _HIDING or _TRACELESS.match(char)):
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def has_colour(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Tell whether to use colour: `NO_COLOR` forbids it, `FORCE_COLOR` demands it, else a terminal has it."""
    if environ.get("NO_COLOR"):
        return False
    forced = environ.get("FORCE_COLOR", "")
    if forced:
        return forced != "0"
    return stream.isatty() and environ.get("TERM") != "dumb"


def paint(text: str, style: str, *, colour: bool) -> str:
    """Give the text a style."""
    return f"\x1b[{_ANSI[style]}m{text}\x1b[0m" if colour and style and text else text


def say(text: str = "") -> None:
    """Write one line for the person (or program) that asked."""
    sys.stdout.write(text + "\n")


def complain(text: str, hint: str = "") -> None:
    """Write to the error stream what went wrong and, if known, the way out."""
    if sys.stderr is None:
        return
    sys.stderr.write(f"assent: {visible(text)}\n")
    if hint:
        sys.stderr.write(f"  hint: {visible(hint)}\n")
