"""`/api/permissions`: the questions a principal may see, and the answers a person gives."""

from __future__ import annotations

import contextlib
import math
import time
from typing import TYPE_CHECKING, Any

import msgspec

from assent.analysis.read import COMMAND_FIELDS
from assent.analysis.tools.names import find_tool
from assent.model import Answer, NotFoundError, Scope, Source, State, Tier, Verdict
from assent.model.principal import Role
from assent.server.approval_command import command_of
from assent.server.http.messages import Request, StoppingError, read_int, read_seconds, reply
from assent.wire.permissions import DecisionBody, DecisionResult, Permission, PermissionList, Stored
from assent.wire.refusal import Refusal
from assent.wire.tier_prefix import tiered_reason
from assent.wire.timestamps import millis

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.model import Approval, ToolCall
    from assent.model.principal import Principal
    from assent.server.daemon import Daemon

MESSAGE = "Permission system initialized. Pending requests will appear here."
DECISIONS = ("approve", "reject", "approve_always")
_OUTCOMES = {State.APPROVED: "approve", State.REJECTED: "reject"}


_BODY = msgspec.json.Decoder(DecisionBody)
_OBJECT = msgspec.json.Decoder(dict[str, Any])


def may_see(who: Principal, approval: Approval) -> bool:
    """Tell whether a principal may see a question: an agent its own, a user those of their agents."""
    if who.role is Role.AGENT:
        own = approval.session.id == who.run if who.run is not None else not approval.session.run
        return own and approval.user == who.user and approval.agent == who.agent
    return who.may_answer(approval.user)


async def list_permissions(daemon: Daemon, request: Request) -> Response:
    """List questions, a page at a time."""
    query, who = request.query, request.who
    agent = query.get("agentId") or None
    if who.role is Role.AGENT:
        if agent not in (None, who.agent):
            raise Refusal(403, "Forbidden")
        agent = who.agent
    user = None if who.role is Role.ADMIN else who.user
    limit = read_int(query, "limit", 200, low=1, high=1000)
    found, cursor = await daemon.approvals.list(
        user=user, agent=agent, states=_read_states(query), limit=limit, cursor=query.get("cursor") or None
    )
    describing = detail if query.get("details") == "true" else describe
    return reply(PermissionList(tuple(describing(each) for each in found if may_see(who, each)), MESSAGE, cursor))


def _read_states(query: dict[str, str]) -> tuple[State, ...]:
    word = query.get("status", "pending")
    if word == "all":
        return tuple(State)
    try:
        return (State(word),)
    except ValueError:
        known = ", ".join((*State, "all"))
        raise Refusal(400, f"Invalid status. Must be one of: {known}.") from None


async def get_permission(daemon: Daemon, request: Request) -> Response:
    """Show one question; with `wait`, once it is answered or the time is up."""
    wanted = request.path_params["id"]
    approval = await daemon.approvals.get(wanted)
    if approval is None or not may_see(request.who, approval):
        raise Refusal(404, "Request not found")
    wait = read_seconds(request.query, "wait", high=daemon.settings.wait)
    if wait and approval.state is State.PENDING:
        with contextlib.suppress(StoppingError):
            approval = await daemon.hold(request, daemon.approvals.wait(wanted, wait)) or approval
    return reply(detail(approval))


async def decide_permission(daemon: Daemon, request: Request) -> Response:
    """Answer a question, for good."""
    body = request.decode(_BODY)
    if not body.request_id or not body.decision:
        raise Refusal(400, "Missing requestId or decision")
    if body.decision not in DECISIONS:
        raise Refusal(400, f"Invalid decision value. Must be one of: {', '.join(DECISIONS)}.")
    try:
        answer = await read_answer(daemon, request.who, body)
        approval = await daemon.decisions.answer(body.request_id, answer, request.who)
    except NotFoundError:
        raise Refusal(404, "Request not found") from None
    daemon.note_answer(approval, request.who)
    scope = answer.scope if answer.scope is not Scope.ONCE else None
    stored = None if scope is None else await _find_stored(daemon, approval)
    done = DecisionResult(True, body.request_id, body.decision, scope, approval.state, stored)  # noqa: FBT003 - a field
    return reply(done)


async def _find_stored(daemon: Daemon, approval: Approval) -> Stored:
    """Describe what an answer stored for later calls: a pattern if one was given, else exactly that call."""
    found = await daemon.approvals.grants(user=approval.user)
    grant = next((g for g in found if g.approval == approval.id), None)
    pattern = None if grant is None or grant.rule is None else grant.rule.text
    return Stored(
        covers=f"exactly this call: {approval.summary}" if pattern is None else f"calls that match {pattern}",
        pattern=pattern,
        grant_id=None if grant is None else grant.id,
        expires_at=None if grant is None or grant.expires_at is None else millis(grant.expires_at),
    )


async def read_answer(daemon: Daemon, who: Principal, body: DecisionBody) -> Answer:
    """Read a person's answer, or refuse a contradictory one."""
    scope = _read_scope(body)
    if body.expires_in is not None and not (math.isfinite(body.expires_in) and 1 <= body.expires_in <= 366 * 86400):
        raise Refusal(400, "Invalid expiresIn: expected a number of seconds")
    modified = None
    if body.modified_input is not None:
        if body.decision == "reject":
            raise Refusal(400, "A rejected call has no modifiedInput")
        modified = await _read_modified(daemon, who, body)
    return Answer(
        verdict=Verdict.DENY if body.decision == "reject" else Verdict.ALLOW,
        scope=scope,
        until=None if body.expires_in is None else time.time() + body.expires_in,
        feedback=body.feedback,
        modified_input=modified,
        pattern=body.pattern,
        destructive=body.destructive,
    )


def _read_scope(body: DecisionBody) -> Scope:
    if body.decision != "approve_always":
        return body.scope or Scope.ONCE
    if body.scope not in (None, Scope.ALWAYS):
        raise Refusal(400, f"Contradiction: approve_always with scope {body.scope}")
    return Scope.ALWAYS


async def _read_modified(daemon: Daemon, who: Principal, body: DecisionBody) -> dict[str, Any] | None:
    approval = await daemon.approvals.get(body.request_id or "")
    if approval is None or not may_see(who, approval):
        raise Refusal(404, "Request not found")
    if approval.call is None:
        return None  # already answered; `answer` reports by whom
    return modify_input(approval.call, body.modified_input)


def modify_input(call: ToolCall, changed: str | dict[str, Any] | None) -> dict[str, Any]:
    """Replace the command with a person's text, or the whole input with an object."""
    if isinstance(changed, dict):
        return changed
    text = changed or ""
    if find_tool(call.tool).shape != "command":
        try:
            return _OBJECT.decode(text.encode())
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            raise Refusal(400, "Invalid modifiedInput: expected a JSON object") from None
    if not text.strip():
        raise Refusal(400, "Invalid modifiedInput: expected a command")
    kept = {name: value for name, value in call.input.items() if name not in (*COMMAND_FIELDS, "args")}
    field = next((name for name in COMMAND_FIELDS if name in call.input), COMMAND_FIELDS[0])
    return {**kept, field: text}


def describe(approval: Approval) -> Permission:
    """Convert a question to the record of this dialect."""
    call, reading = approval.call, approval.decision.reading if approval.decision is not None else None
    answer = approval.answer
    decision = _OUTCOMES.get(approval.state)
    if decision == "approve" and answer is not None and answer.scope is Scope.ALWAYS:
        decision = "approve_always"
    return Permission(
        id=approval.id,
        agent_id=approval.agent,
        user_id=approval.user,
        tool_name=call.tool if call is not None else approval.tool,
        tool_input=call.input if call is not None else {},
        tier=approval.tier,
        reason=tiered_reason(approval),
        timestamp=millis(approval.created_at),
        status=approval.state,
        command=command_of(approval),
        session_id=approval.session.id,
        tool_call_id=approval.call_id,
        cwd=call.cwd if call is not None else None,
        kind=approval.kind,
        digest=approval.digest,
        expires_at=millis(approval.expires_at),
        caller_gone=approval.caller_gone,
        decision=decision,
        by=approval.by,
        resolved_at=None if approval.resolved_at is None else millis(approval.resolved_at),
        feedback=answer.feedback if answer is not None else None,
        used=approval.used_at is not None,
        destructive=approval.tier is Tier.DESTRUCTIVE,
        proposed_pattern=approval.decision.proposal if approval.decision is not None else "",
        stakes=approval.decision.stakes if approval.decision is not None else (),
        impact_scope=reading.impact_scope if reading is not None else None,
        rollback_advice=reading.rollback_advice if reading is not None else None,
    )


def detail(approval: Approval) -> Permission:
    """Convert a question, with the operations of its call."""
    decision = approval.decision
    if decision is None:
        return describe(approval)
    return msgspec.structs.replace(
        describe(approval),
        workspace=approval.session.workspace,
        operations=decision.reading.operations,
        unreadable=decision.reading.unreadable,
        rules=decision.rule_refs if decision.decision_source is Source.RULE else (),
        boundary=decision.boundary.name if decision.boundary is not None else None,
    )
