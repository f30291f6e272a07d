"""Looking into the log: by what is written in its columns, page by page, the newest first or as it was written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from sqlalchemy import Column, Select, UnaryExpression, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ColumnElement

from assent.audit.chain import COLUMNS
from assent.audit.entry import format_time, read_event
from assent.audit.snapshot import Snapshot
from assent.model import AssentError, Event
from assent.store.cursor import Row
from assent.store.schema import events
from assent.store.store import Store

MOST_ROWS = 1000
_FIELDS = tuple(events.c[name] for name in (*COLUMNS, "hash"))
_ALL = f"SELECT {', '.join(COLUMNS)}, hash FROM events WHERE position > ? ORDER BY position"  # noqa: S608 - constants


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """What to look for. What is not said does not matter; all that is said must hold."""

    type: str | None = None
    session: str | None = None
    user: str | None = None
    agent: str | None = None
    tool: str | None = None
    tier: str | None = None
    verdict: str | None = None
    source: str | None = None
    digest: str | None = None
    approval: str | None = None
    text: str | None = None
    """Somewhere in the summary or the reason, in upper or lower case."""
    since: float | None = None
    until: float | None = None


class RecordColumns(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of one log record, without its body."""

    position: int
    writer: str
    seq: int
    at: float
    type: str
    session: str
    user: str
    agent: str
    tool: str
    tier: str
    verdict: str
    source: str
    digest: str
    approval: str | None
    text: str


class Record(RecordColumns, frozen=True, kw_only=True):
    """One record of the log."""

    body: msgspec.Raw
    hash: str

    @property
    def time(self) -> str:
        """Return when it was written, for people."""
        return format_time(self.at)

    @property
    def event(self) -> Event:
        """Return the whole event."""
        return read_event(self.position, self.writer, self.seq, self.at, bytes(self.body))


class _Holds(ColumnElement[bool]):
    """That the text of a record has something in it, in upper or lower case."""

    inherit_cache = False

    def __init__(self, wanted: str) -> None:
        self.wanted = wanted


@compiles(_Holds)
def _compile_holds(element: _Holds, compiler: SQLCompiler, **given: Any) -> str:
    return compiler.process(events.c.text.icontains(element.wanted, autoescape=True), **given)


@compiles(_Holds, "sqlite")
def _compile_holds_in_sqlite(element: _Holds, compiler: SQLCompiler, **given: Any) -> str:
    # Here LIKE knows no case: folding each text of a long log first would take twice as long.
    return compiler.process(events.c.text.contains(element.wanted, autoescape=True), **given)


class Page(msgspec.Struct, frozen=True):
    """Some records, and where the next ones begin (None: there are no more)."""

    records: tuple[Record, ...]
    cursor: str | None


async def search(store: Store, query: Query, *, limit: int = 100, cursor: str | None = None) -> Page:
    """Return a page of what is found, the newest first."""
    before = read_cursor(cursor)
    limit = max(1, min(limit, MOST_ROWS))
    return make_page(await store.query(find(query, before=before, limit=limit + 1)), limit)


def find(query: Query, *, before: int | None = None, after: int | None = None, limit: int = 100) -> Select[Any]:
    """Return the statement that finds records: backwards from a position, or if `after` is said forwards."""
    columns = {"session": events.c.session_id, "user": events.c.user_id, "agent": events.c.agent_id}
    # The narrow columns are looked through first: what is found is fetched whole, and nothing else.
    statement = select(events.c.position).limit(limit)
    for name in ("type", "session", "user", "agent", "tool", "tier", "verdict", "source", "digest", "approval"):
        wanted = getattr(query, name)
        if wanted is not None:
            statement = statement.where(columns.get(name, events.c.get(name)) == wanted)
    if query.text is not None:
        statement = statement.where(_Holds(query.text))
    if query.since is not None:
        statement = statement.where(events.c.at >= query.since)
    if query.until is not None:
        statement = statement.where(events.c.at < query.until)
    if after is not None:
        return _fetch(statement.where(events.c.position > after), events.c.position)
    if before is not None:
        statement = statement.where(events.c.position < before)
    return _fetch(statement, events.c.position.desc())


def _fetch(found: Select[Any], order: UnaryExpression[Any] | Column[Any]) -> Select[Any]:
    return select(*_FIELDS).where(events.c.position.in_(found.order_by(order))).order_by(order)


def make_page(rows: list[Row], limit: int) -> Page:
    """Make a page of rows, of which one more than asked for tells that there are more."""
    records = tuple(map(read_record, rows[:limit]))
    return Page(records, str(records[-1].position) if len(rows) > limit else None)


def read_cursor(cursor: str | None) -> int | None:
    """Read where a page begins, or raise `AssentError`."""
    if cursor is None:
        return None
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 18:
        raise AssentError("this cursor is not one that was given out")
    return int(cursor)


def read_record(row: Row) -> Record:
    """Return the record in a row."""
    *columns, body, seal = row
    names = ("position", "writer", "seq", "at", "type", "session", "user", "agent", "tool", "tier", "verdict")
    values = dict(zip((*names, "source", "digest", "approval", "text"), columns, strict=True))
    return Record(**values, body=msgspec.Raw(bytes(body)), hash=bytes(seal).hex())


def export(snapshot: Snapshot, *, after: int = 0) -> Iterator[bytes]:
    """Go through the whole log, one JSON object a line, with everything that its hashes are over."""
    for rows in snapshot.pages("export", _ALL, after):
        for row in rows:
            yield msgspec.json.encode(read_record(row)) + b"\n"
