"""Records of `/api/grants` and `/api/destructive`."""

from __future__ import annotations

import msgspec

from assent.model import Scope, Verdict


class StandingAnswer(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """What a person said for more than one call."""

    id: str
    verdict: Verdict
    scope: Scope
    pattern: str | None = None
    """The rule it covers; without one it covers exactly the call by this digest."""
    digest: str | None = None
    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    workspace: tuple[str, ...] | None = None
    boundary: str | None = None
    destructive: bool = False
    created_at: int
    expires_at: int | None = None
    by: str = ""
    request_id: str | None = None


class GrantList(msgspec.Struct, frozen=True):
    """The standing answers in force."""

    grants: tuple[StandingAnswer, ...]


class Ended(msgspec.Struct, frozen=True):
    """What was ended."""

    success: bool
    id: str


class EnableBody(msgspec.Struct, frozen=True, rename="camel"):
    """For whom, or for which call, and for how long."""

    minutes: float | None = None
    agent_id: str | None = None
    session_id: str | None = None
    digest: str | None = None


class Enabled(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """One enablement."""

    id: str
    user_id: str
    agent_id: str | None = None
    session_id: str | None = None
    digest: str | None = None
    until: int
    created_at: int
    by: str


class EnablementList(msgspec.Struct, frozen=True):
    """The enablements in force."""

    enablements: tuple[Enabled, ...]
