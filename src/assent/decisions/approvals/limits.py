"""Limits for each agent: how many questions and unused tickets may be pending, and how many bytes they may hold."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from assent.decisions.rows import approval_row, encode
from assent.model import Approval, Ticket
from assent.store.cursor import Cursor

TICKETS_PER_QUESTION = 10
"""How many unused tickets an agent may have for each question that it may have pending."""
_PENDING = (
    "SELECT count(*), coalesce(sum(coalesce(length(call), 0) + coalesce(length(decision), 0)), 0) FROM approvals "
    "WHERE state = 'pending' AND user_id = ? AND agent_id = ?"
)


class PendingLimits(msgspec.Struct, frozen=True):
    """The limits for each agent of each user. Expired and answered questions do not count."""

    questions: int = 1000
    size: int = 64 << 20
    """Bytes of calls and decisions, which are stored in full while their questions are pending."""


class TicketQuota:
    """Counts the unused tickets of each agent: their calls are stored in full, too.

    What waits in the store when the process starts counts as well, whoever let it run.
    """

    def __init__(self, limits: PendingLimits, waiting: Iterable[tuple[Ticket, int]] = ()) -> None:
        """Begin with tickets that can still be used, each with the size of its call."""
        self._limits = limits
        self._unused: dict[tuple[str, str], dict[str, tuple[float, int]]] = {}
        for ticket, size in waiting:
            who = (ticket.session.user, ticket.session.agent)
            self._unused.setdefault(who, {})[ticket.id] = (ticket.expires_at, size)

    def reserve(self, ticket: Ticket) -> str | None:
        """Count a ticket until it is used or expires; if the agent has too many, return why it gets none."""
        who, now = (ticket.session.user, ticket.session.agent), ticket.created_at
        unused = {i: each for i, each in self._unused.get(who, {}).items() if each[0] > now}
        size = len(encode(ticket.call))
        if (
            len(unused) >= TICKETS_PER_QUESTION * self._limits.questions
            or sum(s for _, s in unused.values()) + size > self._limits.size
        ):
            self._unused[who] = unused
            return f"agent `{who[1]}` has too many unused tickets; run some of its calls, or wait until they expire"
        self._unused[who] = {**unused, ticket.id: (ticket.expires_at, size)}
        return None

    def release(self, ticket: Ticket) -> None:
        """Stop counting a ticket that was used."""
        self._unused.get((ticket.session.user, ticket.session.agent), {}).pop(ticket.id, None)


def find_excess(cursor: Cursor, limits: PendingLimits, approval: Approval) -> str | None:
    """Return why a new question cannot be asked; None if it can."""
    count, size = cursor.fetch(_PENDING, approval.user, approval.agent)[0]
    who = f"agent `{approval.agent}`" if approval.agent else f"`{approval.user}`"
    if count >= limits.questions:
        return f"{who} already has {count} pending questions; answer some, or raise `server.pending`"
    own = sum(len(column) for column in approval_row(approval) if isinstance(column, bytes))
    if size + own > limits.size:
        most = f"{limits.size / (1 << 20):.3g} MiB"
        return f"the pending questions of {who} exceed {most}; answer some, or raise `server.pending_size`"
    return None
