"""Sealing: which end of a log may be signed. Only what follows the last seal, record by record, ever is.

The database is believed no further than that: a log that somebody rewrote or cut back is not sealed any more, so that
`verify` finds it, however long the daemon goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple

from assent.audit.chain import COLUMNS as RECORD
from assent.audit.chain import genesis, hash_row
from assent.audit.seals.anchors import Anchor, anchor_file, drop_anchors, read_anchors
from assent.audit.seals.last_seal import mark_fault, move_mark, read_mark
from assent.audit.seals.node_keys import Node
from assent.audit.seals.seal import COLUMNS, SEAL_EVERY, Last, Seal, make_seal, no_seal, read_seal
from assent.model import AssentError, StoreError
from assent.store.cursor import Cursor

_SEALS_FROM = f"SELECT {', '.join(COLUMNS)} FROM checkpoints WHERE writer = ? AND seq >= ? ORDER BY seq"  # noqa: S608 - constants
_PUT = f"INSERT INTO checkpoints ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608 - constants
_RECORDS = (
    f"SELECT {', '.join(RECORD)}, hash FROM events "  # noqa: S608 - constants
    f"WHERE writer = ? AND position > ? ORDER BY position LIMIT {2 * SEAL_EVERY}"
)
_log = logging.getLogger(__name__)


class End(NamedTuple):
    """Where a chain ends: the number of its last record, its hash, and its place in the store."""

    seq: int
    head: bytes
    position: int


class _ChangedError(AssentError):
    """The log is not the one that was sealed."""


class Sealer:
    """Knows the last seal and the last record of one writer, and signs what follows them."""

    def __init__(self, node: Node, home: str | None) -> None:
        self._node = node
        self._home = home
        self._last = no_seal(node.id, node.public_key)
        self._late: list[Seal] = []
        """Seals whose anchors could not be written yet."""
        self.end = End(0, genesis(node.id), 0)
        self.since: float | None = None
        """When the first record after the last seal was written."""
        self.fault: str | None = None
        """Why nothing is sealed any more."""

    def begin(self, cursor: Cursor) -> None:
        """Seal the beginning of a new log."""
        if self._home is not None and (mark := read_mark(self._home)) is not None:
            self._fail(f"the log of this installation is missing from the store; it had {mark.last.seq:,} records")
        self.put(cursor, [self.end])

    def resume(self, cursor: Cursor, seq: int, head: bytes) -> None:
        """Go on from the marked seal, and seal what a crash left without one."""
        try:
            self._last = self._find_last(cursor)
        except _ChangedError as error:
            self._fail(str(error))
        if self._last.number:
            self.end = End(self._last.seq, self._last.hash, self._last.position)
        ends = self.take_over(cursor, seq, head) or [self.end]
        missing = self._find_unanchored(cursor)
        cursor.after_commit(lambda: self._make_up(missing))
        self.put(cursor, ends)

    def take_over(self, cursor: Cursor, seq: int, head: bytes) -> list[End]:
        """Follow what other processes wrote; returns the end to be sealed before anything else is written."""
        if (seq, head) == self.end[:2]:
            return []
        try:
            self._follow(cursor, seq, head)
        except _ChangedError as error:
            self._fail(str(error))
            position = cursor.fetch("SELECT coalesce(max(position), 0) FROM events WHERE hash = ?", head)[0][0]
            self.end = End(seq, head, position)
        self.since = None
        return [self.end]

    def move(self, end: End, since: float | None) -> None:
        """Hear where the chain ends now, and since when what follows its last seal has waited for the next one."""
        self.end, self.since = end, since

    def put(self, cursor: Cursor, ends: Sequence[End]) -> None:
        """Seal some ends, in order; those that are sealed already are left out."""
        last, seals = self._last, []
        for end in ends:
            if self.fault is not None or (end.seq <= last.seq and last.number):
                continue
            seal = make_seal(self._node, last, seq=end.seq, position=end.position, head=end.head, at=cursor.now)
            cursor.execute(_PUT, *seal.row)
            last = last.add(seal)
            seals.append(seal)
        if seals:
            cursor.after_commit(lambda: self._keep(last, seals))

    def _keep(self, last: Last, seals: list[Seal]) -> None:
        self._last = last
        self.since = None if last.seq >= self.end.seq else self.since
        self._anchor(seals)

    def _anchor(self, seals: list[Seal]) -> None:
        """Anchor seals and move the mark. What fails is tried again with the next seal, and when the log is opened."""
        if self._home is None:
            return
        self._late += seals
        try:
            drop_anchors(anchor_file(self._home), [anchor_of(seal, self._node.public_key) for seal in self._late])
            self._late = []
            move_mark(self._home, self._last)
        except (OSError, AssentError) as error:
            _log.warning("an anchor could not be written: %s", error)

    def _make_up(self, seals: list[Seal]) -> None:
        if self._home is not None and self.fault is None:
            if seals:
                self._anchor(seals)
            elif self._last.number:
                move_mark(self._home, self._last)

    def _find_unanchored(self, cursor: Cursor) -> list[Seal]:
        """Return the seals that a crash kept from being anchored."""
        if self._home is None:
            return []
        anchors = read_anchors(anchor_file(self._home))
        last = max((a.seq for a in anchors if a.writer == self._node.id), default=-1)
        return self._seals(cursor, last + 1)

    def _find_last(self, cursor: Cursor) -> Last:
        """Return the seal to go on from: the marked one, or where there is no mark yet, the last one there is."""
        mark = None if self._home is None else read_mark(self._home)
        if mark is not None:
            if mark.last.writer != self._node.id:
                raise _ChangedError("the mark beside the key is of another installation")
            self.fault = mark.fault or None
            return mark.last
        last = no_seal(self._node.id, self._node.public_key)
        for seal in self._seals(cursor, 0):
            # Only an earlier version, or a crash at the very first seal, leaves a log without a mark.
            if seal.is_counted and last.number:
                raise _ChangedError("the mark beside the key is missing")
            if not seal.is_genuine(self._node.public_key):
                raise _ChangedError("a seal was not made with the key of this installation")
            last = last.add(seal)
        return last

    def _follow(self, cursor: Cursor, seq: int, head: bytes) -> None:
        last = self._follow_seals(cursor)
        end = self.end if self.end.seq > last.seq or not last.number else End(last.seq, last.hash, last.position)
        for row in cursor.fetch(_RECORDS, self._node.id, end.position):
            hashed = hash_row(end.head, row[:-1])
            if row[2] != end.seq + 1 or hashed != bytes(row[-1]):
                raise _ChangedError(f"record {row[0]:,} of the log was changed")
            end = End(row[2], hashed, row[0])
        if end[:2] != (seq, head):
            raise _ChangedError("the log does not end where its head says")
        self._last, self.end = last, end

    def _follow_seals(self, cursor: Cursor) -> Last:
        """Follow the seals that other processes of this installation made."""
        last = self._last
        if not last.number:
            return last
        first, *later = self._seals(cursor, last.seq) or (None,)
        if first is None or (first.seq, first.hash) != (last.seq, last.hash):
            raise _ChangedError("the last seal is missing from the log")
        for seal in later:
            if not last.follows_up(seal) or not seal.is_genuine(self._node.public_key):
                raise _ChangedError("a seal does not follow the one before it")
            last = last.add(seal)
        return last

    def _seals(self, cursor: Cursor, seq: int) -> list[Seal]:
        return [read_seal(row) for row in cursor.fetch(_SEALS_FROM, self._node.id, seq)]

    def _fail(self, what: str) -> None:
        if self.fault is None:
            self.fault = what
            _log.error("the log is not sealed any more: %s; run `assent audit verify`", what)
            if self._home is not None:
                try:
                    mark_fault(self._home, self._last, what)
                except (OSError, AssentError) as error:
                    _log.warning("that could not be marked: %s", error)


def check_key(node: Node, key: bytes) -> None:
    """Refuse a log that was begun with another key."""
    if key != node.public_key:
        theirs, ours = key.hex()[:16], node.public_key.hex()[:16]
        raise StoreError(
            f"the log was begun with the key `{theirs}…`, and this installation has `{ours}…`; "
            "restore `keys/log.ed25519`, or use a store of its own"
        )


def anchor_of(seal: Seal, key: bytes) -> Anchor:
    """Return a seal as it is written outside the database."""
    return Anchor(
        seal.writer,
        seal.seq,
        seal.position,
        seal.hash.hex(),
        seal.at,
        seal.signature.hex(),
        number=seal.number,
        key=key.hex(),
    )
