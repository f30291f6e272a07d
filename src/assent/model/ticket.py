"""A ticket: one decided line may run once, inside the boundary that was decided."""

from __future__ import annotations

import msgspec

from assent.model.call import Session, ToolCall
from assent.model.sandbox import SandboxProfile, Violation


class Ticket(msgspec.Struct, frozen=True, kw_only=True):
    """What the launcher of a decided call trades in for its boundary. It is used once, and soon."""

    id: str
    session: Session
    call: ToolCall | None = None
    """The decided call; forgotten once the ticket is used."""
    line: str
    """The digest of the words to run and the folder to run them in."""
    digest: str
    """The decision's: who, what, where, and inside which boundary."""
    boundary: SandboxProfile
    approval: str | None = None
    """The question whose yes led to it …"""
    bound: tuple[tuple[str, str], ...] = ()
    """… and what that yes was bound to."""
    created_at: float
    expires_at: float
    used_at: float | None = None
    ended_at: float | None = None
    stopped: tuple[Violation, ...] = ()
    """What the boundary kept the line from doing."""
