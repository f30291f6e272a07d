"""The chain: which bytes are hashed and signed. Whoever changes this file changes what every log means.

A record's hash is SHA-256 over a domain, the hash of the record before it (32 bytes), and the MessagePack array of all
its columns. MessagePack writes each value with its kind and length, so no two records share their bytes.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

EVENT_DOMAIN = b"assent.event.v1\0"
_GENESIS_DOMAIN = b"assent.genesis.v1\0"
_CHECKPOINT_DOMAIN = b"assent.checkpoint.v1\0"

COLUMNS = (
    "position",
    "writer",
    "seq",
    "at",
    "type",
    "session_id",
    "user_id",
    "agent_id",
    "tool",
    "tier",
    "verdict",
    "source",
    "digest",
    "approval",
    "text",
    "body",
)
"""What is hashed, in this order; the hash itself comes last in a row."""

encode = msgspec.msgpack.Encoder().encode


def genesis(writer: str) -> bytes:
    """Return what the first record of a writer follows."""
    return hashlib.sha256(_GENESIS_DOMAIN + encode([writer])).digest()


def hash_row(head: bytes, row: tuple[Any, ...]) -> bytes:
    """Return the hash of a record that follows another."""
    return hashlib.sha256(EVENT_DOMAIN + head + encode(row)).digest()


def seal_bytes(writer: str, seq: int, position: int, head: bytes, at: float) -> bytes:
    """Return what a checkpoint's signature is over."""
    return _CHECKPOINT_DOMAIN + encode((writer, seq, position, head, at))
