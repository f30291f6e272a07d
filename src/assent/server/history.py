"""`/api/audit`: the log, searched a page at a time, the newest first. A user sees what happened for them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec

from assent.model.principal import Role
from assent.server.messages import Refusal, Reply, Request, read_int, reply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assent.server.daemon import Daemon

_COLUMNS = (
    "position, at, type, session_id, user_id, agent_id, tool, tier, verdict, source, digest, approval, text, writer, "
    "seq, hash, body"
)
_SELECT = f"SELECT {_COLUMNS} FROM events"  # noqa: S608 - constants
_EXACT = {
    "agent": "agent_id",
    "tool": "tool",
    "tier": "tier",
    "verdict": "verdict",
    "source": "source",
    "type": "type",
    "session": "session_id",
}


class LogEntry(msgspec.Struct, frozen=True, rename="camel"):
    """One record of the log, with its place in the chain."""

    position: int
    at: float
    type: str
    session_id: str
    user_id: str
    agent_id: str
    tool: str
    tier: str
    verdict: str
    source: str
    digest: str
    request_id: str | None
    text: str
    writer: str
    seq: int
    hash: str
    event: Any
    """The whole record."""


class EventPage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Records, the newest first."""

    events: tuple[LogEntry, ...]
    cursor: str | None = None
    """Where the next page begins, if there is one."""


async def search(daemon: Daemon, request: Request) -> Reply:
    """Search the log."""
    query, who = request.query, request.who
    limit = read_int(query, "limit", 100, low=1, high=1000)
    where, given = _conditions(query)
    if who.role is not Role.ADMIN:
        where.append("user_id = :user")
        given["user"] = who.user
    condition = f" WHERE {' AND '.join(where)}" if where else ""
    found = await daemon.store.query(
        f"{_SELECT}{condition} ORDER BY position DESC LIMIT :most", {**given, "most": limit + 1}
    )
    entries = tuple(_entry(row) for row in found[:limit])
    return reply(EventPage(entries, str(entries[-1].position) if len(found) > limit else None))


def _conditions(query: dict[str, str]) -> tuple[list[str], dict[str, Any]]:
    given: dict[str, Any] = {name: query[name] for name in _EXACT if name in query}
    where = [f"{_EXACT[name]} = :{name}" for name in given]
    for name, sign in (("since", ">="), ("until", "<")):
        if name in query:
            given[name] = _read_time(name, query[name])
            where.append(f"at {sign} :{name}")
    if query.get("text"):
        plain = query["text"].lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        given["text"] = f"%{plain}%"
        where.append("lower(text) LIKE :text ESCAPE '\\'")
    if query.get("cursor"):
        given["cursor"] = read_int(query, "cursor", 0, low=1, high=2**50)
        where.append("position < :cursor")
    if any("\0" in value for value in given.values() if isinstance(value, str)):
        raise Refusal(400, "Invalid query")
    return where, given


def _read_time(name: str, text: str) -> float:
    try:
        at = float(text)
    except ValueError:
        at = math.nan
    if not math.isfinite(at):
        raise Refusal(400, f"Invalid {name}: expected seconds since 1970")
    return at


def _entry(row: Sequence[Any]) -> LogEntry:
    named = dict(zip(LogEntry.__struct_fields__, row, strict=True))
    return LogEntry(**{**named, "hash": bytes(row[-2]).hex(), "event": msgspec.Raw(bytes(row[-1]))})
