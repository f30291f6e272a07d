"""Holds the seals of a log against each other, against the anchors and the mark in a home, and against known keys.

What the records say is not looked at here: `check` holds them against the same seals.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator

import msgspec

from assent.audit.chain import genesis
from assent.audit.seals.anchors import Anchor, anchor_file, measure_anchors, place_anchors
from assent.audit.seals.last_seal import Mark, read_mark
from assent.audit.seals.node_keys import find_public_key
from assent.audit.seals.peer_keys import read_neighbours
from assent.audit.seals.seal import SEAL_EVERY, SEAL_SECONDS, Last, Seal, no_seal, read_seal, select_seals
from assent.audit.snapshot import Snapshot, open_snapshot
from assent.audit.verify.chain import Broken, BrokenError
from assent.store.address import StoreAddress

LATE_ANCHORS = 8
"""How many seals may wait for their anchors: one for each process of an installation that is about to write it."""
WINDOW_SECONDS = 2 * SEAL_SECONDS
"""How far apart records that follow the last seal may be in time."""
_OUT_OF_ORDER = 64
_HEADS = "SELECT writer, seq, key FROM heads ORDER BY writer"
_SEALS = " WHERE writer = ? ORDER BY seq"
_STRANGE = "SELECT writer, seq, position FROM checkpoints WHERE writer NOT IN (SELECT writer FROM heads) LIMIT 1"
_TIMES = "SELECT coalesce(max(at) - min(at), 0) FROM events WHERE writer = ? AND position > ?"


class Trust(msgspec.Struct, frozen=True):
    """What whoever verifies a log has, besides its database."""

    home: str
    keys: tuple[str, ...] = ()
    """Public keys that are known from elsewhere, in hex; if there are any, no other key is believed."""
    copies: tuple[str, ...] = ()
    """Files with copies of anchors that were kept elsewhere."""


class SealsFound(msgspec.Struct):
    """What the seals of a log say."""

    anchors: int = 0
    begun: int = 0
    """Seals of the beginnings of logs, which no record is held against."""
    unsealed: list[str] = msgspec.field(default_factory=list)
    """Writers that have records and no seal."""
    unknown: list[str] = msgspec.field(default_factory=list)
    """Writers of records whose keys nothing but the database vouches for."""
    first_seen: list[str] = msgspec.field(default_factory=list)
    """Other nodes whose keys are those that this installation saw first."""
    known: int = 0
    broken: Broken | None = None


class _Anchored:
    """The anchors of one writer in one file, in the order of their seals."""

    def __init__(self, path: str, writer: str, size: int) -> None:
        placed = ((a.seq, end <= size, a) for a, end in place_anchors(path) if a.writer == writer)
        self._anchors = _in_order(placed)
        self._next = next(self._anchors, None)
        self.key = "" if self._next is None else self._next[2].key

    def match(self, seal: Seal, key: bytes) -> bool:
        """Tell whether a seal is anchored. An anchor that was passed by has lost its seal."""
        found = False
        while self._next is not None and self._next[0] <= seal.seq:
            anchor = self._next[2]
            if anchor.seq < seal.seq:
                raise _lost(anchor, "the seal of this anchor is missing")
            if not _is_of(anchor, seal, key):
                raise _lost(anchor, "the log is not the one that was anchored")
            found = True
            self._next = next(self._anchors, None)
        return found

    def end(self) -> None:
        """Find anchors that are left over. Those written after the log was looked at are not meant."""
        while self._next is not None:
            if self._next[1]:
                raise _lost(self._next[2], "the log was cut off before this anchored record")
            self._next = next(self._anchors, None)


def _in_order(placed: Iterator[tuple[int, bool, Anchor]]) -> Iterator[tuple[int, bool, Anchor]]:
    """Sort what processes that share a home wrote at the same time."""
    counted = ((seq, number, early, anchor) for number, (seq, early, anchor) in enumerate(placed))
    waiting = list(itertools.islice(counted, _OUT_OF_ORDER))
    heapq.heapify(waiting)
    while waiting:
        following = next(counted, None)
        seq, _, early, anchor = heapq.heappop(waiting) if following is None else heapq.heapreplace(waiting, following)
        yield seq, early, anchor


def _is_of(anchor: Anchor, seal: Seal, key: bytes) -> bool:
    said = (anchor.position, anchor.hash, anchor.at, anchor.signature)
    return said == (seal.position, seal.hash.hex(), seal.at, seal.signature.hex()) and anchor.key in ("", key.hex())


def _lost(anchor: Anchor, what: str) -> BrokenError:
    return BrokenError(what, anchor.position, anchor.writer, anchor.seq)


def check_seals(address: StoreAddress, trust: Trust) -> SealsFound:
    """Follow the seals of all writers."""
    # What is marked or anchored lasts, so a snapshot taken after these were noted has all of it.
    mark = read_mark(trust.home)
    own = find_public_key(trust.home)
    files = {path: measure_anchors(path) for path in (anchor_file(trust.home), *trust.copies)}
    found = SealsFound()
    try:
        with open_snapshot(address) as snapshot:
            _Check(snapshot, trust, own, mark, files, found).run()
    except BrokenError as error:
        found.broken = error.broken
    return found


class _Check:
    def __init__(
        self,
        snapshot: Snapshot,
        trust: Trust,
        own: tuple[str, bytes] | None,
        mark: Mark | None,
        files: dict[str, int],
        found: SealsFound,
    ) -> None:
        self._snapshot = snapshot
        self._seals = select_seals(numbered=snapshot.counts_seals()) + _SEALS
        self._trust = trust
        self._neighbours = read_neighbours(trust.home)
        self._own = own
        self._mark = None if mark is None else mark.last
        self._fault = "" if mark is None else mark.fault
        self._files = files
        self._found = found

    def run(self) -> None:
        heads = self._snapshot.fetch(_HEADS)
        writers = [row[0] for row in heads]
        for writer, seq, position in self._snapshot.fetch(_STRANGE):
            raise BrokenError("the writer of this seal has no head", position, writer, seq)
        for writer, seq, key in heads:
            self._check_writer(writer, seq, bytes(key))
        self._check_missing(writers)

    def _check_writer(self, writer: str, seq: int, key: bytes) -> None:
        is_own = self._own is not None and writer == self._own[0]
        if is_own and self._own is not None and key != self._own[1]:
            raise BrokenError("the key of this installation was replaced in the log", writer=writer)
        if self._neighbours.get(writer, key.hex()) != key.hex():
            raise BrokenError("the key of this node is not the one it had when it was first seen", writer=writer)
        anchored = {path: _Anchored(path, writer, size) for path, size in self._files.items()}
        copied = key.hex() in [anchored[path].key for path in self._trust.copies]
        self._check_key(writer, seq, key, proven=is_own or copied)
        last = self._follow(writer, key, anchored, self._mark if is_own else None)
        for anchors in anchored.values():
            anchors.end()
        if last is None:
            self._found.unsealed += [writer] if seq else []
        else:
            self._check_window(seq, last)

    def _check_key(self, writer: str, seq: int, key: bytes, *, proven: bool) -> None:
        if self._trust.keys and key.hex() not in self._trust.keys:
            raise BrokenError(f"the key of this writer, {key.hex()}, is none that was given", writer=writer)
        if self._trust.keys or proven:
            self._found.known += 1
        elif writer in self._neighbours:
            self._found.known += 1
            self._found.first_seen.append(writer)
        elif seq:  # whoever wrote nothing says nothing that needs a proof
            self._found.unknown.append(writer)

    def _follow(self, writer: str, key: bytes, anchored: dict[str, _Anchored], mark: Last | None) -> Seal | None:
        last, seal, counted, late = no_seal(writer, key), None, False, 0
        is_own = self._own is not None and writer == self._own[0]
        for row in itertools.chain.from_iterable(self._snapshot.pages("chain", self._seals, writer)):
            seal = read_seal(row)
            _check_link(last, seal, counted=counted)
            _check_place(seal, key)
            counted = seal.is_counted
            last = last.add(seal)
            _check_mark(mark, last)
            there, *_ = [anchors.match(seal, key) for anchors in anchored.values()]  # in the home, and in copies
            self._found.anchors += there
            self._found.begun += seal.seq == 0
            if counted and is_own and not there:
                late += 1
                if mark is not None and last.number <= mark.number:
                    raise _missing("the anchor of this seal is missing", seal)
        if late > LATE_ANCHORS and seal is not None:
            raise _missing(f"{late} seals up to this one have no anchors", seal)
        _check_end(mark, last, seal, is_own=is_own, counted=counted)
        return seal

    def _check_window(self, seq: int, seal: Seal) -> None:
        """Find records that were never sealed, though it was time."""
        if seq - seal.seq > SEAL_EVERY:
            raise _missing(f"{seq - seal.seq:,} records after this one have no seal", seal)
        if seal.is_counted and self._snapshot.fetch(_TIMES, seal.writer, seal.position)[0][0] > WINDOW_SECONDS:
            raise _missing(f"the records of more than {WINDOW_SECONDS:.0f} seconds after this one have no seal", seal)

    def _check_missing(self, writers: list[str]) -> None:
        """Find logs that are gone altogether, and what a process of this installation found before."""
        if self._mark is not None and self._fault:
            raise BrokenError(f"it was found before: {self._fault}", writer=self._mark.writer, seq=self._mark.seq)
        if self._mark is not None and self._mark.writer not in writers:
            raise BrokenError("the log of this installation is missing", None, self._mark.writer, self._mark.seq)
        for path, size in self._files.items():
            for anchor, end in place_anchors(path):
                if anchor.writer not in writers and end <= size:
                    raise _lost(anchor, "the log of this anchor is missing")


def _check_link(last: Last, seal: Seal, *, counted: bool) -> None:
    if not seal.is_counted:
        if counted:
            raise _missing("a seal has no number, and one before it has", seal)
        return
    if seal.number != last.number + 1:
        raise _missing("seals before this one are missing", seal)
    if not last.follows_up(seal):
        raise _missing("a seal does not follow the one before it", seal)


def _check_place(seal: Seal, key: bytes) -> None:
    """Check what no record is held against: the seal of the beginning."""
    if seal.position > 0 and seal.seq > 0:
        return
    if (seal.position, seal.seq, seal.hash) != (0, 0, genesis(seal.writer)):
        raise _missing("a checkpoint does not fit the record it seals", seal)
    if not seal.is_genuine(key):
        raise _missing("the signature of a checkpoint is wrong", seal)


def _check_mark(mark: Last | None, last: Last) -> None:
    if mark is not None and mark.number == last.number and mark != last:
        where = (mark.position, mark.writer, mark.seq)
        raise BrokenError("the log is not the one that this installation sealed", *where)


def _check_end(mark: Last | None, last: Last, seal: Seal | None, *, is_own: bool, counted: bool) -> None:
    if mark is not None and mark.number > last.number:
        what = "the log was cut off before the last seal that this installation made"
        raise BrokenError(what, mark.position, mark.writer, mark.seq)
    # A crash at the very first seal leaves no mark; nothing else does.
    if is_own and mark is None and counted and last.number > 1 and seal is not None:
        raise _missing("the mark of the last seal, beside the key, is missing", seal)


def _missing(what: str, seal: Seal) -> BrokenError:
    return BrokenError(what, seal.position, seal.writer, seal.seq)
