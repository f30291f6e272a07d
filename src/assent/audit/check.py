"""Follows the chains of a part of the log, holding every record against its hash, its seals and its anchors."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator

import msgspec

from assent.audit.anchors import Anchor
from assent.audit.chain import COLUMNS, EVENT_DOMAIN, encode, genesis, seal_bytes
from assent.audit.keys import is_signed
from assent.audit.snapshot import Snapshot
from assent.model import AssentError
from assent.store.cursor import Row

_EVENTS = f"SELECT {', '.join(COLUMNS)}, hash FROM events WHERE position > ? AND position <= ? ORDER BY position"  # noqa: S608 - constants
_SEALS = (
    "SELECT writer, seq, position, hash, at, signature FROM checkpoints "
    "WHERE position > ? AND position <= ? ORDER BY position, writer, seq"
)
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


class Found(msgspec.Struct):
    """What a part of the log holds."""

    events: int = 0
    checkpoints: int = 0
    anchors: int = 0
    writers: int = 0
    sealed: int = 0
    broken: Broken | None = None


class _BrokenError(AssentError):
    """Ends the pass at the first broken record."""

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

    def __init__(
        self, snapshot: Snapshot, own: tuple[str, bytes] | None, anchors: Iterator[Anchor], after: int, until: int
    ) -> None:
        self._snapshot = snapshot
        self._own = own
        self._after = after
        self._until = until
        self._anchors = (a for a in anchors if after < a.position <= until)
        self._anchor = next(self._anchors, None)
        self._seals = itertools.chain.from_iterable(snapshot.pages("seals", _SEALS, after, until))
        self._seal = next(self._seals, None)
        self._links: dict[str, _Link] = {}
        self._sealed: dict[str, int] = {}
        """The last record of each writer that a checkpoint seals."""
        self._keys: dict[str, bytes] = {}
        self._found = Found()

    def run(self, progress: Callable[[int], None]) -> Found:
        """Follow the chains; `progress` is told of every some hundred records."""
        try:
            self._run(progress)
        except _BrokenError as error:
            self._found.broken = error.broken
        self._found.writers = len(self._links)
        return self._found

    def _run(self, progress: Callable[[int], None]) -> None:
        heads = self._snapshot.fetch(_HEADS)
        self._keys = {writer: bytes(key) for writer, _, _, key in heads}
        if self._own is not None and self._keys.get(self._own[0], self._own[1]) != self._own[1]:
            raise _BrokenError("the key of this installation was replaced in the log", writer=self._own[0])
        for writer in self._keys if self._after else ():
            for seq, head in self._snapshot.fetch(_BEFORE, writer, self._after):
                self._links[writer] = _Link(seq, bytes(head))
        for where in () if self._after else self._snapshot.fetch(_OUTSIDE):
            raise _BrokenError("this record stands before the beginning of the log", *where)
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
                raise _BrokenError(_explain(seq, link.seq), position, writer, seq)
            link.head, link.seq = head, seq
            if self._seal is not None and self._seal[2] <= position:
                self._check_seals(position, writer, link)
            if self._anchor is not None and self._anchor.position <= position:
                self._check_anchors(writer, link)
        self._found.events += len(rows)

    def _begin(self, position: int, writer: str, seq: int) -> _Link:
        if writer not in self._keys:
            raise _BrokenError("the writer of this record has no head", position, writer, seq)
        return _Link(0, genesis(writer))

    def _check_seals(self, position: int, writer: str, link: _Link) -> None:
        while self._seal is not None and self._seal[2] <= position:
            owner, seq, place, head, at, signature = self._seal
            if (place, owner, seq, bytes(head)) != (position, writer, link.seq, link.head):
                raise _BrokenError("a checkpoint does not fit the record it seals", place, owner, seq)
            sealed = seal_bytes(owner, seq, place, bytes(head), at)
            if not is_signed(self._keys.get(owner, b""), bytes(signature), sealed):
                raise _BrokenError("the signature of a checkpoint is wrong", place, owner, seq)
            self._found.checkpoints += 1
            self._found.sealed = place
            self._sealed[owner] = seq
            self._seal = next(self._seals, None)

    def _check_anchors(self, writer: str, link: _Link) -> None:
        anchor = self._anchor
        if anchor is None:
            return
        if (anchor.writer, anchor.seq, anchor.hash) != (writer, link.seq, link.head.hex()):
            where = (anchor.position, anchor.writer, anchor.seq)
            raise _BrokenError("the log is not the one that was anchored", *where)
        if self._sealed.get(writer) != link.seq:  # what is anchored was sealed before
            where = (anchor.position, anchor.writer, anchor.seq)
            raise _BrokenError("the checkpoint of this anchored record is missing", *where)
        self._found.anchors += 1
        self._anchor = next(self._anchors, None)

    def _end(self, heads: list[Row]) -> None:
        if self._anchor is not None:
            anchor = self._anchor
            what = "the log was cut off before this anchored record"
            raise _BrokenError(what, anchor.position, anchor.writer, anchor.seq)
        if self._seal is not None:
            writer, seq, position = self._seal[:3]
            raise _BrokenError("the log was cut off before this sealed record", position, writer, seq)
        if self._until == END:
            self._check_heads({writer: (seq, bytes(head)) for writer, seq, head, _ in heads})

    def _check_heads(self, heads: dict[str, tuple[int, bytes]]) -> None:
        for writer, link in self._links.items():
            if heads.pop(writer, None) != (link.seq, link.head):
                raise _BrokenError("the log does not end where its head says", None, writer, link.seq)
        for writer, head in heads.items():
            if head != (0, genesis(writer)):
                raise _BrokenError("the records of this writer are missing", None, writer, head[0])


def _explain(seq: int, last: int) -> str:
    if seq > last + 1:
        missing = seq - last - 1
        return (
            "the record before this one is missing"
            if missing == 1
            else f"{missing} records before this one are missing"
        )
    return "this record is here twice, or was moved" if seq <= last else "this record was changed"
