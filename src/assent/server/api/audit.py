"""`/api/audit`: search the log, show one record with its place in the chain, export the log.

A user sees the events of their own agents, an admin sees every event.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

import msgspec

from assent.audit.chain import genesis, hash_row
from assent.audit.search import Query, find, read_record
from assent.audit.search import search as search_log
from assent.model import encode
from assent.model.principal import Role
from assent.server.http.messages import Request, Stream, read_int, reply
from assent.wire.audit import EventPage, Link, Place
from assent.wire.refusal import Refusal
from assent.wire.timestamps import millis

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.server.daemon import Daemon

_EXPORTED = 200
_NOTHING = msgspec.Raw(b"null")
_BEFORE = "SELECT hash FROM events WHERE writer = :writer AND position < :position ORDER BY position DESC LIMIT 1"
_SEAL = "SELECT seq, at FROM checkpoints WHERE writer = :writer AND seq >= :seq ORDER BY seq LIMIT 1"
FILTERS = ("type", "session", "user", "agent", "tool", "tier", "verdict", "source", "digest", "approval", "text")


async def search(daemon: Daemon, request: Request) -> Response:
    """Search the log."""
    given = request.query
    limit = read_int(given, "limit", 100, low=1, high=1000)
    page = await search_log(daemon.store, _read_query(request), limit=limit, cursor=given.get("cursor") or None)
    records = page.records
    if given.get("brief") == "true":
        records = tuple(msgspec.structs.replace(record, body=_NOTHING) for record in records)
    return reply(EventPage(records, page.cursor))


async def show_record(daemon: Daemon, request: Request) -> Response:
    """Show one record, and whether it follows from the one before it."""
    position = read_int(request.path_params, "position", 0, low=1, high=2**53)
    rows = await daemon.store.query(find(Query(user=_only(request)), after=position - 1, limit=1))
    record = read_record(rows[0]) if rows else None
    if record is None or record.position != position:
        raise Refusal(404, "Not found")
    before = await daemon.store.query(_BEFORE, {"writer": record.writer, "position": position})
    seals = await daemon.store.query(_SEAL, {"writer": record.writer, "seq": record.seq})
    head = bytes(before[0][0]) if before else genesis(record.writer)
    *columns, seal = rows[0]
    link = Link(
        previous=head.hex(),
        holds=hash_row(head, tuple(columns)) == bytes(seal),
        sealed_at=millis(seals[0][1]) if seals else None,
        sealed_by=seals[0][0] if seals else None,
    )
    return reply(Place(record, link))


async def export(daemon: Daemon, request: Request) -> Stream:
    """Send every record that matches, in the order of the log, one JSON object per line."""
    name = b"attachment; filename=assent-log.jsonl"
    pieces = _export(daemon, _read_query(request))
    return Stream(pieces, "application/x-ndjson", ((b"content-disposition", name),), alive=b"\n")


async def _export(daemon: Daemon, query: Query) -> AsyncGenerator[bytes]:
    after = 0
    while rows := await daemon.store.query(find(query, after=after, limit=_EXPORTED)):
        records = [read_record(row) for row in rows]
        after = records[-1].position
        yield b"".join(encode(record) + b"\n" for record in records)


def _read_query(request: Request) -> Query:
    given = request.query
    wanted = {name: given[name] for name in FILTERS if given.get(name)}
    if any("\0" in text for text in wanted.values()):
        raise Refusal(400, "Invalid query")
    if (only := _only(request)) is not None:
        wanted["user"] = only
    return Query(**wanted, since=_read_time(given, "since"), until=_read_time(given, "until"))


def _only(request: Request) -> str | None:
    """Return the only user whose events the caller may see; None for an admin, who sees all."""
    return None if request.who.role is Role.ADMIN else request.who.user


def _read_time(given: dict[str, str], name: str) -> float | None:
    if name not in given:
        return None
    try:
        at = float(given[name])
    except ValueError:
        at = math.nan
    if not math.isfinite(at):
        raise Refusal(400, f"Invalid {name}: expected seconds since 1970")
    return at
