"""How much one agent may have waiting for a person: so many questions, and so many bytes of them."""

from __future__ import annotations

import msgspec

from assent.approvals.rows import approval_row
from assent.model import Approval
from assent.store.cursor import Cursor

_WAITING = (
    "SELECT count(*), coalesce(sum(coalesce(length(call), 0) + coalesce(length(decision), 0)), 0) FROM approvals "
    "WHERE state = 'pending' AND user_id = ? AND agent_id = ?"
)


class Limits(msgspec.Struct, frozen=True):
    """The bounds of each agent of each user. Questions that ran out, or were answered, do not count."""

    questions: int = 1000
    size: int = 64 << 20
    """Bytes of calls and decisions, which are kept whole while their questions wait."""


def find_excess(cursor: Cursor, limits: Limits, approval: Approval) -> str | None:
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
