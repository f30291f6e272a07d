"""The store: one thread writes, a few threads read, and subscribers are notified of changes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Self, TypeAlias, TypeVar, cast

from sqlalchemy import Connection as ReadConnection
from sqlalchemy import Engine, Executable, create_engine, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import SQLAlchemyError

from assent.model import StoreError
from assent.platform.files import make_private_folder
from assent.store import sqlite
from assent.store.address import StoreAddress, read_address
from assent.store.cursor import Change, Connection, Cursor, Row, faults, refuse_nul
from assent.store.upgrade import upgrade
from assent.store.watcher import Subscriber, Watch, Watcher
from assent.store.writer import Figures, Job, Work, Writer

T = TypeVar("T")
Clock: TypeAlias = Callable[[], float]

WRITE_SECONDS = 10.0
"""Seconds after which a write counts as failed for its caller."""
_MOST_CHANGES = 10_000
_log = logging.getLogger(__name__)


def open_store(url: str | None = None, *, home: str, clock: Clock = time.time) -> Store:
    """Open the store at a URL (by default SQLite in Assent's home) and upgrade its tables.

    Raises `StoreError` or `ConfigError` for a store that cannot be trusted to be durable.
    """
    make_private_folder(home)
    return Store(read_address(url, home=home), clock=clock)


class Store:
    """An open store. `write` and `commit` queue work for the writer thread; `read` never waits for it."""

    def __init__(self, address: StoreAddress, *, clock: Clock = time.time) -> None:
        self.address = address
        self.origin = secrets.token_hex(8)
        """Marks the changes of this process."""
        self._clock = clock
        self._closed = False
        self._presence = _enter(address)
        try:
            self._engine = _prepare(address)
            self._connect().close()  # fail now if it cannot be written
        except BaseException as error:
            self._leave()
            if isinstance(error, (SQLAlchemyError, OSError, *faults())):
                raise StoreError(f"the store `{address.shown}` cannot be opened: {_first_line(error)}") from error
            raise
        self._subscribers: list[Subscriber] = []
        self._outboxes: dict[asyncio.AbstractEventLoop, _Outbox] = {}
        self._readers = ThreadPoolExecutor(4, thread_name_prefix="assent-reader")
        self._writer = Writer(self._connect, self.origin, self._notify_all)
        self._watcher = Watcher(self._watch, self.origin, self._notify)
        self._writer.start()
        self._watcher.start()
        self._writer.every(600, _has_old_changes, _clear_old_changes)
        self.write_seconds = WRITE_SECONDS

    @property
    def figures(self) -> Figures:
        """Return the writer's counters."""
        return self._writer.figures

    @property
    def queued(self) -> int:
        """Return how many writes are queued."""
        return self._writer.queued

    @property
    def is_up(self) -> bool:
        """Tell whether both threads are alive."""
        return self._writer.is_alive() and self._watcher.is_alive()

    def write(self, work: Work[T]) -> Future[T]:
        """Queue work; the future completes once it is durable. For threads; use `commit` on an event loop."""
        job: Job[T] = Job(work, None)
        self._writer.put(job)
        return job.future  # type: ignore[return-value]

    async def commit(self, work: Work[T]) -> T:
        """Run work in the next transaction and return its result once it is durable, or raise.

        An error of the work is raised as it is; `StoreError` means that the write may not have happened.
        """
        loop = asyncio.get_running_loop()
        job: Job[T] = Job(work, loop)
        outbox = self._outboxes.get(loop)
        if outbox is None:
            self._outboxes = {known: held for known, held in self._outboxes.items() if not known.is_closed()}
            outbox = self._outboxes[loop] = _Outbox(loop, self._writer)
        outbox.put(job, self.write_seconds)
        return await cast("asyncio.Future[T]", job.future)

    def read(self, statement: Executable | str, parameters: dict[str, Any] | None = None) -> Future[list[Row]]:
        """Run a query on a reader's connection."""
        return self._readers.submit(self.fetch, statement, parameters)

    def fetch(self, statement: Executable | str, parameters: dict[str, Any] | None = None) -> list[Row]:
        """Run a query in this thread."""
        query = text(statement) if isinstance(statement, str) else statement
        try:
            with self._engine.connect() as connection:
                return [tuple(row) for row in connection.execute(query, parameters or {})]
        except SQLAlchemyError as error:
            refuse_nul(error)
            raise StoreError(f"the store cannot be read: {_first_line(error)}") from error

    def call(self, action: Callable[[], None]) -> None:
        """Run a function that reads in a reader thread; its errors are logged."""
        if self._closed:
            return
        self._readers.submit(action).add_done_callback(_log_fault)

    def call_later(self, seconds: float, action: Callable[[], Any]) -> None:
        """Run a function after some seconds, unless the store is closed by then."""
        timer = threading.Timer(seconds, lambda: None if self._closed else action())
        timer.daemon = True
        timer.start()

    def wall_clock(self) -> float:
        """Return this machine's time; a transaction has the database's time, `Cursor.now`."""
        return self._clock()

    async def query(self, statement: Executable | str, parameters: dict[str, Any] | None = None) -> list[Row]:
        """Run a query without blocking the event loop."""
        return await asyncio.wrap_future(self.read(statement, parameters))

    @contextlib.contextmanager
    def reader(self) -> Any:
        """Lend a read connection, for results that do not fit into memory."""
        with self._engine.connect() as connection:
            yield connection

    def subscribe(self, subscriber: Subscriber) -> None:
        """Call a function for every change; see `Subscriber` for what it may rely on."""
        self._subscribers.append(subscriber)

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Stop calling a subscriber."""
        self._subscribers.remove(subscriber)

    def notify(self, topic: str, ref: str, value: Any) -> None:
        """Notify this process's subscribers of a change that is not written."""
        self._notify(topic, ref, value)

    def every(self, seconds: float, needed: Callable[[Cursor], bool], work: Work[Any]) -> None:
        """Run work in a transaction at this interval, whenever `needed` returns true."""
        self._writer.every(seconds, needed, work)

    def postpone(self, work: Work[None]) -> bool:  # noqa: ARG002 - for a store that can
        """Run work before each read of the tables; False if other processes may read them at any time."""
        return False

    def catch_up(self) -> None:
        """Run postponed work."""

    def close(self) -> None:
        """Finish queued writes and close everything."""
        self._closed = True
        self._watcher.stop()
        self._writer.stop()
        self._readers.shutdown()
        self._engine.dispose()
        self._leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _connect(self) -> Connection:
        if self.address.engine == "sqlite":
            return sqlite.SqliteConnection(self.address.path, self._clock)
        from assent.store import postgres  # noqa: PLC0415 - most stores are files

        return postgres.PostgresConnection(self.address.conninfo, notify=self.address.notify)

    def _watch(self) -> Watch:
        if self.address.engine == "sqlite":
            return sqlite.SqliteWatch(self.address.path)
        from assent.store import postgres  # noqa: PLC0415 - most stores are files

        return postgres.PostgresWatch(self.address.conninfo, notify=self.address.notify)

    def _notify_all(self, changes: list[Change]) -> None:
        for topic, ref, value in changes:
            self._notify(topic, ref, value)

    def _notify(self, topic: str, ref: str, value: Any) -> None:
        for subscriber in tuple(self._subscribers):
            try:
                subscriber(topic, ref, value)
            except Exception:  # noqa: BLE001 - other subscribers must still be notified
                _log.exception("a subscriber failed on %s %s", topic, ref)

    def _leave(self) -> None:
        if self._presence is not None:
            self._presence.leave()


class _Outbox:
    """The writes of one event loop. All writes of one loop iteration share a commit.

    A write that takes too long fails: an answer must not wait for a disk that hangs.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, writer: Writer) -> None:
        self._loop = loop
        self._writer = writer
        self._fresh: list[Job[Any]] = []
        self._waiting: deque[tuple[float, Job[Any]]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def put(self, job: Job[Any], seconds: float) -> None:
        """Send a job at the end of this loop iteration; its timeout starts then."""
        self._fresh.append(job)
        if len(self._fresh) == 1:
            self._loop.call_soon(self._send, seconds)

    def _send(self, seconds: float) -> None:
        jobs, self._fresh = self._fresh, []
        try:
            self._writer.put(*jobs)
        except StoreError as error:
            for job in jobs:
                job.fail(error)
                job.deliver()
            return
        end = self._loop.time() + seconds
        self._waiting.extend((end, job) for job in jobs)
        if self._timer is None:
            self._timer = self._loop.call_later(min(seconds, 1.0), self._check_timeouts)

    def _check_timeouts(self) -> None:
        now = self._loop.time()
        waiting = self._waiting
        while waiting and (waiting[0][1].future.done() or waiting[0][0] <= now):
            job = waiting.popleft()[1]
            # After the loop itself was busy, the outcome and the timeout may come at once.
            if not job.future.done() and not job.is_settled:
                job.future.set_exception(StoreError("the store took too long to write; try again"))
        self._timer = None
        if waiting:
            pause = max(0.01, min(waiting[0][0] - now, 1.0))
            self._timer = self._loop.call_later(pause, self._check_timeouts)


def _enter(address: StoreAddress) -> sqlite.Presence | None:
    if address.engine == "postgresql":
        return None
    sqlite.prepare_file(address.path)
    presence = sqlite.Presence(address.path)
    try:
        presence.enter()
    except BaseException:
        presence.leave()
        raise
    return presence


def _prepare(address: StoreAddress) -> Engine:
    """Upgrade the tables, and return the engine for reads."""
    if address.engine == "sqlite":
        writable = create_engine(
            URL.create("sqlite", database=address.path), connect_args={"timeout": 30, "isolation_level": None}
        )
        reading = sqlite.make_engine(address.path)
    else:
        from assent.store import postgres  # noqa: PLC0415 - most stores are files

        writable = create_engine(
            "postgresql+psycopg://", creator=lambda: postgres.connect(address.conninfo, autocommit=False)
        )
        reading = postgres.make_engine(address.conninfo)
    try:
        upgrade(writable, _lock_sqlite if address.engine == "sqlite" else _lock_postgres)
        if address.engine == "sqlite":
            sqlite.add_narrow_index(writable)
    finally:
        writable.dispose()
    return reading


def _lock_sqlite(connection: ReadConnection) -> None:
    connection.exec_driver_sql("PRAGMA journal_mode = WAL")
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _lock_postgres(connection: ReadConnection) -> None:
    connection.exec_driver_sql("SELECT pg_advisory_xact_lock(6008895)")


def _has_old_changes(cursor: Cursor) -> bool:
    return bool(cursor.fetch("SELECT coalesce(max(id) - min(id), 0) FROM changes")[0][0] > 2 * _MOST_CHANGES)


def _clear_old_changes(cursor: Cursor) -> None:
    cursor.execute("DELETE FROM changes WHERE id <= (SELECT max(id) FROM changes) - ?", _MOST_CHANGES)


def _log_fault(future: Future[None]) -> None:
    if not future.cancelled() and (error := future.exception()) is not None:
        _log.warning("looking something up failed: %s", error)


def _first_line(error: BaseException) -> str:
    original = getattr(error, "orig", None) or error
    return (str(original) or type(original).__name__).splitlines()[0]
