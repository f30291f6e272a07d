"""Routes of sessions, statistics and runs."""

from __future__ import annotations

from assent.server.api import runs, sessions, stats, status
from assent.server.http.route import ANYONE, PEOPLE, Route
from assent.server.routes.parameters import DAYS
from assent.wire.grants import Ended
from assent.wire.runs import GuardedRun, Runs
from assent.wire.sessions import RespondBody, Responded
from assent.wire.statistics import History, SessionList, Stats

ROUTES: tuple[Route, ...] = (
    Route(
        method="GET",
        path="/api/sessions/{id}/stream",
        roles=ANYONE,
        handler=sessions.stream,
        summary="A session's questions and calls, as a stream; `Last-Event-ID` goes on without loss or repeats.",
        stream=True,
    ),
    Route(
        method="POST",
        path="/api/sessions/{id}/respond",
        roles=PEOPLE,
        handler=sessions.respond,
        summary="Answer a session's question: that of a call, or the oldest.",
        takes=RespondBody,
        gives=Responded,
        errors=(404, 409),
    ),
    Route(
        method="GET",
        path="/api/stats",
        roles=PEOPLE,
        handler=status.stats,
        summary="What happened since the start; for an admin to everybody.",
        gives=Stats,
    ),
    Route(
        method="GET",
        path="/api/stats/history",
        roles=PEOPLE,
        handler=stats.show_history,
        summary="What was decided, asked, answered and stopped in the last days.",
        gives=History,
        query=(DAYS,),
    ),
    Route(
        method="GET",
        path="/api/sessions",
        roles=PEOPLE,
        handler=stats.list_sessions,
        summary="The agents that were at work in the last days, and what each did last.",
        gives=SessionList,
        query=(DAYS,),
    ),
    Route(
        method="GET",
        path="/api/runs",
        roles=PEOPLE,
        handler=runs.list_runs,
        summary="The daemon's own runs, the newest first.",
        gives=Runs,
    ),
    Route(
        method="GET",
        path="/api/runs/{id}",
        roles=PEOPLE,
        handler=runs.show_run,
        summary="One run, and the chain of policies that guards each of its tools.",
        gives=GuardedRun,
    ),
    Route(
        method="DELETE",
        path="/api/runs/{id}",
        roles=PEOPLE,
        handler=runs.stop_run,
        summary="Stop a run.",
        gives=Ended,
    ),
)
