"""Records of `/api/hooks/classify`."""

from __future__ import annotations

from typing import Any

import msgspec

from assent.model import Tier


class ClassifyBody(msgspec.Struct, frozen=True, rename="camel"):
    """A tool call that an agent wants to make."""

    tool_name: str | None = None
    tool_input: dict[str, Any] | None = None
    agent_id: str | None = None
    user_id: str | None = None
    cwd: str | None = None
    session_id: str | None = None
    tool_call_id: str | None = None
    mode: str | None = None
    """A mode that the agent is in; it may only tighten."""
    honours_updated_input: bool = False
    """The caller runs `updatedInput` where the answer has one; else it is told to make the changed call."""


class Classified(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Whether the call may run, how bad it is, and why."""

    allow: bool
    tier: Tier
    reason: str
    request_id: str | None = None
    """The question that is pending."""
    updated_input: dict[str, Any] | None = None
    """What to run instead: a person changed it. Only for callers that said they honour it."""
    feedback: str | None = None
