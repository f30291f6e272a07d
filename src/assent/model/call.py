"""Who calls what: the session an agent works in, and one tool call in it."""

from __future__ import annotations

import functools
import re
from typing import Any

import msgspec

from assent.model.canonical_json import digest
from assent.model.enums import Mode
from assent.model.sandbox import SandboxProfile


class Workspace(msgspec.Struct, frozen=True):
    """The folders that a session may be let loose in."""

    roots: tuple[str, ...] = ()
    guessed: bool = False
    """Nobody fixed them, and no project was found: see `Session.guessed`."""


class Environment(msgspec.Struct, frozen=True, eq=False, dict=True):
    """The variables that an agent's commands start with, of those that matter: each with its value, sorted by name.

    None stands for a value that was not told.
    """

    variables: tuple[tuple[str, str | None], ...] = ()

    @functools.cached_property
    def digest(self) -> str:
        """Identify the environment by all of it; worked out once."""
        return digest(["assent.environment.v1", self.variables])

    @functools.cached_property
    def path(self) -> tuple[str, ...]:
        """Return the folders in which programs are looked for; an empty part is the current folder."""
        told = dict(self.variables).get("PATH")
        return () if told is None else tuple(dict.fromkeys(part or "." for part in told.split(":")))

    def __eq__(self, other: object) -> bool:
        """Compare by content: each is told anew with every call."""
        return self is other or (isinstance(other, Environment) and self.digest == other.digest)

    def __hash__(self) -> int:
        return hash(self.digest)


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """An agent at work. The workspace is fixed by the user, never by a call."""

    id: str = ""
    user: str = ""
    agent: str = ""
    workspace: tuple[str, ...] = ()
    guessed: bool = False
    """Nobody fixed the workspace, and no project was found: it is where the agent says it is. Nothing runs contained in
    it without a question."""
    modes: tuple[Mode, ...] = ()
    """Modes said by the agent, a strategy or a step: each may only tighten."""
    interactive: bool = True
    run: bool = False
    """A run of the daemon's own: reads outside the workspace ask as well."""
    confined: bool = False
    """A run that no admin started: what lies outside the workspace is an admin's to allow, each time."""
    remote: bool = False
    """The agent's disk is not the daemon's, which therefore looks at nothing there."""
    environment: Environment | None = None
    """What the agent's commands start with; None if that was not told, and then nothing is assumed of it."""
    shell: str = ""
    """What runs the agent's lines, if that was told: bash, zsh, pwsh …"""


class Trace(msgspec.Struct, frozen=True):
    """Where a call belongs in a trace that its host keeps: as W3C's `traceparent` names it."""

    trace_id: str
    span_id: str


_TRACEPARENT = re.compile("[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")


def read_trace(traceparent: str | None) -> Trace | None:
    """Read a `traceparent`; what is none is no trace."""
    found = None if traceparent is None else _TRACEPARENT.fullmatch(traceparent)
    # Zeros alone stand for nothing.
    return Trace(found[1], found[2]) if found and found[1].strip("0") and found[2].strip("0") else None


class ToolCall(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One call of one tool, exactly as the agent wants to make it."""

    tool: str
    input: dict[str, Any] = {}
    cwd: str | None = None
    call_id: str | None = None
    deadline: float | None = None
    override: bool = False
    """Asks once more where a session deny would refuse."""
    trace: Trace | None = None
    """Written down with what is decided, and heard by nobody who decides."""
    step: str | None = None
    """The step of a run that makes it; written down, and heard by nobody who decides."""
    rewritable: bool = False
    """Whoever makes it runs what a person changed its input to. Others are told to make the changed call instead."""
    secrets: tuple[str, ...] = ()
    """Names of input fields that their tool calls secret: decided about as they are, and masked in the log."""

    @functools.cached_property
    def digest(self) -> str:
        """Identify the call by tool, input and cwd alone; `bound_digest` adds whose it is."""
        return digest(["assent.call.v1", self.tool, self.input, self.cwd])


def bound_digest(
    call: ToolCall, session: Session, tool: str, boundary: SandboxProfile | None, environment: str = ""
) -> str:
    """Identify what an approval binds to: who, where, what, inside which boundary, and in which environment.

    `environment` is that of `Reading`: empty where it changes nothing about the call. Not covered: call id, deadline,
    mode, trace, step, whether it is rewritable, and which fields are called secret. `tool` is the canonical name, so
    that aliases share an approval.
    """
    who = [session.user, session.agent, session.id, session.workspace]
    told = [environment] if environment else []
    return digest(["assent.approval.v1", who, call.cwd, tool, call.input, boundary, *told])
