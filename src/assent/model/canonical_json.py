"""The one way to turn a record into bytes that are hashed: canonical JSON, and SHA-256 over it."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec

_encode = msgspec.json.Encoder(order="deterministic").encode
_fresh = sha256().copy
"""Gives a hash that has not begun: sooner than asking the library for one by its name, each time."""


def canonical(value: Any) -> bytes:
    """Return the same bytes for the same value: keys sorted, no white space, UTF-8."""
    return _encode(value)


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical bytes, in hexadecimal."""
    hashed = _fresh()
    hashed.update(_encode(value))
    return hashed.hexdigest()
