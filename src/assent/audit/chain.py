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
_COUNTED_DOMAIN = b"assent.checkpoint.v2\0"
_SEALS_DOMAIN = b"assent.seals.v1\0"

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
    """Return what a checkpoint's signature is over, in logs of versions that did not count them."""
    return _CHECKPOINT_DOMAIN + encode((writer, seq, position, head, at))


def counted_seal_bytes(
    writer: str, seq: int, position: int, head: bytes, at: float, number: int, previous: bytes
) -> bytes:
    """Return what a checkpoint's signature is over: also how many there are, and the one before it."""
    return _COUNTED_DOMAIN + encode((writer, seq, position, head, at, number, previous))


def first_link(writer: str, key: bytes) -> bytes:
    """Return what the first seal of a writer follows: the beginning of its log, and its key."""
    return hashlib.sha256(_SEALS_DOMAIN + genesis(writer) + key).digest()


def next_link(link: bytes, sealed: bytes, signature: bytes) -> bytes:
    """Return what the seal after another follows."""
    return hashlib.sha256(_SEALS_DOMAIN + link + hashlib.sha256(sealed).digest() + signature).digest()
