"""`/api/permissions`: the questions a principal may see, and the answers a person gives."""

from __future__ import annotations

import contextlib
import math
import time
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from assent.analysis.read import COMMAND_FIELDS
from assent.analysis.tools.names import find_tool
from assent.model import Answer, NotFoundError, Operation, Scope, Source, Stake, State, Tier, Verdict
from assent.model.principal import Role
from assent.policy.guard import command_text
from assent.server.api.tier_prefix import with_tier, without_tier
from assent.server.http.messages import Refusal, Request, StoppingError, read_int, read_seconds, reply

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.model import Approval, ToolCall
    from assent.model.principal import Principal
    from assent.server.daemon import Daemon

MESSAGE = "Permission system initialized. Pending requests will appear here."
DECISIONS = ("approve", "reject", "approve_always")
_OUTCOMES = {State.APPROVED: "approve", State.REJECTED: "reject"}

Decided: TypeAlias = Literal["approve", "reject", "approve_always"]


class Permission(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """A question and, once it is answered, its outcome."""

    id: str
    agent_id: str
    user_id: str
    tool_name: str
    tool_input: dict[str, Any]
    """The exact input while it is pending; empty once it is answered."""
    tier: Tier
    reason: str
    timestamp: int
    """When it was asked, in milliseconds since 1970."""
    status: State
    command: str
    """The call in one line."""
    session_id: str
    tool_call_id: str | None = None
    cwd: str | None = None
    kind: str
    digest: str
    expires_at: int
    caller_gone: bool = False
    decision: str | None = None
    by: str | None = None
    resolved_at: int | None = None
    feedback: str | None = None
    used: bool = False
    destructive: bool = False
    proposed_pattern: str = ""
    """What `pattern` could be for similar calls, while it is pending; it covers this call too."""
    stakes: tuple[Stake, ...] = ()
    """What is at stake, in plain words, while it is pending."""
    impact_scope: str | None = None
    rollback_advice: str | None = None
    workspace: tuple[str, ...] = ()
    operations: tuple[Operation, ...] = ()
    """What the call would do, while it is pending; in a list only with `details`."""
    unreadable: str | None = None
    rules: tuple[str, ...] = ()
    """The rules whose word the reason is, with the files they were written in."""
    boundary: str | None = None
    """The sandbox profile it must run in."""

    @property
    def plain_reason(self) -> str:
        """Return the reason without the tier in front."""
        return without_tier(self.reason, self.tier, self.tool_name)


class PermissionList(msgspec.Struct, frozen=True, omit_defaults=True):
    """Questions, the newest last."""

    pending: tuple[Permission, ...]
    message: str
    cursor: str | None = None
    """Where the next page begins, if there is one."""


class DecisionBody(msgspec.Struct, frozen=True, rename="camel"):
    """A person's answer."""

    request_id: str | None = None
    decision: str | None = None
    feedback: str | None = None
    modified_input: str | dict[str, Any] | None = None
    """A shell call's new command; for other tools an object, or its text."""
    scope: Scope | None = None
    pattern: str | None = None
    """What a wider answer covers, as a rule."""
    expires_in: float | None = None
    """For how many seconds a wider answer holds."""
    destructive: bool = False


class Stored(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a wider answer left behind."""

    covers: str
    """In words."""
    pattern: str | None = None
    """The rule; None where it is for exactly that call."""
    grant_id: str | None = None
    """By which it is revoked; None where a run keeps it until it ends."""
    expires_at: int | None = None


class DecisionResult(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What was done."""

    success: bool
    request_id: str
    decision: str
    scope: Scope | None = None
    status: State | None = None
    stored: Stored | None = None
    """What holds for later calls."""


_BODY = msgspec.json.Decoder(DecisionBody)
_OBJECT = msgspec.json.Decoder(dict[str, Any])


def may_see(who: Principal, approval: Approval) -> bool:
    """Tell whether a principal may look at a question: an agent at its own, a user at those of their agents."""
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
    """Say what an answer left behind for later calls: a pattern where one was named, else exactly that call."""
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
    """Read a person's answer, or refuse what does not fit together."""
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
        return None  # it is answered already, and `answer` will say by whom
    return modify_input(approval.call, body.modified_input)


def modify_input(call: ToolCall, changed: str | dict[str, Any] | None) -> dict[str, Any]:
    """Put a person's text in the place of the command, or an object in that of the whole input."""
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
    """Write a question down as this dialect has it."""
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


def tiered_reason(approval: Approval) -> str:
    """Return a question's reason with its tier in front; once it is answered, the plain reason is left."""
    return approval.reason if approval.decision is None else with_tier(approval.reason, approval.decision)


def detail(approval: Approval) -> Permission:
    """Write a question down with what its call would do."""
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


def command_of(approval: Approval) -> str:
    """Return the command text of a pending shell call; else the tool and what it is about."""
    call = approval.call
    if call is not None and find_tool(call.tool).shape == "command" and (text := command_text(call)):
        return text
    return approval.summary


def millis(seconds: float) -> int:
    """Turn seconds into milliseconds."""
    return int(seconds * 1000)
