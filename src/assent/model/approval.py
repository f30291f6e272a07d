"""A question to a person, the answer, and what the answer leaves behind."""

from __future__ import annotations

import enum
from typing import Any, Literal, TypeAlias

import msgspec

from assent.model.call import Session, ToolCall
from assent.model.decision import Decision
from assent.model.enums import Scope, Tier, Verdict

QuestionKind: TypeAlias = Literal["ask", "policy-deny-override"]


class State(enum.StrEnum):
    """Where a question is. It leaves `pending` once, and for good."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a person says to a question. The verdict is allow or deny."""

    verdict: Verdict
    scope: Scope = Scope.ONCE
    until: float | None = None
    """When what it allows, or refuses, ends."""
    feedback: str | None = None
    """Words for the agent."""
    modified_input: dict[str, Any] | None = None
    """Runs instead of what was asked about; kept until it is used."""
    pattern: str | None = None
    """What a wider answer covers, as a rule (`Bash(npm test:*)`) or the part in its parentheses."""
    destructive: bool = False
    """A wider allow covers destructive calls too."""
    places: str = ""
    """Where the paths of what was asked about led, as a hash; whoever keeps the answer fills it in …"""
    bound: tuple[tuple[str, str], ...] = ()
    """… and what it runs: paths, each with what was found there when the question was put."""


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    """A question and its outcome."""

    id: str
    state: State
    user: str
    agent: str
    session: Session
    call: ToolCall | None = None
    """The exact call, while it is pending; what was asked is deleted once it is answered."""
    call_id: str | None = None
    tool: str
    """As it was called."""
    digest: str
    tier: Tier
    reason: str
    summary: str
    """The call in one line, secrets masked."""
    decision: Decision | None = None
    """What led to the question, while it is pending."""
    kind: QuestionKind = "ask"
    created_at: float
    expires_at: float
    """When the question ends; once approved, when the unused yes ends."""
    resolved_at: float | None = None
    by: str | None = None
    """Who answered: a user, `expiry`, or what cancelled it."""
    answer: Answer | None = None
    used_at: float | None = None
    """When a yes released its call, or a no was delivered."""
    caller_gone: bool = False
    """Nobody waits for the answer; a repeat of the same call will find it."""


class Enablement(msgspec.Struct, frozen=True, kw_only=True):
    """For a while, a person has "blocked" turned into "ask": for an agent, a session, or one call by its digest."""

    id: str
    user: str
    agent: str | None = None
    session: str | None = None
    digest: str | None = None
    until: float
    created_at: float
    by: str
    used_at: float | None = None
    revoked_at: float | None = None
