"""What the escapes in `$'…'` stand for."""

from __future__ import annotations

import assent.lazy_regex as re

_ESCAPE = re.compile(
    r"\\(?:([abeEfnrtv\\'\"?])|([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})"
    r"|c(\\\\|[\x20-\x7e])|(x\{|c))",
)
_SIMPLE = dict(zip("abeEfnrtv\\'\"?", "\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))
_NO_TEXT = b"\xff"


def decode(body: str) -> str | None:
    """Give the text between `$'` and `'`, or None if it is not surely known."""
    encoded = b"".join(_pieces(body)).partition(b"\0")[0]
    try:
        return encoded.decode()
    except UnicodeDecodeError:
        return None


def _pieces(body: str) -> list[bytes]:
    pieces, at = [], 0
    for escape in _ESCAPE.finditer(body):
        pieces += [body[at : escape.start()].encode(), _meaning(escape)]
        at = escape.end()
    return [*pieces, body[at:].encode()]


def _meaning(escape: re.Match[str]) -> bytes:
    simple, octal, hexadecimal, short, long, control, unclear = escape.groups()
    if simple:
        return _SIMPLE[simple].encode()
    if octal:
        return bytes([int(octal, 8) & 0xFF])
    if hexadecimal:
        return bytes([int(hexadecimal, 16)])
    if control:
        return bytes([0x7F if control == "?" else ord(control[0]) & 0x1F])
    code = 0x110000 if unclear else int(short or long, 16)
    # What is no character becomes bytes that are no text, and so unknown.
    return chr(code).encode(errors="surrogatepass") if code <= 0x10FFFF else _NO_TEXT
