"""`/api/sessions/{id}/…`: a session's questions and calls as a stream, and the answers to its questions."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

import msgspec

from assent.audit.follow import follow
from assent.audit.search import Query, Record
from assent.decisions.errors import AdminNeededError, AmbiguousError
from assent.model import Answer, Approval, AssentError, Event, State, Verdict
from assent.model.principal import Role
from assent.server.api.permissions import may_see
from assent.server.http.messages import Request, Stream, reply
from assent.wire.refusal import Refusal
from assent.wire.server_sent_events import frame_then_id
from assent.wire.sessions import NO_PENDING, NO_QUESTION, RespondBody, Responded, Said, session_header
from assent.wire.timestamps import millis

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.model.principal import Principal
    from assent.server.daemon import Daemon

_VERDICTS: dict[Said, Verdict] = {"approved": Verdict.ALLOW, "rejected": Verdict.DENY}
_TOLD = ("permission.requested", "permission.resolved", "tool.started", "tool.result", "tool.failed")


_RESPOND = msgspec.json.Decoder(RespondBody)
_event = msgspec.json.Decoder(Event)


async def stream(daemon: Daemon, request: Request) -> Stream:
    """Stream a session from the place where the reader stopped."""
    given = request.fields.get(b"last-event-id", b"").decode("latin-1")
    if given and not (given.isascii() and given.isdigit() and len(given) < 19):
        raise Refusal(400, "Invalid Last-Event-ID: expected an id of this stream")
    after = int(given) if given else None
    if request.who.run not in (None, request.path_params["id"]):
        raise Refusal(403, "Forbidden: a run's program follows that run alone")
    session = request.path_params["id"]
    return Stream(_write(daemon, request.who, session, after), headers=(session_header(session),))


async def _write(daemon: Daemon, who: Principal, session: str, after: int | None) -> AsyncGenerator[bytes]:
    if after is None:
        yield frame_then_id("0", {"type": "session.start", "sessionId": session})
    query = Query(
        session=session,
        user=None if who.role is Role.ADMIN else who.user,
        agent=who.agent if who.role is Role.AGENT else None,
    )
    async for records in follow(daemon.store, daemon.log, query, after or 0):
        for record in records:
            event = await _tell(daemon, who, record)
            if event is not None:
                yield frame_then_id(str(record.position), {k: v for k, v in event.items() if v is not None})


async def _tell(daemon: Daemon, who: Principal, record: Record) -> dict[str, Any] | None:
    if record.type not in _TOLD:
        return None
    event = _event.decode(record.body)
    about = {"toolCallId": event.tool_call_id or event.action_id, "toolName": record.tool}
    if record.type == "permission.requested":
        return {"type": "permission_request", **about, **await _question(daemon, who, event)}
    if record.type == "permission.resolved":
        return {"type": "permission_resolved", **about, **_outcome(event)}
    if record.type == "tool.started":
        return {"type": "tool.before", **about, "args": event.payload.get("args", {})}
    failed = record.type == "tool.failed"
    error = event.payload.get("error") if failed else None
    return {
        "type": "tool.after",
        **about,
        "result": event.payload.get("output", error),
        "isError": failed,
        "error": error,
    }


async def _question(daemon: Daemon, who: Principal, event: Event) -> dict[str, Any]:
    """Return what a person needs to know; the input is included only while the question is pending."""
    approval = await daemon.approvals.get(event.action_id or "")
    call = approval.call if approval is not None and may_see(who, approval) else None
    expires = event.payload.get("expiresAt")
    return {
        "reason": event.payload.get("reason"),
        "input": None if call is None else call.input,
        "tier": event.payload.get("tier"),
        "expiresAt": None if expires is None else millis(expires),
        "requestId": event.action_id,
    }


def _outcome(event: Event) -> dict[str, Any]:
    state = event.payload.get("state")
    reason = None if state in ("approved", "rejected") else f"{state}: {event.payload.get('by')}"
    return {
        "decision": "approved" if state == "approved" else "rejected",
        "reason": reason,
        "feedback": event.payload.get("feedback"),
        "requestId": event.action_id,
    }


async def respond(daemon: Daemon, request: Request) -> Response:
    """Answer a question of a session, for good. The daemon holds no questions of the agent itself."""
    body, who, session = request.decode(_RESPOND), request.who, request.path_params["id"]
    if body.is_about_question and body.text:
        raise Refusal(404, NO_QUESTION.format(session))
    answer = Answer(verdict=_VERDICTS[body.said], feedback=body.feedback)
    waiting = await find_pending(daemon, who, session, body.tool_call_id)
    if waiting is None:
        raise Refusal(404, NO_PENDING.format(session))
    try:
        approval = await daemon.decisions.answer(waiting.id, answer, who)
    except AdminNeededError:
        raise
    except AssentError as error:
        raise Refusal(404, NO_PENDING.format(session), detail=str(error)) from None
    daemon.note_answer(approval, who)
    return reply(Responded(ok=True))


async def find_pending(daemon: Daemon, who: Principal, session: str, call_id: str | None) -> Approval | None:
    """Return the question of a call, or the oldest visible one of a session; raise `AmbiguousError` for several."""
    cursor: str | None = None
    user = None if who.role is Role.ADMIN else who.user
    named: list[Approval] = []
    while True:
        found, cursor = await daemon.approvals.list(user=user, states=(State.PENDING,), limit=500, cursor=cursor)
        for approval in found:
            known = call_id in (None, approval.call_id, approval.id)
            if approval.session.id == session and known and may_see(who, approval):
                named.append(approval)
        if (named and call_id is None) or len(named) > 1 or cursor is None:
            break
    if call_id is not None and len(named) > 1:
        raise AmbiguousError
    return named[0] if named else None
