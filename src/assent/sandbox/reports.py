"""Reports of what happened in a sandbox, and the events that the log keeps of them."""

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
    """One report."""

    type: Happened
    event_id: str = ""
    timestamp: str = ""
    profile: SandboxProfile | None = None
    """The boundary in force; in the last report, with references to violations."""
    violation: Violation | None = None
    exit_code: int | None = None
    stopped: str | None = None
    """Why Assent ended the command."""
    reason: str | None = None
    command: Annotated[str, msgspec.Meta(max_length=_LONGEST_COMMAND)] | None = None
    """The command that begins, as a shell line."""
    programs: Programs | None = None
    """Files that the command left in the workspace and that may run later."""

    @property
    def summary(self) -> str:
        """Describe the report in one line."""
        if self.violation is not None:
            return f"stopped: {self.violation.words}"
        if self.type == "sandbox.applied" and self.profile is not None:
            return f"inside the profile {self.profile.name}"
        if self.type == "process.started":
            return "begins" if self.command is None else f"begins: {self.command}"
        return self.reason or f"ended with {self.exit_code}"

    @property
    def is_end(self) -> bool:
        """Tell whether this is the last report of its sandbox."""
        return self.type in ENDS


class SandboxOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """The run, user and decision that a sandbox belongs to."""

    run: str
    """The id of this run of one command."""
    user: str
    agent: str = ""
    session: str = ""
    ticket: str | None = None
    """The decision that the run carries out, if any."""
    digest: str | None = None
    """The digest of that decision."""
    approval: str | None = None
    reporter: str = ""
    """The token of the reporting client."""


def begins(argv: Sequence[str]) -> SandboxReport:
    """Report that a command begins."""
    return SandboxReport(type="process.started", command=printable(shlex.join(argv))[:_LONGEST_COMMAND])


def stamp(report: SandboxReport) -> SandboxReport:
    """Give a report its time and an id."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return msgspec.structs.replace(report, event_id=f"evt_{os.urandom(12).hex()}", timestamp=now)


def event_of(report: SandboxReport, origin: SandboxOrigin) -> Event:
    """Convert a report to an event of the log."""
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
