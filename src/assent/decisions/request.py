"""One call on its way to a ruling: who makes it, and what its host adds to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from assent.audit.entry import LogEntry
from assent.model import Decision, Event, Opinion, Session, ToolCall

OnAllow: TypeAlias = Callable[[ToolCall], tuple[Event | LogEntry, ...]]


class HostContext(msgspec.Struct, frozen=True):
    """What the program that makes a call adds to it."""

    opinions: tuple[Opinion, ...] = ()
    """What a tool's own check or a hook said about this input. An opinion can only tighten a decision."""
    on_allow: OnAllow = lambda _: ()
    """Returns the events that say that the call runs. They are written in the same transaction as its allow, and are
    about the call that runs, which a person may have changed."""
    no_sandbox: bool = False
    """The host cannot set up a sandbox: a call that needs one does not run, and `on_allow` is not written."""

    def events_after(self, decision: Decision, call: ToolCall) -> tuple[Event | LogEntry, ...]:
        """Return the events to write right after a decision that lets a call run."""
        runs = decision.available and not (self.no_sandbox and decision.boundary is not None)
        return self.on_allow(call) if runs else ()


NO_HOST = HostContext()


class DecisionRequest(msgspec.Struct, frozen=True):
    """A call to decide."""

    call: ToolCall
    session: Session
    prefix: str = "perm"
    """Begins the id of a question about the call."""
    host: HostContext = NO_HOST
    waiting: bool = False
    """Whether the caller waits for a person's answer."""
    why_again: str = ""
    """Why an earlier yes to the same call no longer counts."""
