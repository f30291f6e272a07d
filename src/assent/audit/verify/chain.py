"""Follows the chains of a part of the log, holding every record against its hash and its seals."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable

import msgspec

from assent.audit.chain import COLUMNS, EVENT_DOMAIN, encode, genesis
from assent.audit.seals.seal import read_seal, select_seals
from assent.audit.snapshot import Snapshot
from assent.model import AssentError
from assent.store.cursor import Row

_EVENTS = f"SELECT {', '.join(COLUMNS)}, hash FROM events WHERE position > ? AND position <= ? ORDER BY position"  # noqa: S608 - constants
_SEALS = " WHERE position > ? AND position <= ? ORDER BY position, writer, seq"
_HEADS = "SELECT writer, seq, hash, key FROM heads"
_OUTSIDE = "SELECT position, writer, seq FROM events WHERE position < 1 ORDER BY position LIMIT 1"
_BEFORE = "SELECT seq, hash FROM events WHERE writer = ? AND position <= ? ORDER BY position DESC LIMIT 1"
END = (1 << 63) - 1
"""Past every position."""


class Broken(msgspec.Struct, frozen=True):
    """The first thing that is not as it was written."""

    what: str
    position: int | None = None
    writer: str | None = None
    seq: int | None = None


class SegmentResult(msgspec.Struct):
    """What a part of the log holds."""

    events: int = 0
    checkpoints: int = 0
    writers: int = 0
    sealed: int = 0
    broken: Broken | None = None


class BrokenError(AssentError):
    """Ends a pass at the first thing that is not as it was written."""

    def __init__(
        self, what: str, position: int | None = None, writer: str | None = None, seq: int | None = None
    ) -> None:
        super().__init__(what)
        self.broken = Broken(what, position, writer, seq)


class _Link:
    """How far one writer's chain has been followed."""

    __slots__ = ("head", "seq")

    def __init__(self, seq: int, head: bytes) -> None:
        self.seq = seq
        self.head = head


class Check:
    """A pass over the records after one position, up to another. Where it starts, the hash before it is believed."""

    def __init__(self, snapshot: Snapshot, after: int, until: int) -> None:
        self._snapshot = snapshot
        self._after = after
        self._until = until
        self._position = after
        """The last one that was seen."""
        seals = select_seals(numbered=snapshot.counts_seals()) + _SEALS
        self._seals = itertools.chain.from_iterable(snapshot.pages("seals", seals, after, until))
        self._seal = next(self._seals, None)
        self._links: dict[str, _Link] = {}
        self._keys: dict[str, bytes] = {}
        self._found = SegmentResult()

    def run(self, progress: Callable[[int], None]) -> SegmentResult:
        """Follow the chains; `progress` is told of every some hundred records."""
        try:
            self._run(progress)
        except BrokenError as error:
            self._found.broken = error.broken
        self._found.writers = len(self._links)
        return self._found

    def _run(self, progress: Callable[[int], None]) -> None:
        heads = self._snapshot.fetch(_HEADS)
        self._keys = {writer: bytes(key) for writer, _, _, key in heads}
        for writer in self._keys if self._after else ():
            for seq, head in self._snapshot.fetch(_BEFORE, writer, self._after):
                self._links[writer] = _Link(seq, bytes(head))
        for where in () if self._after else self._snapshot.fetch(_OUTSIDE):
            raise BrokenError("this record stands before the beginning of the log", *where)
        for rows in self._snapshot.pages("events", _EVENTS, self._after, self._until):
            self._follow(rows)
            progress(len(rows))
        self._end(heads)

    def _follow(self, rows: list[Row]) -> None:
        links, sha256 = self._links, hashlib.sha256
        for row in rows:
            position, writer, seq = row[:3]
            link = links.get(writer)
            if link is None:
                link = links[writer] = self._begin(position, writer, seq)
            head = sha256(EVENT_DOMAIN + link.head + encode(row[:-1])).digest()
            if head != row[-1] or seq != link.seq + 1:
                raise BrokenError(_explain(seq, link.seq), position, writer, seq)
            if position != self._position + 1:
                raise BrokenError("records of another writer before this one are missing", position, writer, seq)
            link.head, link.seq, self._position = head, seq, position
            if self._seal is not None and self._seal[2] <= position:
                self._check_seals(position, writer, link)
        self._found.events += len(rows)

    def _begin(self, position: int, writer: str, seq: int) -> _Link:
        if writer not in self._keys:
            raise BrokenError("the writer of this record has no head", position, writer, seq)
        return _Link(0, genesis(writer))

    def _check_seals(self, position: int, writer: str, link: _Link) -> None:
        while self._seal is not None and self._seal[2] <= position:
            seal = read_seal(self._seal)
            where = (seal.position, seal.writer, seal.seq)
            if (*where, seal.hash) != (position, writer, link.seq, link.head):
                raise BrokenError("a checkpoint does not fit the record it seals", *where)
            if not seal.is_genuine(self._keys.get(seal.writer, b"")):
                raise BrokenError("the signature of a checkpoint is wrong", *where)
            self._found.checkpoints += 1
            self._found.sealed = seal.position
            self._seal = next(self._seals, None)

    def _end(self, heads: list[Row]) -> None:
        if self._seal is not None:
            writer, seq, position = self._seal[:3]
            raise BrokenError("the log was cut off before this sealed record", position, writer, seq)
        if self._until == END:
            self._check_heads({writer: (seq, bytes(head)) for writer, seq, head, _ in heads})

    def _check_heads(self, heads: dict[str, tuple[int, bytes]]) -> None:
        for writer, link in self._links.items():
            if heads.pop(writer, None) != (link.seq, link.head):
                raise BrokenError("the log does not end where its head says", None, writer, link.seq)
        for writer, head in heads.items():
            if head != (0, genesis(writer)):
                raise BrokenError("the records of this writer are missing", None, writer, head[0])


def _explain(seq: int, last: int) -> str:
    if seq > last + 1:
        missing = seq - last - 1
        return (
            "the record before this one is missing"
            if missing == 1
            else f"{missing} records before this one are missing"
        )
    return "this record is here twice, or was moved" if seq <= last else "this record was changed"
