"""Does the log tell the truth? Every record is hashed again and every seal checked, in constant memory.

A long log is followed in several parts at once; each starts from the hash that the part before it has to arrive at.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import msgspec

from assent.audit.anchors import anchor_file, read_anchors
from assent.audit.check import END, Broken, Check, Found
from assent.audit.keys import find_public_key
from assent.audit.snapshot import open_snapshot
from assent.store.address import Address

LONG_LOG = 100_000
"""From how many records on it is worth to start more processes."""
_MOST_PROCESSES = 4
_PARTS_EACH = 6
"""Into how many parts a process's share is cut: whoever is done takes the next one."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a verification found."""

    ok: bool
    events: int
    checkpoints: int
    anchors: int
    writers: int
    sealed: int
    """Up to which position the log is sealed; what follows could be rewritten by whoever can write the database."""
    broken: Broken | None = None


def verify_log(address: Address, *, home: str, progress: Callable[[int, int], None] | None = None) -> Report:
    """Verify a log, also while it is written to; `progress` is told how many records of how many are done.

    Found out: any record that was changed, moved, doubled or removed; a log cut off before its last seal, or before
    the last anchor in this installation's file. Raises `StoreError` if the log can not be read.
    """
    with open_snapshot(address) as snapshot:
        last, count = snapshot.fetch("SELECT coalesce(max(position), 0), count(*) FROM events")[0]
    processes = min(os.cpu_count() or 1, _MOST_PROCESSES) if count >= LONG_LOG else 1
    parts = processes * _PARTS_EACH if processes > 1 else 1
    bounds = [last * part // parts for part in range(parts)]
    ranges = list(zip(bounds, [*bounds[1:], END], strict=True))
    counter = _Counter(count, progress)
    if parts == 1:
        return _report([_check_part(address, home, *ranges[0], counter.add)])
    return _report(_check_parts(address, home, ranges, counter, processes))


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


def _check_part(address: Address, home: str, after: int, until: int, progress: Callable[[int], None]) -> Found:
    # What is anchored lasts, so a snapshot taken after the file's end was noted has all of it.
    anchors = read_anchors(anchor_file(home))
    with open_snapshot(address) as snapshot:
        return Check(snapshot, find_public_key(home), anchors, after, until).run(progress)


def _check_parts(
    address: Address, home: str, ranges: list[tuple[int, int]], counter: _Counter, processes: int
) -> list[Found]:
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    with ProcessPoolExecutor(processes - 1, context, _set_queue, (queue,)) as pool:
        # The others begin at the end: what comes first is done here, while they are still starting.
        others = [pool.submit(_check_elsewhere, address, home, *r) for r in reversed(ranges)][::-1]
        listener = threading.Thread(target=_listen, args=(queue, counter), daemon=True)
        listener.start()
        found = [
            _check_part(address, home, *part, counter.add) if other.cancel() else other.result()
            for part, other in zip(ranges, others, strict=True)
        ]
        queue.put(None)
        listener.join()
    return found


_queue: Any = None


def _set_queue(queue: Any) -> None:
    global _queue  # noqa: PLW0603 - how a process of a pool is given something
    _queue = queue
    gc.disable()  # it makes rows, and throws them away: nothing that only a collector could find


def _check_elsewhere(address: Address, home: str, after: int, until: int) -> Found:
    return _check_part(address, home, after, until, _queue.put)


def _listen(queue: Any, counter: _Counter) -> None:
    while (count := queue.get()) is not None:
        counter.add(count)


def _report(found: list[Found]) -> Report:
    """Join what the parts found; what is broken first is what counts."""
    broken = next((part.broken for part in found if part.broken is not None), None)
    return Report(
        ok=broken is None,
        events=sum(part.events for part in found),
        checkpoints=sum(part.checkpoints for part in found),
        anchors=sum(part.anchors for part in found),
        writers=max(part.writers for part in found),
        sealed=max(part.sealed for part in found),
        broken=broken,
    )
