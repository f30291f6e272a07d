"""A record that is made again and again and differs in an id, a time or a value: drawn up once, and filled in."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from assent.audit.entry import LogEntry, make_entry
from assent.audit.masking import Mask, may_hold_secrets
from assent.model import Event

HOLE = "call_0000000000000000"
"""Stands in an event where the id will be …"""
TIME = 987654321.125
"""… where a number of milliseconds will be …"""
VALUE = "value_0000000000000000"
"""… and where a value will be."""
_LARGEST = 4096
_FITS = re.compile(r"call_[0-9a-f]{16}")
_encode = msgspec.json.Encoder(order="deterministic").encode


class Stencil:
    """An event with holes. What comes out is what `make_entry` makes of the same event with the values in it."""

    def __init__(self, event: Event, mask: Mask) -> None:
        *self._columns, body = make_entry(event, mask).columns
        body = body.replace(b"%", b"%%").replace(HOLE.encode(), b"%(id)b")
        self._body: bytes = body.replace(_encode(TIME), b"%(time)b").replace(_encode(VALUE), b"%(value)b")

    def fill(self, call_id: str, time: float = 0.0, value: bytes = b"null") -> LogEntry:
        """Make a record with an id of the form that this process gives its own calls, a time, and a plain value."""
        return LogEntry(
            (*self._columns, self._body % {b"id": call_id.encode(), b"time": _encode(time), b"value": value})
        )


def encode_plain(value: Any) -> bytes | None:
    """Write a value as a stencil takes it; None if something in it may have to be masked, escaped or shortened."""
    try:
        data = _encode(value)
    except (UnicodeEncodeError, msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        return None
    plain = len(data) <= _LARGEST and data.isascii() and b"\x7f" not in data
    return data if plain and not may_hold_secrets(b'"args":' + data) else None


def fits(call_id: str | None) -> bool:
    """Tell whether an id is of that form: nothing in it needs to be escaped, and none of it looks like a secret."""
    return call_id is not None and _FITS.fullmatch(call_id) is not None
