"""Clients as the published designs describe them, written from those texts alone: they know nothing of Assent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any


def read_session_stream(pieces: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Read a session's stream as the browser of that design does: split at blank lines, keep what begins with data."""
    buffer = ""
    for piece in pieces:
        buffer += piece
        *parts, buffer = buffer.split("\n\n")
        for part in parts:
            line = part.strip()
            if line.startswith("data: "):
                yield json.loads(line[6:])
