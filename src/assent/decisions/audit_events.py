"""Make the audit events of decisions, questions, answers, grants and enablements."""

from __future__ import annotations

from typing import Any

import msgspec

from assent.analysis.tools.names import find_tool
from assent.decisions.call_summary import outline, summarise
from assent.model import (
    Approval,
    Decision,
    Enablement,
    Event,
    EventType,
    Grant,
    SandboxProfile,
    Session,
    Source,
    ToolCall,
    Violation,
)


def evaluated(call: ToolCall, session: Session, decision: Decision, summary: str) -> Event:
    """Make the event of a decision."""
    return Event(
        type="permission.evaluated",
        event_id="",
        timestamp="",
        session_id=session.id,
        sequence=0,
        tool_call_id=call.call_id,
        **_place_in_run(call, session),
        action_id=decision.approval_action_id,
        trace_id=None if call.trace is None else call.trace.trace_id,
        span_id=None if call.trace is None else call.trace.span_id,
        payload={
            "user": session.user,
            "agent": session.agent,
            "tool": decision.reading.tool,
            "summary": summary,
            "cwd": call.cwd,
        },
        permission_decision=decision,
    )


def unavailable(call: ToolCall, session: Session, decision: Decision, why: str) -> Event:
    """Make the event that says that a sandbox cannot be set up, so that nothing ran."""
    failed = msgspec.structs.replace(
        decision,
        available=False,
        decision_source=Source.SANDBOX,
        decision_reason=f"the sandbox cannot be set up: {why}",
    )
    return evaluated(call, session, failed, summarise(call, decision.reading))


def _place_in_run(call: ToolCall, session: Session) -> dict[str, Any]:
    """Return the ids that place a call in its run: the run is the session, the call a turn of it."""
    if not session.run:
        return {}
    return {"run_id": session.id, "turn_id": call.call_id or "", "step_id": call.step or call.call_id}


def happened(
    kind: EventType,
    call: ToolCall,
    session: Session,
    payload: dict[str, Any],
    *,
    profile: SandboxProfile | None = None,
    violation: Violation | None = None,
) -> Event:
    """Make an event about a call, or about the program that makes it."""
    about = {"user": session.user, "agent": session.agent, "tool": call.tool}
    return Event(
        type=kind,
        event_id="",
        timestamp="",
        session_id=session.id,
        sequence=0,
        thread_id=session.id,
        tool_call_id=call.call_id,
        **({"step_id": call.call_id} | _place_in_run(call, session)),
        trace_id=None if call.trace is None else call.trace.trace_id,
        span_id=None if call.trace is None else call.trace.span_id,
        payload={**payload, **about},
        sandbox_profile=profile,
        violation=violation,
    )


def begun(call: ToolCall, session: Session, profile: SandboxProfile, **more: Any) -> tuple[Event, Event]:
    """Make the events that say that a call starts: with which sandbox, and with which arguments."""
    return (
        happened("sandbox.applied", call, session, more, profile=profile),
        happened("tool.started", call, session, {**more, "args": outline(call.input, call.secrets)}, profile=profile),
    )


def requested(approval: Approval) -> Event:
    """Make the event of a new question."""
    payload: dict[str, Any] = {"kind": approval.kind, "tier": approval.tier.value, "reason": approval.reason}
    if approval.decision is not None and approval.decision.stakes:
        payload["stakes"] = approval.decision.stakes
    if approval.call is not None:
        payload["args"] = outline(approval.call.input, approval.call.secrets)
    return _about(approval, "permission.requested", {**payload, "expiresAt": approval.expires_at})


def resolved(approval: Approval, grant: Grant | None) -> Event:
    """Make the event of the end of a question."""
    payload: dict[str, Any] = {"state": approval.state.value, "by": approval.by}
    if (answer := approval.answer) is not None:
        payload |= {
            "scope": answer.scope.value,
            "feedback": answer.feedback,
            "modified": answer.modified_input is not None,
        }
    if grant is not None:
        payload["grant"] = grant.id
    return _about(approval, "permission.resolved", payload)


def granted(grant: Grant, session: str, *, revoked_by: str | None = None) -> Event:
    """Make the event of a new or revoked grant."""
    rule = None if grant.rule is None else grant.rule.text
    payload = {
        "user": grant.user or "",
        "agent": grant.agent or "",
        "summary": rule or "exactly one call",
        "grant": grant.id,
        "verdict": grant.verdict.value,
        "scope": grant.scope.value,
        "expiresAt": grant.expires_at,
        "by": revoked_by or grant.by,
    }
    return _plain("grant.revoked" if revoked_by else "grant.created", session, grant.approval, payload)


def enabled(enablement: Enablement, *, revoked_by: str | None = None) -> Event:
    """Make the event of a new or revoked enablement of destructive calls."""
    payload = msgspec.to_builtins(enablement) | {"agent": enablement.agent or ""}
    kind: EventType = "destructive.revoked" if revoked_by else "destructive.enabled"
    return _plain(kind, enablement.session or "", None, payload | {"by": revoked_by or enablement.by})


def _about(approval: Approval, kind: EventType, payload: dict[str, Any]) -> Event:
    tool = find_tool(approval.tool).name
    about = {"user": approval.user, "agent": approval.agent, "tool": tool, "summary": approval.summary}
    event = _plain(kind, approval.session.id, approval.id, about | payload | {"digest": approval.digest})
    call = approval.call or ToolCall(tool=approval.tool, call_id=approval.call_id)
    placed = _place_in_run(call, approval.session)
    return msgspec.structs.replace(event, tool_call_id=approval.call_id, **placed)


def _plain(kind: EventType, session: str, action: str | None, payload: dict[str, Any]) -> Event:
    given = {key: value for key, value in payload.items() if value is not None}
    return Event(type=kind, event_id="", timestamp="", session_id=session, sequence=0, action_id=action, payload=given)
