"""What happened in a sandbox, as whoever set it up tells it, and the log's events of it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal, TypeAlias

import msgspec

from assent.model import Event, SandboxProfile, Violation, printable
from assent.sandbox.left_programs import Programs

Happened: TypeAlias = Literal[
    "sandbox.applied",
    "sandbox.violation",
    "process.started",
    "process.completed",
    "process.terminated",
    "runtime.error",
]


_LONGEST_COMMAND = 4000
ENDS = ("process.completed", "process.terminated", "runtime.error")


class SandboxReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One thing that happened."""

    type: Happened
    event_id: str = ""
    timestamp: str = ""
    profile: SandboxProfile | None = None
    """The boundary as it is in force; at the end, with references to what was stopped."""
    violation: Violation | None = None
    exit_code: int | None = None
    stopped: str | None = None
    """What Assent ended the command for."""
    reason: str | None = None
    command: Annotated[str, msgspec.Meta(max_length=_LONGEST_COMMAND)] | None = None
    """What begins, as one would write it."""
    programs: Programs | None = None
    """What the command left in the workspace that runs later, or decides what does."""

    @property
    def summary(self) -> str:
        """Say it in one line."""
        if self.violation is not None:
            return f"stopped: {self.violation.words}"
        if self.type == "sandbox.applied" and self.profile is not None:
            return f"inside the profile {self.profile.name}"
        if self.type == "process.started":
            return "begins" if self.command is None else f"begins: {self.command}"
        return self.reason or f"ended with {self.exit_code}"

    @property
    def is_end(self) -> bool:
        """Tell whether nothing more comes of it."""
        return self.type in ENDS


class SandboxOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """Whose sandbox it is."""

    run: str
    """The run of one command in one sandbox."""
    user: str
    agent: str = ""
    session: str = ""
    ticket: str | None = None
    """The decision that it carries out, if any …"""
    digest: str | None = None
    """… and that decision's digest."""
    approval: str | None = None
    reporter: str = ""
    """The token of whoever told."""


def begins(argv: Sequence[str]) -> SandboxReport:
    """Report that a command begins."""
    return SandboxReport(type="process.started", command=printable(shlex.join(argv))[:_LONGEST_COMMAND])


def stamp(report: SandboxReport) -> SandboxReport:
    """Give a report its time, and an id by which others can refer to it."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return msgspec.structs.replace(report, event_id=f"evt_{os.urandom(12).hex()}", timestamp=now)


def event_of(report: SandboxReport, origin: SandboxOrigin) -> Event:
    """Make the log's event of a report."""
    session = origin.session or origin.run
    said = {
        "user": origin.user,
        "agent": origin.agent,
        "tool": "Bash",
        "summary": report.summary,
        "decision": origin.ticket,
        "digest": origin.digest,
        "reportedBy": origin.reporter or None,
        "exitCode": report.exit_code,
        "stopped": report.stopped,
        "process": origin.run if report.type.startswith("process.") else None,
        "reason": report.reason,
        "command": report.command,
        "programs": None if report.programs is None else msgspec.to_builtins(report.programs),
    }
    return Event(
        type=report.type,
        event_id=report.event_id,
        timestamp=report.timestamp,
        session_id=session,
        sequence=0,
        thread_id=session,
        turn_id=origin.run,
        run_id=origin.run,
        action_id=origin.approval,
        payload={key: value for key, value in said.items() if value is not None},
        sandbox_profile=report.profile,
        violation=report.violation,
        refs=() if origin.ticket is None else (f"ticket:{origin.ticket}",),
    )
