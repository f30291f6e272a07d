"""What is written down when something happens."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from assent.model.decision import Decision
from assent.model.sandbox import SandboxProfile, Violation

EventType: TypeAlias = Literal[
    "permission.evaluated",
    "permission.requested",
    "permission.resolved",
    "sandbox.applied",
    "sandbox.violation",
    "action.required",
    "action.resolved",
    "tool.started",
    "tool.args",
    "tool.progress",
    "tool.result",
    "tool.failed",
    "process.started",
    "process.output",
    "process.completed",
    "process.failed",
    "process.terminated",
    "hook.started",
    "hook.completed",
    "hook.failed",
    "policy.changed",
    "grant.created",
    "grant.revoked",
    "destructive.enabled",
    "destructive.revoked",
    "token.created",
    "token.revoked",
    "daemon.started",
    "daemon.stopped",
    "run.status",
    "evidence.changed",
    "snapshot.updated",
    "runtime.warning",
    "runtime.error",
]


class Event(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One line of the log."""

    type: EventType
    event_id: str
    timestamp: str
    session_id: str
    sequence: int
    schema_version: str = "1"
    runtime_id: str = ""
    thread_id: str = ""
    turn_id: str = ""
    run_id: str | None = None
    step_id: str | None = None
    tool_call_id: str | None = None
    action_id: str | None = None
    evidence_id: str | None = None
    trace_id: str | None = None
    span_id: str | None = None
    payload: dict[str, Any] = {}
    permission_decision: Decision | None = None
    sandbox_profile: SandboxProfile | None = None
    violation: Violation | None = None
    refs: tuple[str, ...] = ()
