"""Records of `/api/runtime/report_events`: what a host says about the calls that it ran."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec

from assent.model import SandboxProfile, Violation

Told: TypeAlias = Literal[
    "tool.progress",
    "tool.result",
    "tool.failed",
    "process.started",
    "process.output",
    "process.completed",
    "process.failed",
    "process.terminated",
    "sandbox.applied",
    "sandbox.violation",
    "hook.started",
    "hook.completed",
    "hook.failed",
    "runtime.warning",
]


Status: TypeAlias = Literal["completed", "error", "denied", "invalid"]
"""`denied` and `invalid` never ran, and no decision of the daemon let them."""


_Short = Annotated[str, msgspec.Meta(max_length=4000)]


MOST_EVENTS = 200


class HostEvent(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One thing that happened."""

    type: Told
    report_id: Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9_-]{8,64}$")] | None = None
    """What its teller calls it: told again by that name, it is not written down a second time."""
    tool_name: Annotated[str, msgspec.Meta(max_length=512)] = ""
    tool_call_id: Annotated[str, msgspec.Meta(max_length=512)] | None = None
    status: Status | None = None
    error: _Short | None = None
    summary: _Short | None = None
    duration_ms: float | None = None
    happened_at: Annotated[str, msgspec.Meta(max_length=64)] | None = None
    """When, by the host's clock: what is told late says so."""
    progress: float | None = None
    total: float | None = None
    message: _Short | None = None
    text: _Short | None = None
    """What a process wrote; excerpts are enough …"""
    stream: Literal["stdout", "stderr"] | None = None
    skipped: int | None = None
    """… if they say how many characters were left out."""
    traceparent: Annotated[str, msgspec.Meta(max_length=512)] | None = None
    """The place of the call in the host's own trace."""
    sandbox_profile: SandboxProfile | None = None
    violation: Violation | None = None


class ReportEventsBody(msgspec.Struct, frozen=True, rename="camel"):
    """What happened in a session, in order."""

    session_id: str
    events: Annotated[tuple[HostEvent, ...], msgspec.Meta(min_length=1, max_length=MOST_EVENTS)]
    cwd: str | None = None
    again: bool = False
    """Some of them were told before, and nobody answered."""


class EventsRecorded(msgspec.Struct, frozen=True):
    """How many events are in the log now."""

    recorded: int
