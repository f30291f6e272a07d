"""Who calls what: the session an agent works in, and one tool call in it."""

from __future__ import annotations

import functools
from typing import Any

import msgspec

from assent.model.canonical import digest
from assent.model.sandbox import SandboxProfile
from assent.model.words import Mode


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """An agent at work. The workspace is fixed by the user, never by a call."""

    id: str = ""
    user: str = ""
    agent: str = ""
    workspace: tuple[str, ...] = ()
    modes: tuple[Mode, ...] = ()
    """Modes said by the agent, a strategy or a step: each may only tighten."""
    interactive: bool = True
    run: bool = False
    """A run of the daemon's own: reads outside the workspace ask as well."""
    remote: bool = False
    """The agent's disk is not the daemon's, which therefore looks at nothing there."""
    path: tuple[str, ...] = ()
    """Where the agent looks for programs, beside where the daemon does."""


class ToolCall(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One call of one tool, exactly as the agent wants to make it."""

    tool: str
    input: dict[str, Any] = {}
    cwd: str | None = None
    call_id: str | None = None
    deadline: float | None = None
    override: bool = False
    """Asks once more where a session deny would refuse."""

    @functools.cached_property
    def digest(self) -> str:
        """Identify the call by tool, input and cwd alone; `bound_digest` adds whose it is."""
        return digest(["assent.call.v1", self.tool, self.input, self.cwd])


def bound_digest(call: ToolCall, session: Session, tool: str, boundary: SandboxProfile | None) -> str:
    """Identify what an approval binds to: who, where, what, and inside which boundary.

    Not covered: call id, deadline, mode. `tool` is the canonical name, so that aliases share an approval.
    """
    who = [session.user, session.agent, session.id, session.workspace]
    return digest(["assent.approval.v1", who, call.cwd, tool, call.input, boundary])
