"""Records of `/api/policy`, `/api/policy/try` and `/api/decide`."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from assent.model import (
    Decision,
    Mode,
    Outcome,
    Policy,
    Scope,
    Source,
    Tier,
)


class PolicyView(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The layers as merged, and what is wrong with their files."""

    version: str
    modes: tuple[Mode, ...]
    sources: tuple[str, ...]
    policies: tuple[Policy, ...]
    workspace: tuple[str, ...]
    notices: tuple[str, ...] = ()
    fault: str | None = None
    """Why the files as they are now are not in force; the rules before the last change are."""


class DecideBody(msgspec.Struct, frozen=True, rename="camel"):
    """A call to be decided as if this agent made it."""

    tool_name: str = ""
    tool_input: dict[str, Any] = {}
    cwd: str | None = None
    agent_id: str | None = None
    session_id: str | None = None


class Preview(msgspec.Struct, frozen=True, rename="camel"):
    """What would be decided, and the whole record of why."""

    decision: Outcome
    tier: Tier
    reason: str
    decision_source: Source
    record: Decision


class TryBody(msgspec.Struct, frozen=True, rename="camel"):
    """A rule that nobody has written down yet."""

    rule: str = ""
    effect: Literal["grant", "allow", "ask", "deny"] = "grant"
    """What it would be: a standing answer, or a rule in one of the lists of the user's file."""
    days: float = 14.0
    tool: str = "Bash"
    """Whose pattern it is, if it names no tool itself."""
    agent_id: str | None = None
    """Only this agent's calls."""
    destructive: bool = False
    request_id: str | None = None
    """The question that a standing answer would be the answer to: it binds its agent, its workspace and its files."""
    scope: Scope = Scope.ALWAYS
    """How long that answer would stand."""


class Change(msgspec.Struct, frozen=True):
    """A call that would have been decided otherwise."""

    command: str
    count: int
    before: Outcome
    after: Outcome
    at: int
    agent: str


class Trial(msgspec.Struct, frozen=True):
    """What a rule would have changed."""

    rule: str
    """As it was understood."""
    calls: int
    """How many calls were looked at …"""
    asked: int
    """… how many of them a person would be asked about today …"""
    changed: int
    """… and how many the rule would decide otherwise."""
    whole: bool
    """Whether these are all calls of that time, not only the latest."""
    changes: tuple[Change, ...]
