"""What a caller gets for a call: a decision that is on record, and what comes with it."""

from __future__ import annotations

from typing import Any

import msgspec

from assent.model import Approval, Decision, Ticket, ToolCall


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that is on record."""

    decision: Decision
    """Where its verdict is ask, `approval` is the question, and `approval_action_id` its id."""
    approval: Approval | None = None
    """The question that is pending, or the one whose answer made this decision."""
    updated_input: dict[str, Any] | None = None
    """What to run instead of the call's own input, if a person changed it."""
    ticket: Ticket | None = None
    """What a sandboxed call can be run with, by whoever runs it outside the daemon."""
    instead: dict[str, Any] | None = None
    """The input that does so: the same call, inside its boundary."""
    held: bool = False
    """The call is that input already, and may run as it is."""
    changed: ToolCall | None = None
    """What a person changed the call to, where its caller must make that call itself: it passes once."""
    position: int = 0
    """Where in the log its (last) event is; 0 if it could not be written, and then it is a deny."""


class StaleError(Exception):
    """What a decision relied on has changed since; it must be decided again."""

    def __init__(self, why: str = "") -> None:
        super().__init__(why)
        self.why = why
        """What a person is told, if it is what they said yes to."""


class ChangedError(StaleError):
    """What a person said yes to is no longer what would run."""
