"""A record of the log as runtimes tell it to each other: the envelope, and the three facts of a constrained action."""

from __future__ import annotations

from typing import Any

import msgspec

from assent.audit.entry import format_time
from assent.audit.search import Record
from assent.model import (
    COMMAND_EXECUTE,
    FS_EXEC,
    FS_READ,
    FS_WRITE,
    NET_CONNECT,
    UNKNOWN,
    Decision,
    Event,
    Operation,
    SandboxProfile,
    Scope,
)
from assent.server.runtime.correlation import NOTHING_KNOWN, CallFacts, id_of
from assent.wire.runtime_events import DecisionFacts, Envelope, ProfileFacts, Refs, StateFacts

RUNTIME = "runtime"
"""The session of what happens to the runtime itself, and `runtime:alice` of what a user has in it."""
DECISIONS = ("allow", "deny")
SCOPES = tuple(scope.value for scope in Scope)
DOUBLED = {
    "permission.requested": "action.required",
    "permission.resolved": "action.resolved",
    "tool.started": "tool.args",
}
"""Records that are told twice: as what is asked and what a person has to do; as a call that begins, and with what."""
QUESTIONS = ("permission.requested", "permission.resolved")
_TOLD_AS = {
    "grant.created": "policy.changed",
    "grant.revoked": "policy.changed",
    "destructive.enabled": "policy.changed",
    "destructive.revoked": "policy.changed",
    "token.created": "snapshot.updated",
    "token.revoked": "snapshot.updated",
    "daemon.started": "snapshot.updated",
    "daemon.stopped": "snapshot.updated",
}


def decision_facts(decision: Decision) -> DecisionFacts:
    """Return why."""
    reading = decision.reading
    return DecisionFacts(
        decision=decision.decision,
        decision_source=decision.decision_source,
        decision_reason=shown(decision.decision_reason),
        rule_refs=decision.rule_refs,
        updated_input_ref=decision.updated_input_ref,
        approval_action_id=decision.approval_action_id,
        expires_at=None if decision.expires_at is None else format_time(decision.expires_at),
        scope=decision.scope,
        tier=reading.tier,
        destructive=reading.destructive,
        impact_scope=None if reading.impact_scope is None else shown(reading.impact_scope),
        rollback_advice=reading.rollback_advice,
        interactive=decision.interactive,
        policy_sources=decision.policy_sources,
        policy_version=decision.policy_version,
        mode=decision.mode,
        digest=decision.digest,
    )


def state_facts(decision: Decision) -> StateFacts:
    """Return what held."""
    return StateFacts(
        mode=decision.mode,
        rules=decision.rule_refs,
        interactive=decision.interactive,
        policy_sources=decision.policy_sources,
        policy_version=decision.policy_version,
    )


def profile_facts(profile: SandboxProfile | None, *, applied: bool) -> ProfileFacts:
    """Return a boundary; where none was asked for and nobody said what holds, that is unknown."""
    if profile is None:
        return ProfileFacts()
    return ProfileFacts(
        mode=profile.mode,
        name=profile.name,
        applied=applied,
        cwd=profile.cwd,
        read_roots=profile.read_roots,
        write_roots=profile.write_roots,
        network=msgspec.to_builtins(profile.network),
        environment_ref=profile.environment_ref,
        process_limits=msgspec.to_builtins(profile.process_limits),
        violation_refs=profile.violation_refs,
        mechanisms=msgspec.to_builtins(profile.mechanisms),
    )


def shown(text: str) -> str:
    """Write what is only known when it runs as people see it."""
    return text.replace(UNKNOWN, "…")


def tell(
    record: Record,
    event: Event,
    runtime: str,
    sequence: int,
    *,
    asked: Event | None = None,
    facts: CallFacts = NOTHING_KNOWN,
) -> list[Envelope]:
    """Tell a record.

    `asked` is the event of the decision behind the question that it is about, if it is about one; `facts` is what is
    known of the call that it happened to.
    """
    decision = event.permission_decision or facts.decision
    if asked is not None:
        decision = decision or asked.permission_decision
        step = asked.step_id or event.step_id
        event = msgspec.structs.replace(event, trace_id=asked.trace_id, span_id=asked.span_id, step_id=step)
    envelope = _wrap(record, event, runtime, sequence, decision, facts)
    if record.type not in DOUBLED:
        return [envelope]
    kind, payload = DOUBLED[record.type], _SECOND[record.type](event)
    second = msgspec.structs.replace(
        envelope, type=kind, event_id=f"{envelope.event_id}.1", sequence=sequence + 1, payload=payload
    )
    return [envelope, second]


def _wrap(
    record: Record, event: Event, runtime: str, sequence: int, decision: Decision | None, facts: CallFacts
) -> Envelope:
    session = event.session_id or ":".join(filter(None, (RUNTIME, record.user)))
    kind = _TOLD_AS.get(event.type, event.type)
    call = event.tool_call_id or (f"call_{record.position}" if kind.startswith("tool.") else None)
    # A call is a step of its own unless somebody said of which it is one.
    step = event.step_id or (call if kind.startswith("tool.") else None)
    return Envelope(
        type=kind,
        event_id=id_of(record, event),
        timestamp=event.timestamp or format_time(record.at),
        runtime_id=event.runtime_id or runtime,
        session_id=session,
        thread_id=event.thread_id or session,
        turn_id=event.turn_id or event.thread_id or session,
        sequence=sequence,
        payload=_payload(event, kind, facts),
        run_id=event.run_id,
        step_id=step,
        tool_call_id=call,
        action_id=event.action_id,
        evidence_id=event.evidence_id,
        request_id=event.action_id,
        trace_id=event.trace_id,
        span_id=event.span_id,
        process_id=None if (process := event.payload.get("process")) is None else str(process),
        refs=_refs(event, decision, facts),
        permission_decision=None if decision is None else decision_facts(decision),
        permission_state=None if decision is None else state_facts(decision),
        sandbox_profile=_profile(event, decision, facts),
    )


def _profile(event: Event, decision: Decision | None, facts: CallFacts) -> ProfileFacts | None:
    applied = event.sandbox_profile or facts.profile
    if applied is not None:
        refs = tuple(dict.fromkeys((*applied.violation_refs, *(ref for ref, _ in facts.stopped))))
        return profile_facts(msgspec.structs.replace(applied, violation_refs=refs), applied=True)
    return None if decision is None else profile_facts(decision.boundary, applied=False)


def _payload(event: Event, kind: str, facts: CallFacts) -> dict[str, Any]:
    payload = {name: value for name, value in event.payload.items() if kind != "tool.started" or name != "args"}
    if kind != event.type:
        payload["change"] = event.type
    if event.violation is not None:
        payload["violation"] = msgspec.to_builtins(event.violation)
    if event.type == "permission.evaluated" and event.permission_decision is not None:
        payload["command"] = command_record(event.permission_decision, event.payload)
    if kind == "tool.failed" and facts.stopped:
        ref, violation = facts.stopped[-1]
        payload["cause"] = {
            "type": "sandbox.violation",
            "ref": ref,
            "violation": msgspec.to_builtins(violation),
            "others": [other for other, _ in facts.stopped[:-1]],
        }
    return payload


def command_record(decision: Decision, payload: dict[str, Any]) -> dict[str, Any]:
    """Return what is known of a call before it runs: what is in it, where it reaches, and what was said of it."""
    operations = decision.reading.operations
    boundary = decision.boundary
    return {
        "summary": payload.get("summary", ""),
        "tool": decision.reading.tool,
        "subcommands": [shown(o.resource) for o in operations if o.kind in (COMMAND_EXECUTE, FS_EXEC)],
        "destructive": decision.reading.destructive,
        "decision": decision.decision,
        "profile": "none" if boundary is None else boundary.name,
        "cwd": payload.get("cwd") or "unknown",
        "paths": [_path(o) for o in operations if o.kind in (FS_READ, FS_WRITE, FS_EXEC)],
        "network": {
            "hosts": [shown(o.resource) for o in operations if o.kind is NET_CONNECT],
            "boundary": "unknown" if boundary is None else boundary.network.mode,
        },
        "unreadable": decision.reading.unreadable,
    }


def _path(operation: Operation) -> dict[str, Any]:
    return {
        "operation": operation.kind.value,
        "path": shown(operation.resource),
        "target": None if operation.target is None else shown(operation.target),
        "known": operation.known,
    }


def _refs(event: Event, decision: Decision | None, facts: CallFacts) -> Refs:
    profile = event.sandbox_profile or facts.profile
    stopped = () if profile is None else profile.violation_refs
    return Refs(
        rules=() if decision is None else decision.rule_refs,
        updated_input=None if decision is None else decision.updated_input_ref,
        environment=None if profile is None else profile.environment_ref,
        violations=tuple(dict.fromkeys((*stopped, *(ref for ref, _ in facts.stopped)))),
        others=event.refs,
    )


def _required(event: Event) -> dict[str, Any]:
    payload = event.payload
    expires = payload.get("expiresAt")
    return {
        "actionType": "tool_permission",
        "toolName": payload.get("tool", ""),
        "decisionKind": "allow_or_deny",
        "prompt": f"Allow {payload.get('tool', '')}: {payload.get('summary', '')}?",
        "reason": payload.get("reason", ""),
        "scope": list(SCOPES),
        "availableDecisions": list(DECISIONS),
        "policy": {"kind": payload.get("kind", "ask"), "tier": payload.get("tier")},
        "timeout": None if expires is None else format_time(expires),
    }


def _resolved(event: Event) -> dict[str, Any]:
    payload = event.payload
    state = payload.get("state", "unknown")
    return {
        "actionType": "tool_permission",
        "toolName": payload.get("tool", ""),
        "decision": "allow" if state == "approved" else "deny",
        "status": state,
        "by": payload.get("by"),
        "scope": payload.get("scope"),
        "feedback": payload.get("feedback"),
    }


def _arguments(event: Event) -> dict[str, Any]:
    """Say what a call is made with, in short; records of before that was written down do not know."""
    said = {name: event.payload[name] for name in ("user", "agent", "tool") if name in event.payload}
    return said | {"args": event.payload.get("args", "unknown")}


_SECOND = {"permission.requested": _required, "permission.resolved": _resolved, "tool.started": _arguments}
