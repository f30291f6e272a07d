"""Records of `/health`, `/api/stats` and the list of sessions."""

from __future__ import annotations

import msgspec


class Point(msgspec.Struct, frozen=True):
    """What was decided in one stretch of time."""

    at: int
    allow: int = 0
    ask: int = 0
    deny: int = 0


class Asked(msgspec.Struct, frozen=True):
    """Something that people are asked about again and again."""

    tool: str
    begins: str
    """The program and its subcommand, or the tool."""
    example: str
    count: int
    allowed: int
    """How often a person said yes."""


class StoppedAttempt(msgspec.Struct, frozen=True):
    """Something that a sandbox stopped."""

    position: int
    at: int
    session: str
    agent: str
    text: str


class History(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """What happened in the last days."""

    since: int
    seconds: int
    """How long a stretch is."""
    points: tuple[Point, ...]
    calls: int
    """How many calls were decided; what a person's answer released is not counted twice."""
    asked: int
    answers: dict[str, int]
    """How questions ended."""
    answer_median: float | None = None
    """Seconds until a person answered: half took longer …"""
    answer_slow: float | None = None
    """… and one in ten took longer than this."""
    most_asked: tuple[Asked, ...]
    violations: int
    latest_violations: tuple[StoppedAttempt, ...]


class AgentSession(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """One agent at work."""

    id: str
    user_id: str
    agent_id: str
    first_at: int
    last_at: int
    events: int
    allow: int
    ask: int
    deny: int
    violations: int
    position: int
    """Where in the log its last record is …"""
    text: str
    """… and what that is about."""


class SessionList(msgspec.Struct, frozen=True):
    """Sessions, the one that did something last first."""

    sessions: tuple[AgentSession, ...]


class Health(msgspec.Struct, frozen=True, rename="camel"):
    """That the daemon is there."""

    status: str
    uptime: int
    """Milliseconds since the start."""
    active_runs: int
    connected_clients: int


class Stats(msgspec.Struct, frozen=True, rename="camel"):
    """What happened since the start: for an admin everybody's figures, for others their own."""

    version: str
    uptime: int
    pending: int
    decisions: dict[str, int]
    """How many decisions said what."""
    tiers: dict[str, int]
    questions: dict[str, int]
    """How many questions ended how."""
    connected_clients: int
    store: str
    """Where it is, for an admin; which kind it is, for others."""
    audit_position: int
    policy_fault: str | None = None
