"""What a job of the writer has in hand: SQL in the running transaction, and what is to be done at its end."""

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
        """Make it last, or raise."""

    def rollback(self) -> None:
        """Undo it."""

    def is_whole(self, *, saved: bool) -> bool:
        """Tell whether, after a statement failed, the transaction can go on from its savepoint, or as it is."""

    def fetch(self, sql: str, parameters: Sequence[Any]) -> list[Row]:
        """Return the rows of a query."""

    def execute(self, sql: str, parameters: Sequence[Any]) -> int:
        """Run a statement and return how many rows it touched."""

    def insert(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run an insertion for every row."""

    def now(self) -> float:
        """Return the store's time: the database's where several nodes share one."""

    def hint(self) -> None:
        """Tell other nodes, at the commit, that something changed."""

    def close(self) -> None:
        """Close it; never raises."""


class Finisher(Protocol):
    """Takes all items that the jobs of one transaction left for it, just before the commit."""

    def finish(self, cursor: Cursor, items: list[Any]) -> None:
        """Write what is left to write."""


Change: TypeAlias = tuple[str, str, Any]
"""Topic, id, and for subscribers in this process what it has become."""


class Cursor:
    """The running transaction, as one job after the other sees it. A job that fails leaves nothing behind."""

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
        """Leave an item for the end of the transaction, where all are written at once."""
        self._items.append((finisher, item))

    def announce(self, topic: str, ref: str, value: Any = None) -> None:
        """Tell everyone, once it lasts, that something changed."""
        self.changes.append((topic, ref, value))

    def after_commit(self, action: Callable[[], None]) -> None:
        """Do something once everything lasts."""
        self._later.append(action)

    def start_job(self) -> None:
        """Remember where a job begins."""
        self._saved = False
        self._marks = (len(self._items), len(self._later), len(self.changes))

    def end_job(self) -> None:
        """Keep what the job did."""
        if self._saved:
            self._connection.execute("RELEASE SAVEPOINT job", ())

    def undo_job(self) -> bool:
        """Forget what the job did; false if the whole transaction went with it."""
        items, later, changes = self._marks
        del self._items[items:], self._later[later:], self.changes[changes:]
        if not self._connection.is_whole(saved=self._saved):
            return False
        if self._saved:
            self._connection.execute("ROLLBACK TO SAVEPOINT job", ())
            self._connection.execute("RELEASE SAVEPOINT job", ())
        return True

    def finish(self, origin: str) -> None:
        """Write what was deferred, and the changes for other processes."""
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
        """Do what waited for the commit."""
        for action in self._later:
            try:
                action()
            except Exception:  # noqa: BLE001 - what lasts must not look as if it failed
                _log.exception("something that waited for a commit failed")

    def _save(self) -> None:
        # Most jobs only leave an event for the end: they need no savepoint.
        if not self._saved:
            self._connection.execute("SAVEPOINT job", ())
            self._saved = True


def faults() -> tuple[type[Exception], ...]:
    """Return what a driver that is loaded may raise: whoever has a file need not wait for a server's to load."""
    driver = sys.modules.get("psycopg")
    return (sqlite3.Error,) if driver is None else (sqlite3.Error, driver.Error)


def refuse_nul(error: Exception) -> None:
    """Raise `AssentError` if a server could not be given a text because of a NUL in it: the store is all right."""
    if "NUL (0x00)" in str(error):
        raise AssentError("a name holds a NUL character") from None
