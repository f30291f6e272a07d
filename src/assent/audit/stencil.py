"""A record that is made again and again and differs in an id and a time: drawn up once, and filled in."""

from __future__ import annotations

import re

import msgspec

from assent.audit.entry import Entry, make_entry
from assent.audit.masking import Mask
from assent.model import Event

HOLE = "call_0000000000000000"
"""Stands in an event where the id will be …"""
TIME = 987654321.125
"""… and where a number of milliseconds will be."""
_FITS = re.compile(r"call_[0-9a-f]{16}")
_encode = msgspec.json.Encoder().encode


class Stencil:
    """An event with holes. What comes out is what `make_entry` makes of the same event with the values in it."""

    def __init__(self, event: Event, mask: Mask) -> None:
        *self._columns, body = make_entry(event, mask).columns
        body = body.replace(b"%", b"%%").replace(HOLE.encode(), b"%(id)b")
        self._body: bytes = body.replace(_encode(TIME), b"%(time)b")

    def fill(self, call_id: str, time: float = 0.0) -> Entry:
        """Make a record with an id of the form that this process gives its own calls, and a time."""
        return Entry((*self._columns, self._body % {b"id": call_id.encode(), b"time": _encode(time)}))


def fits(call_id: str | None) -> bool:
    """Tell whether an id is of that form: nothing in it needs to be escaped, and none of it looks like a secret."""
    return call_id is not None and _FITS.fullmatch(call_id) is not None
