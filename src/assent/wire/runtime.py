"""Records of `/api/runtime`: deciding and resolving actions, the state of permissions, refs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from assent.model import (
    Grant,
    Mode,
    SandboxProfile,
    Scope,
    State,
    Verdict,
)
from assent.wire.runtime_events import DecisionFacts, ProfileFacts, StateFacts


class HostOpinion(msgspec.Struct, frozen=True):
    """What the host's own check said about this call. It can only tighten."""

    decision: Literal["allow", "ask", "deny"]
    reason: str = ""
    source: Literal["host_policy", "tool_check"] = "host_policy"
    """Who said it: the host's policy, or the called tool itself."""


class EvaluateBody(msgspec.Struct, frozen=True, rename="camel"):
    """An action to be decided."""

    tool_name: str = ""
    tool_input: dict[str, Any] = {}
    cwd: str | None = None
    session_id: str | None = None
    tool_call_id: str | None = None
    mode: str | None = None
    """A mode the host is in; it can only tighten."""
    host_opinion: HostOpinion | None = None
    interactive: bool = True
    """False where the host has nobody to ask: then an ask is a denial, and no question is left behind."""
    runs_in: SandboxProfile | None = None
    """The boundary inside which the host runs the action at once, if it may: recorded with the decision."""
    honours_updated_input: bool = False
    """The host runs `updatedInput` where the answer has one; else it is told to make the changed call."""
    secret_fields: Annotated[tuple[str, ...], msgspec.Meta(max_length=1000)] = ()
    """Fields of the input that their tool calls secret: masked where the log has what a call runs with."""


class Evaluated(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The three facts; and the action that waits for a person, if one does."""

    permission_decision: DecisionFacts
    permission_state: StateFacts
    sandbox_profile: ProfileFacts
    action_id: str | None = None
    action_status: State | None = None
    expires_at: float | None = None
    updated_input: dict[str, Any] | None = None
    feedback: str | None = None
    position: int = 0
    """Where in the log it is."""


class RespondActionBody(msgspec.Struct, frozen=True, rename="camel"):
    """A person's answer to an action that is required."""

    action_id: str = ""
    decision: str = ""
    payload: dict[str, Any] = {}
    """`feedback`, `modifiedInput`, `scope`, `pattern`, `expiresIn`, `destructive`."""


class ActionResolved(msgspec.Struct, frozen=True, rename="camel"):
    """How an action ended."""

    action_id: str
    decision: str
    status: State
    scope: Scope


class RuleFact(msgspec.Struct, frozen=True):
    """A rule in force."""

    rule: str
    effect: Verdict
    ref: str
    reason: str | None = None


class LayerFact(msgspec.Struct, frozen=True):
    """Where rules come from, and whether they may loosen."""

    layer: str
    file: str
    mode: Mode | None
    trusted: bool
    version: str


class PendingAction(msgspec.Struct, frozen=True, rename="camel"):
    """An action that waits for a person."""

    action_id: str
    session_id: str
    tool_call_id: str | None
    tool_name: str
    reason: str
    expires_at: int


class SandboxState(msgspec.Struct, frozen=True):
    """What boundaries can be set up on this machine."""

    state: Literal["available", "unavailable", "unknown"]
    mechanisms: Any = ()
    missing: tuple[str, ...] = ()


class PermissionState(msgspec.Struct, frozen=True, kw_only=True):
    """Mode, rules, sources, whether somebody can be asked, and what waits."""

    mode: Mode
    modes: tuple[Mode, ...]
    interactive: bool | Literal["unknown"]
    policy_version: str
    policy_sources: tuple[str, ...]
    layers: tuple[LayerFact, ...]
    rules: tuple[RuleFact, ...]
    pending_actions: tuple[PendingAction, ...]
    grants: tuple[Grant, ...]
    sandbox: SandboxState
    fault: str | None = None


class Ref(msgspec.Struct, frozen=True):
    """What a ref stands for."""

    ref: str
    kind: str
    value: Any
