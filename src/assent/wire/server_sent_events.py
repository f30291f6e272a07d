"""Server-sent events: how one is written, and how their readers say where they were."""

from __future__ import annotations

from typing import Any

from assent.model import encode

KIND = b"text/event-stream; charset=utf-8"
HEADERS = ((b"cache-control", b"no-store"), (b"x-accel-buffering", b"no"))
KEEP_ALIVE = b": still here\n\n"
BEAT_SECONDS = 15.0
"""How often a silent stream shows that it is alive."""


def frame(event_id: str, record: Any) -> bytes:
    """Write one event; JSON has no line breaks of its own."""
    return b"id: %s\ndata: %s\n\n" % (event_id.encode(), encode(record))


def frame_then_id(event_id: str, record: Any) -> bytes:
    """Write one event, and its id in a block of its own: there are readers that take a block for data or for nothing.

    A block without data moves the place to resume from, and is no event.
    """
    return b"data: %s\n\nid: %s\n\n" % (encode(record), event_id.encode())
