"""Records written as JSON, whatever text is in them."""

from __future__ import annotations

from typing import Any

import msgspec

_encoder = msgspec.json.Encoder(enc_hook=str)


def encode(record: Any) -> bytes:
    """Write a record as JSON; names on a disk need not be text, and come out escaped."""
    try:
        return _encoder.encode(record)
    except UnicodeEncodeError:
        return _encoder.encode(_scrub(msgspec.to_builtins(record)))


def printable(name: str) -> str:
    """Return a name from a disk as text: what is none comes out escaped."""
    return name.encode("utf-8", "backslashreplace").decode()


def _scrub(value: Any) -> Any:
    match value:
        case str():
            return printable(value)
        case dict():
            return {_scrub(k): _scrub(v) for k, v in value.items()}
        case list() | tuple():
            return [_scrub(v) for v in value]
        case _:
            return value
