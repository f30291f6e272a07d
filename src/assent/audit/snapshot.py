"""One state of a log's tables, read row by row in constant memory while others go on writing."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH110

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Protocol
from urllib.parse import quote

from assent.model import StoreError
from assent.store.address import StoreAddress
from assent.store.cursor import Row, faults

_PAGE = 128
_FILE_NUMBERS = "SELECT count(*) FROM pragma_table_info('checkpoints') WHERE name = 'number'"
_SERVER_NUMBERS = (
    "SELECT count(*) FROM pg_attribute WHERE attrelid = 'checkpoints'::regclass AND attname = 'number' AND attnum > 0"
)
LOCKED_SECONDS = 5.0
"""How long to wait for a file that somebody keeps locked."""


class Snapshot(Protocol):
    """Everything read through it belongs to one moment."""

    def fetch(self, sql: str, *parameters: Any) -> list[Row]:
        """Return all rows of a small query."""

    def counts_seals(self) -> bool:
        """Tell whether its tables are of a version that numbers seals."""

    def pages(self, name: str, sql: str, *parameters: Any) -> Iterator[list[Row]]:
        """Go through the rows of a large query, a hundred or so at a time; `name` tells it from others under way."""


class _Server:
    def __init__(self, connection: Any, translate: Callable[[str], str]) -> None:
        self._connection = connection
        self._translate = translate

    def fetch(self, sql: str, *parameters: Any) -> list[Row]:
        return list(self._connection.execute(self._translate(sql), parameters).fetchall())

    def counts_seals(self) -> bool:
        return bool(self.fetch(_SERVER_NUMBERS)[0][0])

    def pages(self, name: str, sql: str, *parameters: Any) -> Iterator[list[Row]]:
        with self._connection.cursor(name) as cursor:
            cursor.execute(self._translate(sql), parameters)
            while rows := cursor.fetchmany(_PAGE):
                yield rows


class _File:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def fetch(self, sql: str, *parameters: Any) -> list[Row]:
        return self._connection.execute(sql, parameters).fetchall()

    def counts_seals(self) -> bool:
        return bool(self.fetch(_FILE_NUMBERS)[0][0])

    def pages(self, name: str, sql: str, *parameters: Any) -> Iterator[list[Row]]:
        # To be called with a row is half the work of fetching it: most of that is a lock for every column.
        taker = _Taker()
        with contextlib.closing(self._connection.execute(f"{sql} LIMIT 0", parameters)) as cursor:
            columns = [column[0] for column in cursor.description]
            self._connection.create_function(f"take_{name}", len(columns), taker.take)
            query = f"SELECT 1 FROM ({sql}) WHERE take_{name}({', '.join(columns)})"  # noqa: S608 - constants
            try:
                for _ in cursor.execute(query, parameters):
                    yield taker.pages.popleft()
            except sqlite3.OperationalError as error:
                if "user-defined function" not in str(error):
                    raise
                # SQLite keeps to itself what stopped a function: text that is none, or a person.
                self.fetch(f"{sql} LIMIT 1 OFFSET ?", *parameters, taker.taken + len(taker.page))
                raise KeyboardInterrupt from None
        if taker.page:
            yield taker.page


class _Taker:
    """Gathers pages. The driver looks one ahead, so that there may be two of them."""

    def __init__(self) -> None:
        self.page: list[Row] = []
        self.pages: deque[list[Row]] = deque()
        self.taken = 0

    def take(self, *row: Any) -> bool:
        """Take a row, and say whether a page is full."""
        self.page.append(row)
        if len(self.page) < _PAGE:
            return False
        self.pages.append(self.page)
        self.taken += _PAGE
        self.page = []
        return True


@contextlib.contextmanager
def open_snapshot(address: StoreAddress) -> Iterator[Snapshot]:
    """Open a log for reading, or raise `StoreError`. It need not be one that can be written to."""
    try:
        with _open_file(address.path) if address.engine == "sqlite" else _open_server(address.conninfo) as snapshot:
            yield snapshot
    except faults() as error:
        raise StoreError(f"the log in {address.shown} cannot be read: {str(error).strip()}") from error


@contextlib.contextmanager
def _open_server(conninfo: str) -> Iterator[Snapshot]:
    from assent.store import postgres  # noqa: PLC0415 - most logs are files

    with contextlib.closing(postgres.connect(conninfo)) as server:
        server.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield _Server(server, postgres.translate)


@contextlib.contextmanager
def _open_file(path: str) -> Iterator[Snapshot]:
    with contextlib.closing(_connect(path)) as connection:
        yield _File(connection)


def _connect(path: str) -> sqlite3.Connection:
    if not os.path.exists(path):
        raise StoreError(f"there is no log in `{path}`")
    try:
        return _begin(sqlite3.connect(path, timeout=LOCKED_SECONDS, isolation_level=None))
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            raise
        # A copy on a disk that cannot be written to has nobody who changes it.
        name = f"file:{quote(path)}?immutable=1"
        return _begin(sqlite3.connect(name, uri=True, timeout=LOCKED_SECONDS, isolation_level=None))


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
