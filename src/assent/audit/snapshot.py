"""One state of a log's tables, read row by row in constant memory while others go on writing."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH110

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

from assent.model import StoreError
from assent.store.address import Address
from assent.store.cursor import Row, faults

_PAGE = 500


class Snapshot:
    """Everything read through it belongs to one moment."""

    def __init__(self, cursor: Callable[[str], Any], translate: Callable[[str], str]) -> None:
        self._cursor = cursor
        self._translate = translate

    def fetch(self, sql: str, *parameters: Any) -> list[Row]:
        """Return all rows of a small query."""
        with contextlib.closing(self._cursor("")) as cursor:
            return list(cursor.execute(self._translate(sql), parameters).fetchall())

    def pages(self, name: str, sql: str, *parameters: Any) -> Iterator[list[Row]]:
        """Go through the rows of a large query, some hundred at a time; `name` tells it from others under way."""
        with contextlib.closing(self._cursor(name)) as cursor:
            cursor.execute(self._translate(sql), parameters)
            while rows := cursor.fetchmany(_PAGE):
                yield rows


@contextlib.contextmanager
def open_snapshot(address: Address) -> Iterator[Snapshot]:
    """Open a log for reading, or raise `StoreError`. It need not be one that can be written to."""
    try:
        with _open_file(address.path) if address.engine == "sqlite" else _open_server(address.conninfo) as snapshot:
            yield snapshot
    except faults() as error:
        raise StoreError(f"the log in {address.shown} can not be read: {str(error).strip()}") from error


@contextlib.contextmanager
def _open_server(conninfo: str) -> Iterator[Snapshot]:
    from assent.store import postgres  # noqa: PLC0415 - most logs are files

    with contextlib.closing(postgres.connect(conninfo)) as server:
        server.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield Snapshot(lambda name: server.cursor(name) if name else server.cursor(), postgres.translate)


@contextlib.contextmanager
def _open_file(path: str) -> Iterator[Snapshot]:
    with contextlib.closing(_connect(path)) as connection:
        yield Snapshot(lambda _name: connection.cursor(), str)


def _connect(path: str) -> sqlite3.Connection:
    if not os.path.exists(path):
        raise StoreError(f"there is no log in `{path}`")
    try:
        return _begin(sqlite3.connect(path, timeout=5, isolation_level=None))
    except sqlite3.OperationalError:
        # A copy on a disk that can not be written to has nobody who changes it.
        name = f"file:{quote(path)}?immutable=1"
        return _begin(sqlite3.connect(name, uri=True, timeout=5, isolation_level=None))


def _begin(connection: sqlite3.Connection) -> sqlite3.Connection:
    try:
        connection.execute("PRAGMA query_only = ON")
        connection.execute(f"PRAGMA mmap_size = {1 << 40}")
        connection.execute("BEGIN")
        # The moment is that of the first read, not that of BEGIN.
        connection.execute("SELECT count(*) FROM heads").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection
