"""The writer thread: it runs all queued jobs in one transaction and commits once (group commit).

A failed job fails alone; a failed commit fails every job in it. No job completes before its commit.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from assent.model import AssentError, StoreError
from assent.store.cursor import Change, Connection, Cursor

T = TypeVar("T")
Work: TypeAlias = Callable[[Cursor], T]

LARGEST_BATCH = 512
MOST_QUEUED = 20_000
"""With this many queued jobs a new one is refused: the disk is too slow."""

_log = logging.getLogger(__name__)


def _nothing(_cursor: Cursor) -> Any:
    return None


class Job(Generic[T]):
    """Work for the writer, with the future for its result, of an event loop or of a thread."""

    __slots__ = ("_error", "_result", "future", "is_settled", "loop", "work")

    def __init__(self, work: Work[T], loop: asyncio.AbstractEventLoop | None) -> None:
        self.work = work
        self.loop = loop
        self.future: Future[T] | asyncio.Future[T] = Future() if loop is None else loop.create_future()
        self.is_settled = False
        """Whether the outcome is known and about to be delivered."""
        self._result: T | None = None
        self._error: BaseException | None = None

    def run(self, cursor: Cursor) -> bool:
        """Run the work in the transaction; False if the whole transaction is lost."""
        cursor.start_job()
        try:
            self._result = self.work(cursor)
            cursor.end_job()
        except Exception as error:  # noqa: BLE001 - the error is delivered to the caller
            self._error = error
            return cursor.undo_job()
        return True

    def fail(self, error: BaseException) -> None:
        """Replace the result by an error: nothing was committed."""
        self._error = error

    def deliver(self) -> None:
        """Complete the future, unless its caller gave up."""
        future = self.future
        if future.done():
            return
        if self._error is not None:
            future.set_exception(self._error)
        else:
            future.set_result(self._result)  # type: ignore[arg-type]
        self.work = _nothing  # frees what the work refers to


class Figures(msgspec.Struct):
    """The writer's counters."""

    jobs: int = 0
    batches: int = 0
    largest_batch: int = 0
    failures: int = 0
    commit_seconds: float = 0.0
    """Time spent in transactions, from first to last statement."""
    oldest_wait: float = 0.0
    """How long the first job of the last batch took from the start of its batch to its commit."""


class Tick(msgspec.Struct):
    """Work that runs at an interval."""

    seconds: float
    needed: Callable[[Cursor], bool]
    work: Work[Any]
    due: float


class Writer(threading.Thread):
    """Owns the only connection that writes."""

    def __init__(self, connect: Callable[[], Connection], origin: str, notify: Callable[[list[Change]], None]) -> None:
        super().__init__(name="assent-writer", daemon=True)
        self._connect = connect
        self._origin = origin
        self._notify = notify
        self._jobs: deque[Job[Any]] = deque()
        self._queue: queue.SimpleQueue[bool | None] = queue.SimpleQueue()
        """Wakes the thread: there are jobs; or with None, there will be no more."""
        self._connection: Connection | None = None
        self._ticks: list[Tick] = []
        self._closing = False
        self.figures = Figures()

    @property
    def queued(self) -> int:
        """How many jobs wait."""
        return len(self._jobs)

    def put(self, *jobs: Job[Any]) -> None:
        """Queue jobs, or raise `StoreError` if they would wait too long or for ever."""
        if self._closing:
            raise StoreError("the store is closed")
        if len(self._jobs) >= MOST_QUEUED:
            raise StoreError(f"{MOST_QUEUED} writes are already queued; the disk is too slow, try again")
        self._jobs.extend(jobs)
        self._queue.put(True)  # noqa: FBT003 - a wake-up, not a flag

    def every(self, seconds: float, needed: Callable[[Cursor], bool], work: Work[Any]) -> None:
        """Do some work from time to time, in a transaction, where a look says that it is needed."""
        self._ticks.append(Tick(seconds, needed, work, time.monotonic() + seconds))
        self._queue.put(True)  # noqa: FBT003 - wakes it, so that it counts from now

    def stop(self) -> None:
        """Finish what is queued, then end."""
        self._closing = True
        self._queue.put(None)
        if self.is_alive():
            self.join()

    def run(self) -> None:
        """Write until told to stop."""
        open_for_more = True
        while open_for_more or self._jobs:
            open_for_more &= self._wait()
            jobs = self._take()
            if jobs:
                self._write(jobs)
            self._do_ticks()
        if self._connection is not None:
            self._connection.close()

    def _wait(self) -> bool:
        """Wait for jobs, or for the next thing to be done from time to time; false once there will be no more."""
        if self._jobs:
            return True
        pause = max(0.0, min((t.due for t in self._ticks), default=time.monotonic() + 60) - time.monotonic())
        try:
            return self._queue.get(timeout=pause) is not None
        except queue.Empty:
            return True

    def _take(self) -> list[Job[Any]]:
        return [self._jobs.popleft() for _ in range(min(len(self._jobs), LARGEST_BATCH))]

    def _write(self, jobs: list[Job[Any]]) -> None:
        started = time.perf_counter()
        # Whoever gave up has been told that nothing was written.
        jobs = [job for job in jobs if not job.future.done()]
        cursor = None
        try:
            cursor = self._transact(jobs)
        except Exception as error:  # noqa: BLE001 - whatever it is, nothing of this batch lasts
            self._fail(jobs, error)
        self._count(jobs, time.perf_counter() - started)
        # Whoever hears of a change must find it in force when the answer to it arrives.
        if cursor is not None and cursor.changes:
            self._notify(cursor.changes)
        _deliver(jobs)
        if cursor is not None:
            cursor.run_later()

    def _transact(self, jobs: list[Job[Any]]) -> Cursor:
        connection = self._connection = self._connection or self._connect()
        connection.begin()
        cursor = Cursor(connection, connection.now())
        for job in jobs:
            if not job.run(cursor):
                raise StoreError("the transaction was lost")
        cursor.finish(self._origin)
        connection.commit()
        return cursor

    def _fail(self, jobs: list[Job[Any]], error: Exception) -> None:
        self.figures.failures += 1
        _log.error("writing to the store failed: %s", error)
        told = error if isinstance(error, AssentError) else StoreError(f"the store cannot be written: {error}")
        for job in jobs:
            job.fail(told)
        if self._connection is not None:
            try:
                self._connection.rollback()
            except Exception as again:  # noqa: BLE001 - it is closed next
                _log.warning("rolling back failed too: %s", again)
            # After an error of the disk or the line nothing is known of this connection.
            self._connection.close()
            self._connection = None

    def _count(self, jobs: list[Job[Any]], seconds: float) -> None:
        figures = self.figures
        figures.jobs += len(jobs)
        figures.batches += 1
        figures.largest_batch = max(figures.largest_batch, len(jobs))
        figures.commit_seconds += seconds
        figures.oldest_wait = seconds

    def _do_ticks(self) -> None:
        now = time.monotonic()
        for tick in self._ticks:
            if tick.due <= now:
                tick.due = now + tick.seconds
                self._do_tick(tick)

    def _do_tick(self, tick: Tick) -> None:
        try:
            connection = self._connection = self._connection or self._connect()
            if tick.needed(Cursor(connection, connection.now())):
                self._write([Job(tick.work, None)])
        except Exception as error:  # noqa: BLE001 - it is tried again in time
            self._fail([], error)


def _deliver(jobs: list[Job[Any]]) -> None:
    """Hand all outcomes over, waking each loop once."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Job[Any]]] = {}
    for job in jobs:
        job.is_settled = True
        if job.loop is None:
            job.deliver()
        else:
            by_loop.setdefault(job.loop, []).append(job)
    for loop, group in by_loop.items():
        try:
            loop.call_soon_threadsafe(_deliver_all, group)
        except RuntimeError:  # the loop has closed, and nobody waits any more
            _log.debug("a loop was closed before its answers came")


def _deliver_all(jobs: list[Job[Any]]) -> None:
    for job in jobs:
        job.deliver()
