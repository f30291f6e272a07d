"""`/api/stats/history` and `/api/sessions`: counts over time, and the sessions of agents."""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import assent.lazy_regex as re
from assent.analysis.tools.names import find_tool
from assent.model.principal import Role
from assent.server.api.similar_questions import beginning
from assent.server.http.messages import Request, read_int, reply
from assent.server.state.hourly_counts import HOUR
from assent.wire.statistics import AgentSession, Asked, History, Point, SessionList, StoppedAttempt
from assent.wire.timestamps import millis

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.server.daemon import Daemon
    from assent.store.cursor import Row

MOST_SESSIONS = 200
_RECENT = 100_000
"""How many of the latest records are looked through for sessions: the page asks again and again."""
_MOST_ANSWERS = 5000
_MOST_ASKED = 12
_MOST_VIOLATIONS = 20
_LEADING_CD = re.compile(r"^cd \S+ *(?:&&|;) *")
_SPANS = ((1, 3600), (7, 6 * 3600), (31, 86400), (366, 7 * 86400))
"""Up to how many days a point of the plot stands for how many seconds."""


async def show_history(daemon: Daemon, request: Request) -> Response:
    """Return the statistics of the last days."""
    days = _read_days(request)
    seconds = next(size for most, size in _SPANS if days <= most)
    since = math.floor((time.time() - days * 86400) / seconds) * seconds
    scope = _Scope(daemon, request, since)
    answers = await scope.answers()
    times = sorted(row[3] - row[2] for row in answers if row[0] in ("approved", "rejected") and row[3] is not None)
    counts = await daemon.hourly_counts.count(since, scope.user)
    points = _points(counts, since, seconds)
    violations = sum(count for (_, what), count in counts.items() if what == "violation")
    return reply(
        History(
            since=since * 1000,
            seconds=seconds,
            points=points,
            calls=sum(p.allow + p.ask + p.deny for p in points),
            asked=sum(p.ask for p in points),
            answers=dict(Counter(row[0] for row in answers)),
            answer_median=statistics.median(times) if times else None,
            answer_slow=times[int(len(times) * 0.9)] if times else None,
            most_asked=_most_asked(answers),
            violations=violations,
            latest_violations=await scope.violations() if violations else (),
        )
    )


async def list_sessions(daemon: Daemon, request: Request) -> Response:
    """List the sessions that were active in the last days."""
    scope = _Scope(daemon, request, time.time() - _read_days(request) * 86400)
    rows = await scope.query(
        "SELECT session_id, user_id, agent_id, min(at), max(at), count(*), "
        "sum(CASE WHEN verdict = 'allow' THEN 1 ELSE 0 END), sum(CASE WHEN verdict = 'ask' THEN 1 ELSE 0 END), "
        "sum(CASE WHEN verdict = 'deny' THEN 1 ELSE 0 END), "
        "sum(CASE WHEN type = 'sandbox.violation' THEN 1 ELSE 0 END), max(position) "
        "FROM events WHERE position > :first AND at >= :since {mine} AND session_id <> '' AND agent_id <> '' "
        "GROUP BY session_id, user_id, agent_id ORDER BY max(position) DESC LIMIT :limit",
        limit=MOST_SESSIONS,
        first=await daemon.audit_position() - _RECENT,
    )
    texts = await scope.texts([row[10] for row in rows])
    return reply(SessionList(tuple(_session(row, texts) for row in rows)))


class _Scope:
    """The events since a time that a principal may see."""

    def __init__(self, daemon: Daemon, request: Request, since: float) -> None:
        self._store = daemon.store
        self.user = None if request.who.role is Role.ADMIN else request.who.user
        self._since = since

    async def query(self, sql: str, **given: Any) -> list[Row]:
        mine = "" if self.user is None else "AND user_id = :user"
        owner = {} if self.user is None else {"user": self.user}
        return await self._store.query(sql.replace("{mine}", mine), {"since": self._since, **owner, **given})

    async def answers(self) -> list[Row]:
        return await self.query(
            "SELECT state, tool, created_at, resolved_at, summary FROM approvals "
            "WHERE created_at >= :since {mine} ORDER BY created_at DESC LIMIT :limit",
            limit=_MOST_ANSWERS,
        )

    async def violations(self) -> tuple[StoppedAttempt, ...]:
        rows = await self.query(
            "SELECT position, at, session_id, agent_id, text FROM events "
            "WHERE type = 'sandbox.violation' AND at >= :since {mine} ORDER BY position DESC LIMIT :limit",
            limit=_MOST_VIOLATIONS,
        )
        return tuple(StoppedAttempt(row[0], millis(row[1]), *row[2:]) for row in rows)

    async def texts(self, positions: list[int]) -> dict[int, str]:
        if not positions:
            return {}
        listed = ", ".join(map(str, map(int, positions)))
        rows = await self._store.query(f"SELECT position, text FROM events WHERE position IN ({listed})")  # noqa: S608 - numbers
        return {position: text for position, text in rows}  # noqa: C416 - rows are tuples of anything


def _read_days(request: Request) -> int:
    return read_int(request.query, "days", 7, low=1, high=366)


def _points(counts: Counter[tuple[int, str]], since: int, seconds: int) -> tuple[Point, ...]:
    """Sum hours up to longer intervals; `since` is the start of the first one."""
    found: Counter[tuple[int, str]] = Counter()
    for (hour, what), count in counts.items():
        found[hour * HOUR // seconds, what] += count
    stretches = range(since // seconds, int(time.time()) // seconds + 1)
    return tuple(Point(n * seconds * 1000, *(found[n, word] for word in ("allow", "ask", "deny"))) for n in stretches)


def _most_asked(answers: list[Row]) -> tuple[Asked, ...]:
    found: dict[tuple[str, str], list[Row]] = {}
    for row in answers:
        found.setdefault((find_tool(row[1]).name, beginning(_LEADING_CD.sub("", row[4]))), []).append(row)
    ranked = sorted(found.items(), key=lambda item: -len(item[1]))[:_MOST_ASKED]
    return tuple(
        Asked(tool, begins, rows[0][4], len(rows), sum(row[0] == "approved" for row in rows))
        for (tool, begins), rows in ranked
    )


def _session(row: Row, texts: dict[int, str]) -> AgentSession:
    return AgentSession(
        id=row[0],
        user_id=row[1],
        agent_id=row[2],
        first_at=millis(row[3]),
        last_at=millis(row[4]),
        events=row[5],
        allow=row[6],
        ask=row[7],
        deny=row[8],
        violations=row[9],
        position=row[10],
        text=texts.get(row[10], ""),
    )
