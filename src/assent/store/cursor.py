"""The cursor of a write job: SQL in the running transaction, and actions for its end."""

from __future__ import annotations

import logging
import sqlite3
import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from assent.model import AssentError

_log = logging.getLogger(__name__)

Row: TypeAlias = tuple[Any, ...]


class Connection(Protocol):
    """One connection of a driver, with `?` as the placeholder on either engine."""

    def begin(self) -> None:
        """Begin a transaction as the only writer."""

    def commit(self) -> None:
        """Commit it durably, or raise."""

    def rollback(self) -> None:
        """Undo it."""

    def is_whole(self, *, saved: bool) -> bool:
        """Tell whether the transaction can continue after a failed statement, from its savepoint or as it is."""

    def fetch(self, sql: str, parameters: Sequence[Any]) -> list[Row]:
        """Return the rows of a query."""

    def execute(self, sql: str, parameters: Sequence[Any]) -> int:
        """Run a statement and return how many rows it touched."""

    def insert(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run an insertion for every row."""

    def now(self) -> float:
        """Return the store's time: the database server's if several nodes share it."""

    def hint(self) -> None:
        """Notify other nodes of a change, at the commit."""

    def close(self) -> None:
        """Close it; never raises."""


class Finisher(Protocol):
    """Receives all items that the jobs of one transaction deferred, just before the commit."""

    def finish(self, cursor: Cursor, items: list[Any]) -> None:
        """Write the items."""


Change: TypeAlias = tuple[str, str, Any]
"""Topic, id, and for subscribers in this process the new value."""


class Cursor:
    """The running transaction, used by one job after the other. A failed job is rolled back alone."""

    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self.now = now
        """The store's time at the start of the transaction."""
        self._items: list[tuple[Finisher, Any]] = []
        self._later: list[Callable[[], None]] = []
        self.changes: list[Change] = []
        self._saved = False
        self._marks = (0, 0, 0)

    def fetch(self, sql: str, *parameters: Any) -> list[Row]:
        """Return the rows of a query."""
        return self._connection.fetch(sql, parameters)

    def execute(self, sql: str, *parameters: Any) -> int:
        """Run a statement and return how many rows it touched."""
        self._save()
        return self._connection.execute(sql, parameters)

    def insert(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run an insertion for every row."""
        self._save()
        self._connection.insert(sql, rows)

    def defer(self, finisher: Finisher, item: Any) -> None:
        """Give an item to a finisher, which writes all items at the end of the transaction."""
        self._items.append((finisher, item))

    def announce(self, topic: str, ref: str, value: Any = None) -> None:
        """Notify subscribers of a change after the commit."""
        self.changes.append((topic, ref, value))

    def after_commit(self, action: Callable[[], None]) -> None:
        """Run an action after the commit."""
        self._later.append(action)

    def start_job(self) -> None:
        """Mark the begin of a job."""
        self._saved = False
        self._marks = (len(self._items), len(self._later), len(self.changes))

    def end_job(self) -> None:
        """Release the savepoint of a job that succeeded."""
        if self._saved:
            self._connection.execute("RELEASE SAVEPOINT job", ())

    def undo_job(self) -> bool:
        """Roll back a failed job; False if the whole transaction is lost with it."""
        items, later, changes = self._marks
        del self._items[items:], self._later[later:], self.changes[changes:]
        if not self._connection.is_whole(saved=self._saved):
            return False
        if self._saved:
            self._connection.execute("ROLLBACK TO SAVEPOINT job", ())
            self._connection.execute("RELEASE SAVEPOINT job", ())
        return True

    def finish(self, origin: str) -> None:
        """Write deferred items, and the changes for other processes."""
        self._saved = True  # what fails from here on fails the whole transaction
        by_finisher: dict[int, tuple[Finisher, list[Any]]] = {}
        for finisher, item in self._items:
            by_finisher.setdefault(id(finisher), (finisher, []))[1].append(item)
        for finisher, items in by_finisher.values():
            finisher.finish(self, items)
        if self.changes:
            rows = [(origin, topic, ref) for topic, ref, _ in self.changes]
            self._connection.insert("INSERT INTO changes (origin, topic, ref) VALUES (?, ?, ?)", rows)
            self._connection.hint()

    def run_later(self) -> None:
        """Run the actions that waited for the commit."""
        for action in self._later:
            try:
                action()
            except Exception:  # noqa: BLE001 - the commit succeeded and must not look failed
                _log.exception("an action after a commit failed")

    def _save(self) -> None:
        # Most jobs only defer an event, and need no savepoint.
        if not self._saved:
            self._connection.execute("SAVEPOINT job", ())
            self._saved = True


def faults() -> tuple[type[Exception], ...]:
    """Return the errors of the loaded drivers; psycopg is not imported for a SQLite store."""
    driver = sys.modules.get("psycopg")
    return (sqlite3.Error,) if driver is None else (sqlite3.Error, driver.Error)


def refuse_nul(error: Exception) -> None:
    """Raise `AssentError` if PostgreSQL refused a text with a NUL: that is no fault of the store."""
    if "NUL (0x00)" in str(error):
        raise AssentError("a name contains a NUL character; remove it") from None
