"""A seal: a signature over the end of a log at some moment, over the count of seals, and over the seal before it."""

from __future__ import annotations

from typing import Any

import msgspec

from assent.audit.chain import counted_seal_bytes, first_link, next_link, seal_bytes
from assent.audit.seals.node_keys import Node, is_signed

SEAL_EVERY = 1000
"""After how many records at most a seal is set …"""
SEAL_SECONDS = 60.0
"""… and after how many seconds."""
COLUMNS = ("writer", "seq", "position", "hash", "at", "signature", "number", "previous")
"""As the table `checkpoints` has them."""
_EARLIER = (*COLUMNS[:6], "NULL AS number", "NULL AS previous")
"""As a version had them that did not number seals."""


class Seal(msgspec.Struct, frozen=True, kw_only=True):
    """One row of `checkpoints`. Seals of earlier versions have no number, and do not name the one before them."""

    writer: str
    seq: int
    position: int
    hash: bytes
    at: float
    signature: bytes
    number: int | None = None
    previous: bytes | None = None

    @property
    def row(self) -> tuple[Any, ...]:
        """Return the columns of the table."""
        return tuple(getattr(self, name) for name in COLUMNS)

    @property
    def message(self) -> bytes:
        """Return what the signature is over."""
        if self.number is None or self.previous is None:
            return seal_bytes(self.writer, self.seq, self.position, self.hash, self.at)
        where = (self.writer, self.seq, self.position, self.hash, self.at)
        return counted_seal_bytes(*where, self.number, self.previous)

    @property
    def is_counted(self) -> bool:
        """Tell whether the signature is over the number of this seal, and the seal before it."""
        return self.number is not None and self.previous is not None

    def is_genuine(self, key: bytes) -> bool:
        """Tell whether a key signed it."""
        return is_signed(key, self.signature, self.message)


class Last(msgspec.Struct, frozen=True, kw_only=True):
    """The last seal of a writer: how many there are, where it stands, and what the next one follows."""

    writer: str
    number: int
    seq: int
    position: int
    hash: bytes
    link: bytes

    def follows_up(self, seal: Seal) -> bool:
        """Tell whether a seal is the next one."""
        return (
            seal.number == self.number + 1
            and seal.previous == self.link
            and (seal.seq > self.seq or (self.number == 0 and seal.seq == 0))
        )

    def add(self, seal: Seal) -> Last:
        """Return what the last seal is after another one."""
        return Last(
            writer=seal.writer,
            number=self.number + 1,
            seq=seal.seq,
            position=seal.position,
            hash=seal.hash,
            link=next_link(self.link, seal.message, seal.signature),
        )


def select_seals(*, numbered: bool) -> str:
    """Return the beginning of a query that reads seals, also from tables of earlier versions."""
    return f"SELECT {', '.join(COLUMNS if numbered else _EARLIER)} FROM checkpoints"  # noqa: S608 - constants


def no_seal(writer: str, key: bytes) -> Last:
    """Return what the first seal of a writer follows."""
    return Last(writer=writer, number=0, seq=0, position=0, hash=b"", link=first_link(writer, key))


def read_seal(row: tuple[Any, ...]) -> Seal:
    """Return the seal in a row of `checkpoints`."""
    writer, seq, position, head, at, signature, number, previous = row
    return Seal(
        writer=writer,
        seq=seq,
        position=position,
        hash=bytes(head),
        at=at,
        signature=bytes(signature),
        number=number,
        previous=None if previous is None else bytes(previous),
    )


def make_seal(node: Node, last: Last, *, seq: int, position: int, head: bytes, at: float) -> Seal:
    """Sign the end of a log, as the seal after another."""
    number, previous = last.number + 1, last.link
    message = counted_seal_bytes(node.id, seq, position, head, at, number, previous)
    return Seal(
        writer=node.id,
        seq=seq,
        position=position,
        hash=head,
        at=at,
        signature=node.sign(message),
        number=number,
        previous=previous,
    )
