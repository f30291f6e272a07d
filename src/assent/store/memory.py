"""A store in memory for one process: the same tables, written at once in the caller's thread."""

from __future__ import annotations

import contextlib
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from sqlalchemy import Executable, StaticPool, create_engine, text
from sqlalchemy.exc import SQLAlchemyError

from assent.model import StoreError
from assent.store.address import StoreAddress
from assent.store.cursor import Cursor, Row
from assent.store.schema import metadata
from assent.store.sqlite import SqliteConnection
from assent.store.store import Clock, Store
from assent.store.writer import Figures, Tick, Work

T = TypeVar("T")


class MemoryStore(Store):
    """A `Store` without durability. A lock takes the place of the writer thread."""

    def __init__(self, *, clock: Clock = time.time) -> None:
        self.address = StoreAddress(engine="sqlite", path=":memory:")
        self.origin = secrets.token_hex(8)
        self._clock = clock
        self._closed = False
        self._subscribers = []
        self._figures = Figures()
        self._lock = threading.RLock()
        self._raw = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, cached_statements=256)
        self._engine = create_engine("sqlite://", creator=lambda: self._raw, poolclass=StaticPool)
        metadata.create_all(self._engine)
        self._connection = _MemoryConnection(self._raw, clock, self.catch_up)
        self._postponed: list[Work[None]] = []
        self._ticks: list[Tick] = []
        self._wake = threading.Event()
        self._ticker: threading.Thread | None = None

    @property
    def figures(self) -> Figures:
        """Return what was written so far."""
        return self._figures

    @property
    def queued(self) -> int:
        """Return 0: writes never wait."""
        return 0

    @property
    def is_up(self) -> bool:
        """Tell whether it is open."""
        return not self._closed

    def write(self, work: Work[T]) -> Future[T]:
        """Run work now; the returned future is done."""
        done: Future[T] = Future()
        try:
            done.set_result(self._do(work))
        except Exception as error:  # noqa: BLE001 - it goes to whoever wants the result
            done.set_exception(error)
        return done

    async def commit(self, work: Work[T]) -> T:
        """Run work now, and return its result or raise."""
        return self._do(work)

    def read(self, statement: Executable | str, parameters: dict[str, Any] | None = None) -> Future[list[Row]]:
        """Run a query at once."""
        done: Future[list[Row]] = Future()
        try:
            done.set_result(self.fetch(statement, parameters))
        except StoreError as error:
            done.set_exception(error)
        return done

    def fetch(self, statement: Executable | str, parameters: dict[str, Any] | None = None) -> list[Row]:
        """Run a query in this thread."""
        query = text(statement) if isinstance(statement, str) else statement
        try:
            with self.reader() as connection:
                return [tuple(row) for row in connection.execute(query, parameters or {})]
        except SQLAlchemyError as error:
            raise StoreError(f"the store cannot be read: {error}") from error

    async def query(self, statement: Executable | str, parameters: dict[str, Any] | None = None) -> list[Row]:
        """Run a query at once."""
        return self.fetch(statement, parameters)

    def call(self, action: Callable[[], None]) -> None:
        """Run a function that reads."""
        if not self._closed:
            action()

    @contextlib.contextmanager
    def reader(self) -> Any:
        """Lend the connection."""
        with self._lock:
            self.catch_up()
            with self._engine.connect() as connection:
                yield connection

    def every(self, seconds: float, needed: Callable[[Cursor], bool], work: Work[Any]) -> None:
        """Run work at this interval, whenever `needed` returns true."""
        with self._lock:
            self._ticks.append(Tick(seconds, needed, work, time.monotonic() + seconds))
            if self._ticker is None:
                self._ticker = threading.Thread(target=self._tick, name="assent-ticker", daemon=True)
                self._ticker.start()
        self._wake.set()

    def postpone(self, work: Work[None]) -> bool:
        """Run work before each read of the tables: nobody else can read them."""
        self._postponed.append(work)
        return True

    def catch_up(self) -> None:
        """Run postponed work."""
        with self._lock:
            for work in self._postponed:
                self._transact(_MemoryConnection(self._raw, self._clock), work)

    def close(self) -> None:
        """Close the store, which deletes its content."""
        self._closed = True
        self._wake.set()
        if self._ticker is not None:
            self._ticker.join()
        with self._lock:
            self._engine.dispose()
            self._raw.close()

    def _do(self, work: Work[T]) -> T:
        with self._lock:
            if self._closed:
                raise StoreError("the store is closed")
            result, cursor = self._transact(self._connection, work)
            self._figures.jobs += 1
            self._figures.batches += 1
        if cursor.changes:
            self._notify_all(cursor.changes)
        return result

    def _transact(self, connection: _MemoryConnection, work: Work[T]) -> tuple[T, Cursor]:
        cursor = Cursor(connection, connection.now())
        connection.begin()
        try:
            result = work(cursor)
            cursor.finish(self.origin)
            connection.commit()
        except BaseException as error:
            self._figures.failures += 1
            connection.rollback()
            if isinstance(error, sqlite3.Error):
                raise StoreError(f"the store cannot be written: {error}") from error
            raise
        # Before the next transaction begins, as in the writer thread.
        cursor.run_later()
        return result, cursor

    def _tick(self) -> None:
        while not self._closed:
            pause = min((t.due for t in self._ticks), default=0.0) - time.monotonic()
            self._wake.wait(max(0.01, pause))
            self._wake.clear()
            for tick in tuple(self._ticks):
                if tick.due <= time.monotonic():
                    tick.due = time.monotonic() + tick.seconds
                    self._do_tick(tick)

    def _do_tick(self, tick: Tick) -> None:
        with self._lock:
            needed = not self._closed and tick.needed(Cursor(self._connection, self._connection.now()))
        if needed:
            self.write(tick.work)


class _MemoryConnection(SqliteConnection):
    """A connection to memory. A transaction begins with its first statement."""

    def __init__(self, raw: sqlite3.Connection, clock: Clock, catch_up: Callable[[], None] = lambda: None) -> None:
        self._raw = raw
        self._clock = clock
        self._catch_up = catch_up
        """Runs postponed work before a read."""
        self._running = False

    def begin(self) -> None:
        """Begin a transaction."""
        self._running = True

    def commit(self) -> None:
        """Commit it."""
        self._running = False
        if self._raw.in_transaction:
            super().commit()

    def rollback(self) -> None:
        """Undo it."""
        self._running = False
        super().rollback()

    def fetch(self, sql: str, parameters: Sequence[Any]) -> list[Row]:
        """Return the rows of a query."""
        self._enter()
        return super().fetch(sql, parameters)

    def execute(self, sql: str, parameters: Sequence[Any]) -> int:
        """Run a statement and return how many rows it touched."""
        self._enter()
        return super().execute(sql, parameters)

    def insert(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run an insertion for every row."""
        self._enter()
        super().insert(sql, rows)

    def _enter(self) -> None:
        if not self._raw.in_transaction:
            self._catch_up()
            if self._running:
                self._raw.execute("BEGIN")
