"""The result of deciding a call: a recorded decision, and what the caller needs to act on it."""

from __future__ import annotations

from typing import Any

import msgspec

from assent.model import Approval, Decision, Ticket, ToolCall


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded decision."""

    decision: Decision
    """If its verdict is ask, `approval` is the question, and `approval_action_id` the question's id."""
    approval: Approval | None = None
    """The pending question, or the one whose answer made this decision."""
    updated_input: dict[str, Any] | None = None
    """The input to run instead of the call's own, if a person changed it."""
    ticket: Ticket | None = None
    """Lets a caller outside the daemon run a sandboxed call, once."""
    sandboxed_input: dict[str, Any] | None = None
    """The input that runs the same call inside its sandbox, with the ticket."""
    is_rewritten: bool = False
    """The call already has the input that an earlier ruling gave in `sandboxed_input`: it may run as it is."""
    changed_call: ToolCall | None = None
    """What a person changed the call to, if the caller must make that call itself; it is allowed once."""
    position: int = 0
    """The position of its (last) event in the log; 0 if nothing could be written, and then the verdict is deny."""


class StaleError(Exception):
    """A grant or enablement that a decision relied on has changed; the call must be decided again."""

    def __init__(self, why: str = "") -> None:
        super().__init__(why)
        self.why = why
        """What changed, for the person who is asked again."""


class ChangedError(StaleError):
    """What would run is no longer what a person said yes to."""
