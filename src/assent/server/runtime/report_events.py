"""`POST /api/runtime/report_events`: what became of decided calls, as the host that runs them tells it.

What is told here is the host's word, and marked as such. It decides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from assent.agents.hooks.messages import HookCall
from assent.audit.search import MOST_ROWS, Query, find, read_record
from assent.decisions.audit_events import happened
from assent.model import Event, read_trace
from assent.server.hooks.decision_index import find_ruled
from assent.server.hooks.judge import place
from assent.server.http.messages import Request, reply
from assent.wire.refusal import Refusal
from assent.wire.runtime_reports import EventsRecorded, HostEvent, ReportEventsBody

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.model import Session, ToolCall
    from assent.server.daemon import Daemon


_REPORT = msgspec.json.Decoder(ReportEventsBody)
_FIRST_CHANGE = "SELECT coalesce(min(id), 1) FROM changes"
_event = msgspec.json.Decoder(Event)


async def report_events(daemon: Daemon, request: Request) -> Response:
    """Record what a host tells about its own session; a call's result is joined to the decision that let it run."""
    body = request.decode(_REPORT)
    if not body.session_id:
        raise Refusal(400, "Missing sessionId")
    named = [(_name(request, told), told) for told in body.events]
    # What a repeated one says of its call is joined to the decision already, and that is joined to nothing else.
    known = await _find_told(daemon, request, body) if body.again else frozenset[str]()
    fresh = [(name, await _make(daemon, request, body, told)) for name, told in named if name not in known]
    if fresh:
        await daemon.log.record_once(fresh, again=body.again)
    return reply(EventsRecorded(len(named)))


async def _find_told(daemon: Daemon, request: Request, body: ReportEventsBody) -> frozenset[str]:
    """Return the names by which some of it was told before: by those that are kept at hand, or else by the log."""
    names = frozenset(name for told in body.events if (name := _name(request, told)) is not None)
    known = await daemon.log.find_told(names)
    ((first,),) = await daemon.store.query(_FIRST_CHANGE)
    # As long as no name was ever forgotten, one that is not at hand was never told.
    return known if names == known or first <= 1 else known | await _search(daemon, request, body, names)


async def _search(daemon: Daemon, request: Request, body: ReportEventsBody, names: frozenset[str]) -> frozenset[str]:
    _, session = place(daemon, request, HookCall(tool="", input={}, cwd=body.cwd, session=body.session_id))
    query, found, position = Query(session=session.id, user=session.user), set[str](), 0
    while rows := await daemon.store.query(find(query, after=position, limit=MOST_ROWS)):
        for record in map(read_record, rows):
            position = record.position
            if b'"reportId"' in bytes(record.body):
                payload = _event.decode(record.body).payload
                found.add(f"{payload.get('reportedBy')}/{payload.get('reportId')}")
    return names & found


def _name(request: Request, told: HostEvent) -> str | None:
    """Name a report for good, as its teller does: nobody holds back another's by using its name."""
    return None if told.report_id is None else f"{request.who.token}/{told.report_id}"


async def _make(daemon: Daemon, request: Request, body: ReportEventsBody, told: HostEvent) -> Event:
    asked = HookCall(tool=told.tool_name, input={}, cwd=body.cwd, session=body.session_id, call_id=told.tool_call_id)
    call, session = place(daemon, request, asked)
    call = msgspec.structs.replace(call, trace=read_trace(told.traceparent))
    payload: dict[str, Any] = {
        "status": told.status,
        "error": told.error,
        "summary": told.summary,
        "durationMs": told.duration_ms,
        "happenedAt": told.happened_at,
        "progress": told.progress,
        "total": told.total,
        "message": told.message,
        "text": told.text,
        "stream": told.stream,
        "skipped": told.skipped,
        "process": session.id if told.type.startswith("process.") else None,
        "reportedBy": request.who.token,
        "reportId": told.report_id,
    }
    joined, approval = await _join(daemon, call, session, told)
    known = {name: value for name, value in (payload | joined).items() if value is not None}
    event = happened(told.type, call, session, known, profile=told.sandbox_profile, violation=told.violation)
    return msgspec.structs.replace(event, action_id=approval)


async def _join(daemon: Daemon, call: ToolCall, session: Session, told: HostEvent) -> tuple[dict[str, Any], str | None]:
    """Find the decision that let a call run; that there is none is written down with it."""
    if told.type not in ("tool.result", "tool.failed") or told.status in ("denied", "invalid"):
        return {}, None
    ruled = await find_ruled(daemon, call, session)
    if ruled is not None:
        return {"decision": ruled.position, "digest": ruled.digest}, ruled.approval
    daemon.journal.note("warning", "call.undecided", agent=session.agent, session=session.id, tool=call.tool[:80])
    return {"summary": f"{told.summary or call.tool} · without a decision that is known"}, None
