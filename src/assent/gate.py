"""What every dialect calls: a call is decided, recorded and, where a person must say, asked about.

A ruling leaves only after its events are durable. What can not be written is a denial that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec

from assent.engine import Engine
from assent.model import Answer, Approval, Decision, Event, Principal, Session, ToolCall

Engines: TypeAlias = Callable[[ToolCall, Session], Engine]
"""Finds the engine that decides a call: by its folder, and without a disk where the session is remote."""


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that is on record."""

    decision: Decision
    """Where its verdict is ask, `approval` is the question, and `approval_action_id` its id."""
    approval: Approval | None = None
    """The question that is pending, or the one whose answer made this decision."""
    updated_input: dict[str, Any] | None = None
    """What to run instead of the call's own input, if a person changed it."""
    position: int = 0
    """Where in the log its (last) event is; 0 if it could not be written, and then it is a deny."""


class Gate:
    """Decides, records, asks and releases. One for a process."""

    async def decide(self, call: ToolCall, session: Session, *, prefix: str = "perm", waiting: bool = False) -> Ruling:
        """Decide a call and record it durably; an ask opens a question, or joins the one that is pending.

        An answer given meanwhile to the same call (same digest) is used here, once. Never raises for anything
        that is wrong with the call or the store: that is a denial. `prefix` begins the question's id
        (`perm_…`, `hook_…`); `waiting` says that the caller stays for the answer.
        """
        raise NotImplementedError

    async def settle(self, call: ToolCall, session: Session, wait: float, *, prefix: str = "perm") -> Ruling:
        """Decide; where a person must say, wait for up to `wait` seconds, then decide again by the answer.

        When the time is up the ruling is the ask, and the question stays pending without its caller.
        """
        raise NotImplementedError

    async def answer(self, approval_id: str, answer: Answer, principal: Principal) -> Approval:
        """Answer a question for good, durably, and wake whoever waits.

        Raises `NotFoundError` (also for what the principal may not see), `ForbiddenError` (an agent's token),
        `AlreadyAnsweredError` (`.approval` says how and by whom), `ContradictionError` (a bad pair of scope and
        verdict, a pattern that is no rule), or `RefusedError` (`.decision`: policy denies the modified input).
        """
        raise NotImplementedError

    async def cancel(self, approval_id: str, why: str) -> Approval:
        """Withdraw a pending question; `why` is kept as `by`. Raises as `answer` does."""
        raise NotImplementedError

    def preview(self, call: ToolCall, session: Session) -> Decision:
        """Decide without a record and without a question; what people said before counts."""
        raise NotImplementedError

    async def record(self, events: Sequence[Event]) -> tuple[int, ...]:
        """Append events and return their positions once they are durable; raises `StoreError` if they are not."""
        raise NotImplementedError
