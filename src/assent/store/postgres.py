"""PostgreSQL: one writer among all nodes at a time, and NOTIFY as a hint that the tables changed."""

from __future__ import annotations

import contextlib
import functools
import selectors
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, create_engine
from sqlalchemy.pool import QueuePool

from assent.config.extras import explain_missing
from assent.model import StoreError
from assent.store.cursor import Row, refuse_nul

try:
    import psycopg
    from psycopg.pq import TransactionStatus
except ModuleNotFoundError as error:
    raise explain_missing(error, "a PostgreSQL store") from error

if TYPE_CHECKING:
    from assent.store.watcher import StopEvent

Error = psycopg.Error

CHANNEL = "assent"
LOOK_EVERY = 2.0
"""Seconds between two checks for changes by other nodes, with or without a NOTIFY."""
_LOCK = 0x617373656E74
"""The advisory lock that makes one node write at a time, so that positions become visible in order."""
_BEGIN = (
    f"BEGIN; SELECT pg_advisory_xact_lock({_LOCK}); "  # noqa: S608 - a constant
    "SELECT extract(epoch FROM clock_timestamp())::float8"
)
_NO_ENCODING = (
    "this PostgreSQL database has the encoding SQL_ASCII, which does not check text; "
    "create one with `createdb --encoding UTF8 --template template0 NAME`"
)
_OPTIONS = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15000,
    "application_name": "assent",
}
# A node that stops in the middle of a transaction must not hold up the others for good.
_SETTINGS = """
SET synchronous_commit = on;
SET lock_timeout = '5s';
SET statement_timeout = '10s';
SET idle_in_transaction_session_timeout = '10s'
"""


@functools.lru_cache(maxsize=256)
def translate(sql: str) -> str:
    """Turn our placeholders into the driver's."""
    return sql.replace("%", "%%").replace("?", "%s")


def connect(conninfo: str, *, autocommit: bool = True) -> psycopg.Connection[Row]:
    """Connect with our options; refuse a database that does not check its text encoding."""
    connection = psycopg.connect(conninfo, autocommit=autocommit, **_OPTIONS)  # type: ignore[arg-type]
    if connection.info.parameter_status("server_encoding") == "SQL_ASCII":
        connection.close()
        raise StoreError(_NO_ENCODING)
    return connection


def make_engine(conninfo: str) -> Engine:
    """Return the engine for reads; it cannot write."""

    def open_reader() -> psycopg.Connection[Row]:
        connection = connect(conninfo)
        connection.execute("SET default_transaction_read_only = on; SET statement_timeout = '60s'")
        connection.autocommit = False
        return connection

    return create_engine(
        "postgresql+psycopg://", creator=open_reader, poolclass=QueuePool, pool_size=4, pool_pre_ping=True
    )


class PostgresConnection:
    """The writer's connection."""

    def __init__(self, conninfo: str, *, notify: bool) -> None:
        self._notify = notify
        self._raw = connect(conninfo)
        self._now = 0.0
        self._raw.execute(_SETTINGS)
        if self._raw.execute("SHOW fsync").fetchone() == ("off",):
            self._raw.close()
            raise StoreError("this PostgreSQL server runs with fsync off, so commits are not durable; turn fsync on")

    def begin(self) -> None:
        """Begin a transaction as the only writer of all nodes."""
        cursor = self._raw.execute(_BEGIN)
        while cursor.nextset():
            pass
        row = cursor.fetchone()
        self._now = float(row[0]) if row else 0.0

    def commit(self) -> None:
        """Commit it durably, or raise."""
        # A failed transaction answers COMMIT with ROLLBACK, and no error.
        if self._raw.execute("COMMIT").statusmessage != "COMMIT":
            raise StoreError("the transaction was rolled back by the server")

    def rollback(self) -> None:
        """Undo it."""
        if self._raw.info.transaction_status is not TransactionStatus.IDLE:
            self._raw.execute("ROLLBACK")

    def is_whole(self, *, saved: bool) -> bool:
        """Tell whether, after a statement failed, the transaction can go on from its savepoint, or as it is."""
        status = self._raw.info.transaction_status
        return status is TransactionStatus.INTRANS or (saved and status is TransactionStatus.INERROR)

    def fetch(self, sql: str, parameters: Sequence[Any]) -> list[Row]:
        """Return the rows of a query."""
        return self._run(sql, parameters).fetchall()

    def execute(self, sql: str, parameters: Sequence[Any]) -> int:
        """Run a statement and return how many rows it touched."""
        return self._run(sql, parameters or None).rowcount

    def _run(self, sql: str, parameters: Sequence[Any] | None) -> psycopg.Cursor[Row]:
        try:
            return self._raw.execute(translate(sql), parameters)
        except psycopg.DataError as error:
            refuse_nul(error)
            raise

    def insert(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run an insertion for every row."""
        with self._raw.cursor() as cursor:
            cursor.executemany(translate(sql), rows)

    def now(self) -> float:
        """Return the server's time: the nodes' clocks need not agree."""
        if self._raw.info.transaction_status is TransactionStatus.IDLE:
            return float(self.fetch("SELECT extract(epoch FROM clock_timestamp())::float8", ())[0][0])
        return self._now

    def hint(self) -> None:
        """Notify other nodes of a change, at the commit."""
        if self._notify:
            self._raw.execute(f"NOTIFY {CHANNEL}")

    def close(self) -> None:
        """Close it; never raises."""
        with contextlib.suppress(psycopg.Error):
            self._raw.close()


class PostgresWatch:
    """Reports that there may be changes: after a NOTIFY, and every two seconds."""

    def __init__(self, conninfo: str, *, notify: bool) -> None:
        self._raw = connect(conninfo)
        self._notify = notify
        if notify:
            # LISTEN first, read second: a change in between would be missed otherwise.
            self._raw.execute(f"LISTEN {CHANNEL}")
        self._first = True

    def wait(self, stop: StopEvent) -> None:
        """Wait for a hint, for two seconds, or for the end."""
        if self._first:
            self._first = False
            return
        if not self._notify:
            stop.wait(LOOK_EVERY)
            return
        if not self._take_hints():
            with selectors.DefaultSelector() as selector:
                selector.register(self._raw.fileno(), selectors.EVENT_READ)
                selector.register(stop.fileno(), selectors.EVENT_READ)
                selector.select(LOOK_EVERY)
            self._take_hints()

    def _take_hints(self) -> bool:
        """Consume the hints; tell whether there were any."""
        return bool(list(self._raw.notifies(timeout=0)))

    def fetch(self, sql: str, parameters: Sequence[Any]) -> list[Row]:
        """Return the rows of a query."""
        return self._raw.execute(translate(sql), parameters).fetchall()

    def close(self) -> None:
        """Close it."""
        self._raw.close()
