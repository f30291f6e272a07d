"""Records of `/api/permissions` and of the permission socket: questions and answers."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from assent.model import (
    Operation,
    Scope,
    Stake,
    State,
    Tier,
)
from assent.wire.tier_prefix import without_tier

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


class Earlier(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """One question that was answered before."""

    id: str
    command: str
    """The call in one line, secrets masked."""
    same: bool = False
    """It was exactly this call."""
    status: State
    scope: Scope | None = None
    by: str | None = None
    feedback: str | None = None
    resolved_at: int | None = None


class EarlierAnswers(msgspec.Struct, frozen=True):
    """Earlier questions, the newest first."""

    similar: tuple[Earlier, ...]


class InboxMessage(msgspec.Struct, frozen=True):
    """What a client says."""

    type: str
    data: dict[str, Any] = {}
