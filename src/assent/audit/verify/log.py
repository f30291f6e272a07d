"""Does the log tell the truth? Every record is hashed again and every seal checked, in constant memory.

A long log is followed in several parts at once; each starts from the hash that the part before it has to arrive at.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from assent.audit.snapshot import open_snapshot
from assent.audit.verify.chain import END, Broken, SegmentResult
from assent.audit.verify.seals import SealsFound, Trust, check_seals
from assent.audit.verify.segments import Part, check_parts
from assent.store.address import StoreAddress

State: TypeAlias = Literal["whole", "broken", "unproven"]
LONG_LOG = 100_000
"""From how many records on it is worth to start more processes."""
_MOST_PROCESSES = 4
_PARTS_EACH = 6
"""Into how many parts a process's share is cut: whoever is done takes the next one."""


class VerifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a verification found."""

    ok: bool
    state: State
    """`unproven`: nothing is wrong, and not all of it is proven: a writer has no seal, or its key is not known."""
    events: int
    checkpoints: int
    anchors: int
    writers: int
    sealed: int
    """Up to which position the log is sealed; what follows could be rewritten by whoever can write the database."""
    broken: Broken | None = None
    unsealed: tuple[str, ...] = ()
    """Writers that have records and no seal."""
    unknown: tuple[str, ...] = ()
    """Writers of records whose keys only the database vouches for."""
    first_seen: tuple[str, ...] = ()
    """Other nodes whose keys are those that this installation saw first."""


def verify_log(
    address: StoreAddress,
    *,
    home: str,
    keys: tuple[str, ...] = (),
    copies: tuple[str, ...] = (),
    progress: Callable[[int, int], None] | None = None,
) -> VerifyReport:
    """Verify a log, also while it is written to; `progress` is told how many records of how many are done.

    Found: any record that was changed, moved, doubled or removed; seals that are missing, that do not follow each
    other, or that the anchors and the mark in a home, or copies of anchors, contradict; a key that is not the home's
    own, or where `keys` are given, none of them. Raises `StoreError` if the log cannot be read.
    """
    seals = check_seals(address, Trust(home, keys, copies))
    with open_snapshot(address) as snapshot:
        last, count = snapshot.fetch("SELECT coalesce(max(position), 0), count(*) FROM events")[0]
    processes = min(os.cpu_count() or 1, _MOST_PROCESSES) if count >= LONG_LOG and sys.executable else 1
    cuts = processes * _PARTS_EACH if processes > 1 else 1
    bounds = [last * cut // cuts for cut in range(cuts)]
    parts = [Part(address, *span) for span in zip(bounds, [*bounds[1:], END], strict=True)]
    counter = _Counter(count, progress)
    return _report(check_parts(parts, counter.add, processes=processes), seals)


class _Counter:
    def __init__(self, total: int, progress: Callable[[int, int], None] | None) -> None:
        self._total = total
        self._progress = progress
        self._done = 0
        self._lock = threading.Lock()

    def add(self, count: int) -> None:
        if self._progress is not None:
            with self._lock:
                self._done += count
                self._progress(self._done, max(self._total, self._done))


def _report(found: list[SegmentResult], seals: SealsFound) -> VerifyReport:
    """Join what the parts found; what is broken first is what counts."""
    broken = next((part.broken for part in found if part.broken is not None), seals.broken)
    state: State = "whole" if broken is None else "broken"
    if broken is None and (seals.unsealed or seals.unknown or not seals.known):
        state = "unproven"
    return VerifyReport(
        ok=state == "whole",
        state=state,
        events=sum(part.events for part in found),
        checkpoints=sum(part.checkpoints for part in found) + seals.begun,
        anchors=seals.anchors,
        writers=max(part.writers for part in found),
        sealed=max(part.sealed for part in found),
        broken=broken,
        unsealed=tuple(seals.unsealed),
        unknown=tuple(seals.unknown),
        first_seen=tuple(seals.first_seen),
    )
