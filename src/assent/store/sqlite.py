"""SQLite: one file in a private folder, written in WAL mode with every commit synced to the disk."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH110, PTH112, PTH116, PTH120, PTH202

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import itertools
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL

from assent.model import StoreError
from assent.platform.files import check_owner, make_private_folder
from assent.store.cursor import Row

BUSY_SECONDS = 5.0
LOOK_EVERY = 0.1
"""Seconds between two checks for changes by other processes."""
_SETTINGS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
    # Overwrite deleted rows, such as the input of an answered call.
    "PRAGMA secure_delete = ON",
)


def prepare_file(path: str) -> None:
    """Make sure that the file exists and that nobody but its owner can change it."""
    folder = os.path.dirname(path)
    try:
        if not os.path.isdir(folder):
            make_private_folder(folder)
        owners = tuple(dict.fromkeys((os.geteuid(), 0)))
        check_owner(folder, os.stat(folder), owners, suggestion="make its mode 0700")
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        reason = "it is a symbolic link" if error.errno == errno.ELOOP else error.strerror
        raise StoreError(f"the store `{path}` cannot be opened: {reason}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise StoreError(f"the store `{path}` is not a regular file")
        check_owner(path, status, owners, suggestion="make its mode 0600")
        if status.st_mode & 0o077:
            os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


class Presence:
    """A lock file that shows whether a process has the store open: the first one after a crash checks the file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor = os.open(f"{path}-lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)

    def enter(self) -> None:
        """Take the shared lock; if the last process did not close the store, check the file first."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(self._descriptor, fcntl.LOCK_SH)
            return
        if os.path.exists(f"{self._path}-wal") and os.path.getsize(f"{self._path}-wal"):
            check_integrity(self._path)
        fcntl.flock(self._descriptor, fcntl.LOCK_SH)

    def leave(self) -> None:
        """Release the lock."""
        os.close(self._descriptor)


def check_integrity(path: str) -> None:
    """Have SQLite read the whole file; raise `StoreError` if it is damaged."""
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as connection:
            (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    except sqlite3.Error as error:
        found = str(error)
    if found != "ok":
        raise StoreError(f"the store `{path}` is damaged: {found}; restore it from a backup")


def add_narrow_index(engine: Engine) -> None:
    """Add an index with the columns that the log is searched by, without the large bodies, in the order of writing.

    It is no migration, because every version works without it. PostgreSQL stores large bodies apart by itself.
    """
    with engine.connect() as connection:
        connection.exec_driver_sql(_NARROW)


def make_engine(path: str) -> Engine:
    """Return the engine for reads; it cannot write."""
    engine = create_engine(URL.create("sqlite", database=path), connect_args={"timeout": BUSY_SECONDS}, pool_size=4)
    event.listen(engine, "connect", lambda raw, _: raw.execute("PRAGMA query_only = ON").close())
    return engine


def connect(path: str) -> sqlite3.Connection:
    """Open an existing file: a deleted one must not come back empty."""
    name = f"file:{quote(path)}?mode=rw"
    return sqlite3.connect(
        name, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=256
    )


NARROW = "events_narrow"
_NARROW = (
    f"CREATE INDEX IF NOT EXISTS {NARROW} ON events (position, at, type, session_id, user_id, agent_id, tool, tier, "
    "verdict, source, approval, text)"
)


class SqliteConnection:
    """The writer's connection."""

    def __init__(self, path: str, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._raw = connect(path)
        try:
            for setting in _SETTINGS:
                self._raw.execute(setting).close()
            self._file = _identity(path)
        except (sqlite3.Error, OSError):
            self._raw.close()
            raise

    def begin(self) -> None:
        """Begin a transaction as the only writer."""
        # Writes to a file that was deleted or replaced would be lost.
        if _identity(self._path) != self._file:
            raise StoreError(f"the store `{self._path}` was replaced while it was open; restart the daemon")
        self._raw.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Commit it durably, or raise."""
        self._raw.execute("COMMIT")

    def rollback(self) -> None:
        """Undo it."""
        if self._raw.in_transaction:
            self._raw.execute("ROLLBACK")

    def is_whole(self, *, saved: bool) -> bool:  # noqa: ARG002 - only PostgreSQL needs it
        """Tell whether the transaction is still open after a failed statement."""
        return self._raw.in_transaction

    def fetch(self, sql: str, parameters: Sequence[Any]) -> list[Row]:
        """Return the rows of a query."""
        return self._raw.execute(sql, parameters).fetchall()

    def execute(self, sql: str, parameters: Sequence[Any]) -> int:
        """Run a statement and return how many rows it touched."""
        return self._raw.execute(sql, parameters).rowcount

    def insert(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Insert all rows, many in one statement, which holds the GIL fewer times."""
        start = 0
        for size in _ROWS_AT_ONCE:
            while len(rows) - start >= size:
                self._raw.execute(_for_many(sql, size), [*itertools.chain(*rows[start : start + size])])
                start += size

    def now(self) -> float:
        """Return this machine's time, which all processes that share the file have."""
        return self._clock()

    def hint(self) -> None:
        """Do nothing: other processes poll."""

    def close(self) -> None:
        """Close it; never raises."""
        with contextlib.suppress(sqlite3.Error):
            self._raw.close()


_ROWS_AT_ONCE = (32, 16, 4, 1)
"""Rows in one statement; an old SQLite accepts fewer than a thousand values."""


@functools.lru_cache(maxsize=64)
def _for_many(sql: str, count: int) -> str:
    """Write an insertion of one row as one of several."""
    head, values, row = sql.rpartition("VALUES ")
    return f"{head}{values}{', '.join([row] * count)}"


def _identity(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_dev, status.st_ino


class SqliteWatch:
    """Reports changes of the file by any connection."""

    def __init__(self, path: str) -> None:
        self._raw = connect(path)
        self._version = -1

    def wait(self, stop: threading.Event) -> None:
        """Wait for the next change, or for the end."""
        while not stop.wait(LOOK_EVERY):
            (version,) = self._raw.execute("PRAGMA data_version").fetchone()
            if version != self._version:
                self._version = version
                return

    def fetch(self, sql: str, parameters: Sequence[Any]) -> list[Row]:
        """Return the rows of a query."""
        return self._raw.execute(sql, parameters).fetchall()

    def close(self) -> None:
        """Close it."""
        self._raw.close()
