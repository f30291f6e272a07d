"""`/api/runtime/…`: what the runtime decides and does, as facts and events that any client can read."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Literal

import msgspec

from assent.agents.hooks.messages import HookCall
from assent.audit.follow import follow
from assent.audit.search import Query
from assent.decisions.audit_events import begun
from assent.decisions.request import NO_HOST, HostContext
from assent.decisions.ruling import Ruling
from assent.model import (
    ASK,
    Answer,
    NotFoundError,
    Opinion,
    Session,
    Source,
    State,
    Verdict,
)
from assent.model.principal import Role
from assent.server.api.permissions import read_answer
from assent.server.hooks.answers import tell_change
from assent.server.hooks.classify import MODES
from assent.server.hooks.judge import place
from assent.server.http.messages import Request, StoppingError, Stream, read_seconds, reply
from assent.server.runtime.envelope import decision_facts, profile_facts, state_facts
from assent.server.runtime.stream import Narrator, read_place
from assent.wire.permissions import DecisionBody
from assent.wire.refusal import Refusal
from assent.wire.runtime import ActionResolved, EvaluateBody, Evaluated, HostOpinion, RespondActionBody
from assent.wire.runtime_events import Envelope
from assent.wire.server_sent_events import frame

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.model import Approval
    from assent.server.daemon import Daemon

_DECISIONS: dict[str, Literal["approve", "reject"]] = {"allow": "approve", "deny": "reject"}


_EVALUATE = msgspec.json.Decoder(EvaluateBody)
_RESPOND = msgspec.json.Decoder(RespondActionBody)


async def stream_events(daemon: Daemon, request: Request) -> Stream:
    """Follow what happens, from where the reader was."""
    query, who = request.query, request.who
    user = query.get("user") if who.role is Role.ADMIN else who.user
    after, seen = read_place(request.fields.get(b"last-event-id", b"").decode("latin-1") or query.get("after"))
    wanted = Query(user=user or None, session=query.get("sessionId") or None)
    kinds = frozenset(filter(None, query.get("type", "").split(",")))
    return Stream(_write_events(daemon, wanted, after, seen, kinds))


async def _write_events(
    daemon: Daemon, query: Query, after: int, seen: str, kinds: frozenset[str]
) -> AsyncGenerator[bytes]:
    narrator = Narrator(daemon.store, daemon.log.writer)
    async for records in follow(daemon.store, daemon.log, query, after):
        for told in await narrator.tell(records):
            if told.place != seen and is_wanted(told.envelope, kinds):
                yield frame(told.place, told.envelope)


def is_wanted(envelope: Envelope, kinds: frozenset[str]) -> bool:
    """Tell whether an event is of one of the types, or of one of their families, such as `permission.*`."""
    family = envelope.type.partition(".")[0]
    return not kinds or envelope.type in kinds or f"{family}.*" in kinds


async def evaluate(daemon: Daemon, request: Request) -> Response:
    """Decide an action, on record; with `wait`, once a person has said."""
    body = request.decode(_EVALUATE)
    if not body.tool_name:
        raise Refusal(400, "Missing toolName")
    if body.mode is not None and body.mode not in MODES:
        raise Refusal(400, "Invalid mode")
    asked = HookCall(
        tool=body.tool_name,
        input=body.tool_input,
        cwd=body.cwd,
        session=body.session_id,
        call_id=body.tool_call_id,
        modes=(MODES[body.mode],) if body.mode is not None else (),
        rewritable=body.honours_updated_input,
    )
    call, session = place(daemon, request, asked)
    call = msgspec.structs.replace(call, secrets=body.secret_fields) if body.secret_fields else call
    session = session if body.interactive else msgspec.structs.replace(session, interactive=False)
    host = _listen(body, session, request)
    wait = read_seconds(request.query, "wait", high=daemon.settings.wait)
    try:
        ruling = await daemon.hold(request, daemon.decisions.decide(call, session, wait=wait, prefix="act", host=host))
    except StoppingError:
        ruling = await daemon.decisions.decide(call, session, prefix="act", host=host)
    daemon.metrics.count_decision(ruling.decision, session.user)
    daemon.recent_decisions.keep(call, session, ruling)
    return reply(_evaluated(ruling))


def _listen(body: EvaluateBody, session: Session, request: Request) -> HostContext:
    heard = _hear(body.host_opinion)
    if body.runs_in is None:
        return HostContext(heard) if heard else NO_HOST
    profile, token = body.runs_in, request.who.token
    # No boundary that is demanded of it can be set up around a function of a program that runs already.
    return HostContext(heard, lambda run: begun(run, session, profile, reportedBy=token), no_sandbox=True)


def _hear(opinion: HostOpinion | None) -> tuple[Opinion, ...]:
    # An agent's own allow is worth nothing.
    if opinion is None or opinion.decision == "allow":
        return ()
    verdict = Verdict(opinion.decision)
    reason = opinion.reason[:1000] or "said by the host's own check"
    source, name = Source(opinion.source), opinion.source.replace("_", "-")
    return (Opinion(verdict=verdict, source=source, policy=name, reason=reason, opens=verdict is ASK),)


def _evaluated(ruling: Ruling) -> Evaluated:
    decision, approval = ruling.decision, ruling.approval
    answer: Answer | None = None if approval is None else approval.answer
    told = msgspec.structs.replace(decision, decision_reason=decision.decision_reason + tell_change(ruling))
    return Evaluated(
        permission_decision=decision_facts(told),
        permission_state=state_facts(decision),
        sandbox_profile=profile_facts(decision.boundary, applied=False),
        action_id=None if approval is None else approval.id,
        action_status=None if approval is None else approval.state,
        expires_at=None if approval is None or approval.state is not State.PENDING else approval.expires_at,
        updated_input=ruling.updated_input,
        feedback=None if answer is None else answer.feedback,
        position=ruling.position,
    )


async def respond(daemon: Daemon, request: Request) -> Response:
    """Resolve an action: by one of two words, from a person who may."""
    body = request.decode(_RESPOND)
    if not body.action_id or not body.decision:
        raise Refusal(400, "Missing actionId or decision")
    if body.decision not in _DECISIONS:
        raise Refusal(400, "Invalid decision value. Must be one of: allow, deny.")
    answered = _read_payload(body)
    try:
        answer = await read_answer(daemon, request.who, answered)
        approval: Approval = await daemon.decisions.answer(body.action_id, answer, request.who)
    except NotFoundError:
        raise Refusal(404, "Action not found") from None
    daemon.note_answer(approval, request.who)
    return reply(ActionResolved(approval.id, body.decision, approval.state, answer.scope))


def _read_payload(body: RespondActionBody) -> DecisionBody:
    given = {**body.payload, "requestId": body.action_id, "decision": _DECISIONS[body.decision]}
    try:
        return msgspec.convert(given, DecisionBody)
    except msgspec.ValidationError as error:
        raise Refusal(400, f"Invalid payload: {error}") from None
