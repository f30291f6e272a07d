"""Records of `/api/runtime/events`: the envelope of an event, and the three facts of a constrained action."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from assent.model import (
    Mode,
    Outcome,
    Scope,
    Source,
    Tier,
)

SCHEMA_VERSION = "1"


class DecisionFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Why an action is allowed, denied, asked about, sandboxed or unavailable."""

    decision: Outcome
    decision_source: Source
    decision_reason: str
    rule_refs: tuple[str, ...]
    updated_input_ref: str | None
    approval_action_id: str | None
    expires_at: str | None
    scope: Scope | None
    tier: Tier
    destructive: bool
    impact_scope: str | None
    rollback_advice: str | None
    interactive: bool
    policy_sources: tuple[str, ...]
    policy_version: str
    mode: Mode
    digest: str


class StateFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What held when it was decided."""

    mode: Mode
    rules: tuple[str, ...]
    """The rules that spoke to this call, by their refs; `permission_state` has all there are."""
    interactive: bool
    policy_sources: tuple[str, ...]
    policy_version: str


class ProfileFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The boundary, as far as it is known. `applied` says whether it was really in force."""

    mode: str = "unknown"
    name: str = "unknown"
    applied: bool = False
    cwd: str | None = None
    read_roots: tuple[str, ...] | Literal["unknown"] = "unknown"
    write_roots: tuple[str, ...] | Literal["unknown"] = "unknown"
    network: Any = "unknown"
    environment_ref: str | None = None
    process_limits: Any = "unknown"
    violation_refs: tuple[str, ...] = ()
    mechanisms: Any = ()


class Refs(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What an event refers to, by what it is; each can be looked up."""

    rules: tuple[str, ...] = ()
    updated_input: str | None = None
    environment: str | None = None
    violations: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Return every ref once."""
        single = filter(None, (self.updated_input, self.environment))
        return tuple(dict.fromkeys((*self.rules, *single, *self.violations, *self.others)))


class Envelope(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One event."""

    type: str
    event_id: str
    timestamp: str
    runtime_id: str
    session_id: str
    thread_id: str
    turn_id: str
    sequence: int
    payload: dict[str, Any]
    schema_version: str = msgspec.field(default_factory=lambda: SCHEMA_VERSION)
    run_id: str | None = None
    step_id: str | None = None
    tool_call_id: str | None = None
    action_id: str | None = None
    evidence_id: str | None = None
    request_id: str | None = None
    process_id: str | None = None
    trace_id: str | None = None
    span_id: str | None = None
    refs: Refs = Refs()
    permission_decision: DecisionFacts | None = None
    permission_state: StateFacts | None = None
    sandbox_profile: ProfileFacts | None = None
