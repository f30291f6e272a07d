"""The states of a ticket (issued, used, ended) in the store. Each transition is one guarded SQL statement."""

from __future__ import annotations

import secrets
from typing import Any

import msgspec

from assent.decisions.rows import encode
from assent.model import NotFoundError, Ticket, ToolCall, Violation
from assent.model.decision import CLOCK_SLACK
from assent.store.cursor import Cursor
from assent.store.store import Store

TICKET_SECONDS = 600.0
"""Seconds until an unused ticket expires."""
STOPPED_SECONDS = 3600.0
"""Seconds for which a call that its sandbox stopped is asked about; afterwards the sandbox is tried again."""
RETENTION_SECONDS = 86400.0
"""Seconds until an expired ticket is deleted."""
MOST_STOPPED = 1000

_COLUMNS = "id, digest, created_at, expires_at, used_at, ended_at, call, body, stopped"
_INSERT = f"INSERT INTO tickets ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - constants
_SELECT = f"SELECT {_COLUMNS} FROM tickets"  # noqa: S608 - constants
_USE = (
    "UPDATE tickets SET used_at = ?, call = NULL "
    "WHERE id = ? AND used_at IS NULL AND expires_at > ? AND created_at <= ?"
)
_STOP = "UPDATE tickets SET stopped = ? WHERE id = ? AND used_at IS NOT NULL AND ended_at IS NULL"
_END = "UPDATE tickets SET ended_at = ? WHERE id = ? AND used_at IS NOT NULL AND ended_at IS NULL"
_STOPPED = (
    "SELECT stopped FROM tickets WHERE digest = :digest AND stopped IS NOT NULL AND used_at > :after "
    "ORDER BY used_at DESC LIMIT 1"
)
_WAITING = "SELECT body, length(call) FROM tickets WHERE used_at IS NULL AND call IS NOT NULL AND expires_at > :now"

_body = msgspec.json.Decoder(Ticket)
_call = msgspec.json.Decoder(ToolCall)
_violations = msgspec.json.Decoder(tuple[Violation, ...])


def new_id(now: float) -> str:
    """Make an id that nobody can guess."""
    return f"dec_{int(now * 1000)}_{secrets.token_hex(16)}"


def put_ticket(cursor: Cursor, ticket: Ticket) -> None:
    """Write a new ticket."""
    call = None if ticket.call is None else encode(ticket.call)
    body = encode(msgspec.structs.replace(ticket, call=None))
    cursor.execute(
        _INSERT, ticket.id, ticket.digest, ticket.created_at, ticket.expires_at, None, None, call, body, None
    )


async def find_ticket(store: Store, ticket_id: str) -> Ticket | None:
    """Return a ticket in any state."""
    rows = await store.query(_SELECT + " WHERE id = :id", {"id": ticket_id})
    return _read(rows[0]) if rows else None


def find_waiting(store: Store) -> list[tuple[Ticket, int]]:
    """Return the tickets that can still be used, without their calls, and how long those are."""
    rows = store.fetch(_WAITING, {"now": store.wall_clock()})
    return [(_body.decode(body), size) for body, size in rows]


def use_ticket(cursor: Cursor, ticket_id: str) -> bool:
    """Mark a ticket as used; False if it was used before, or expired."""
    now = cursor.now
    return cursor.execute(_USE, now, ticket_id, now, now + CLOCK_SLACK) == 1


def add_stopped(cursor: Cursor, ticket_id: str, violations: tuple[Violation, ...]) -> None:
    """Add what a sandbox stopped a running command from, or raise `NotFoundError` if it is not running."""
    rows = cursor.fetch("SELECT stopped FROM tickets WHERE id = ?", ticket_id)
    before = _violations.decode(rows[0][0]) if rows and rows[0][0] is not None else ()
    stopped = encode((*before, *violations)[:MOST_STOPPED])
    if cursor.execute(_STOP, stopped, ticket_id) != 1:
        raise NotFoundError(f"no command is running with ticket `{ticket_id}`")


def end_ticket(cursor: Cursor, ticket_id: str) -> None:
    """Mark a running command as ended, or raise `NotFoundError` if it is not running."""
    if cursor.execute(_END, cursor.now, ticket_id) != 1:
        raise NotFoundError(f"no command is running with ticket `{ticket_id}`")


async def find_stopped(store: Store, digest: str) -> tuple[Violation, ...]:
    """Return what the sandbox stopped this call from the last time, if that was less than an hour ago."""
    rows = await store.query(_STOPPED, {"digest": digest, "after": store.wall_clock() - STOPPED_SECONDS})
    return _violations.decode(rows[0][0]) if rows else ()


def has_unused_calls(cursor: Cursor) -> bool:
    """Tell whether an expired ticket still has its call."""
    return bool(cursor.fetch("SELECT 1 FROM tickets WHERE expires_at < ? AND call IS NOT NULL LIMIT 1", cursor.now))


def forget_unused_calls(cursor: Cursor) -> None:
    """Delete the calls of expired tickets."""
    cursor.execute("UPDATE tickets SET call = NULL WHERE expires_at < ? AND call IS NOT NULL", cursor.now)


def has_old_tickets(cursor: Cursor) -> bool:
    """Tell whether a ticket expired long enough ago to be deleted."""
    return bool(cursor.fetch("SELECT 1 FROM tickets WHERE expires_at < ? LIMIT 1", cursor.now - RETENTION_SECONDS))


def clear_old_tickets(cursor: Cursor) -> None:
    """Delete tickets that expired long ago."""
    cursor.execute("DELETE FROM tickets WHERE expires_at < ?", cursor.now - RETENTION_SECONDS)


def _read(row: tuple[Any, ...]) -> Ticket:
    return msgspec.structs.replace(
        _body.decode(row[7]),
        used_at=row[4],
        ended_at=row[5],
        call=None if row[6] is None else _call.decode(row[6]),
        stopped=() if row[8] is None else _violations.decode(row[8]),
    )
