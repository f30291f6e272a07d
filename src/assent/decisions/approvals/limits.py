"""How much one agent may have waiting: so many questions to a person or calls to be run, and so many bytes of them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from assent.decisions.rows import approval_row, encode
from assent.model import Approval, Ticket
from assent.store.cursor import Cursor

TICKETS_EACH = 10
"""How many calls may wait to be run, for each question that may wait."""
_WAITING = (
    "SELECT count(*), coalesce(sum(coalesce(length(call), 0) + coalesce(length(decision), 0)), 0) FROM approvals "
    "WHERE state = 'pending' AND user_id = ? AND agent_id = ?"
)


class PendingLimits(msgspec.Struct, frozen=True):
    """The bounds of each agent of each user. Questions that ran out, or were answered, do not count."""

    questions: int = 1000
    size: int = 64 << 20
    """Bytes of calls and decisions, which are kept whole while their questions wait."""


class Room:
    """What the agents of this process were let run and have not begun: such calls are kept whole, too.

    What waits in the store when the process starts counts as well, whoever let it run.
    """

    def __init__(self, limits: PendingLimits, waiting: Iterable[tuple[Ticket, int]] = ()) -> None:
        """Begin with tickets that can still be used, each with the size of its call."""
        self._limits = limits
        self._taken: dict[tuple[str, str], dict[str, tuple[float, int]]] = {}
        for ticket, size in waiting:
            who = (ticket.session.user, ticket.session.agent)
            self._taken.setdefault(who, {})[ticket.id] = (ticket.expires_at, size)

    def take(self, ticket: Ticket) -> str | None:
        """Keep room for a ticket until it is used or runs out, or say why there is none."""
        who, now = (ticket.session.user, ticket.session.agent), ticket.created_at
        taken = {i: each for i, each in self._taken.get(who, {}).items() if each[0] > now}
        size = len(encode(ticket.call))
        if (
            len(taken) >= TICKETS_EACH * self._limits.questions
            or sum(s for _, s in taken.values()) + size > self._limits.size
        ):
            self._taken[who] = taken
            return f"agent `{who[1]}` has too much waiting to be run: run some of it, or wait until it runs out"
        self._taken[who] = {**taken, ticket.id: (ticket.expires_at, size)}
        return None

    def leave(self, ticket: Ticket) -> None:
        """Hear that a ticket was used."""
        self._taken.get((ticket.session.user, ticket.session.agent), {}).pop(ticket.id, None)


def find_excess(cursor: Cursor, limits: PendingLimits, approval: Approval) -> str | None:
    """Say why a new question cannot be asked; None if it can."""
    count, size = cursor.fetch(_WAITING, approval.user, approval.agent)[0]
    who = f"agent `{approval.agent}`" if approval.agent else f"`{approval.user}`"
    if count >= limits.questions:
        return f"{who} has {count} questions waiting, and may have no more: answer some of them (`server.pending`)"
    own = sum(len(column) for column in approval_row(approval) if isinstance(column, bytes))
    if size + own > limits.size:
        most = f"{limits.size / (1 << 20):.3g} MiB"
        return f"the questions of {who} that wait may have {most} in all: answer some of them (`server.pending_size`)"
    return None
