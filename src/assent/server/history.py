"""`/api/audit`: the log, searched a page at a time, the newest first. A user sees what happened for them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from assent.audit.search import Query, Record
from assent.audit.search import search as search_log
from assent.model.principal import Role
from assent.server.messages import Refusal, Reply, Request, read_int, reply

if TYPE_CHECKING:
    from assent.server.daemon import Daemon

FILTERS = ("type", "session", "user", "agent", "tool", "tier", "verdict", "source", "digest", "approval", "text")


class EventPage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Records, the newest first, each with its place in the chain."""

    events: tuple[Record, ...]
    cursor: str | None = None
    """Where the next page begins, if there is one."""


async def search(daemon: Daemon, request: Request) -> Reply:
    """Search the log."""
    given, who = request.query, request.who
    limit = read_int(given, "limit", 100, low=1, high=1000)
    wanted = {name: given[name] for name in FILTERS if given.get(name)}
    if any("\0" in text for text in wanted.values()):
        raise Refusal(400, "Invalid query")
    if who.role is not Role.ADMIN:
        wanted["user"] = who.user
    query = Query(**wanted, since=_read_time(given, "since"), until=_read_time(given, "until"))
    page = await search_log(daemon.store, query, limit=limit, cursor=given.get("cursor") or None)
    return reply(EventPage(page.records, page.cursor))


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
