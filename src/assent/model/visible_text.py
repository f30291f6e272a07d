"""Text in which nothing can hide: what is invisible, or moves what is visible, is written out."""

from __future__ import annotations

import unicodedata

import assent.lazy_regex as re
from assent.model.enums import UNKNOWN

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


def is_hidden(char: str) -> bool:
    """Tell whether a character is invisible, or moves what is visible."""
    return char != " " and (unicodedata.category(char) in _HIDING or _TRACELESS.match(char) is not None)


def _show(char: str) -> str:
    if char in _SHORT:
        return _SHORT[char]
    if not is_hidden(char):
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
