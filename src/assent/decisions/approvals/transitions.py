"""The states of a question in the store. Each transition is one guarded SQL statement, written with its event."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any

import msgspec

from assent.audit.log import Log
from assent.decisions.audit_events import granted, requested, resolved
from assent.decisions.call_summary import secrets_of
from assent.decisions.errors import AlreadyAnsweredError
from assent.decisions.rows import APPROVAL_COLUMNS, approval_row, encode, read_approval, read_grant
from assent.model import Answer, Approval, Grant, NotFoundError, QuestionKind, Scope, State
from assent.model.decision import CLOCK_SLACK
from assent.store.cursor import Cursor

TOPIC = "approvals"
GRANTS = "grants"

_SELECT = f"SELECT {APPROVAL_COLUMNS} FROM approvals"  # noqa: S608 - constants
_INSERT = f"INSERT INTO approvals ({APPROVAL_COLUMNS}) VALUES ({', '.join('?' * 21)})"  # noqa: S608 - constants
_PENDING = _SELECT + " WHERE digest = ? AND kind = ? AND state = 'pending' AND expires_at > ?"
_PENDING_CALL = _PENDING + " AND call_id = ?"
_PENDING_ANY = _PENDING + " ORDER BY created_at, id LIMIT 1"
_SETTLED = (
    _SELECT + " WHERE digest = ? AND kind = ? AND state IN ('approved', 'rejected') "
    "AND (used_at IS NULL OR (state = 'rejected' AND call_id = ?)) AND expires_at > ? AND resolved_at <= ? "
    "ORDER BY CASE WHEN call_id = ? THEN 0 ELSE 1 END, resolved_at DESC, id LIMIT 1"
)
_RESOLVE = (
    "UPDATE approvals SET state = ?, resolved_at = ?, resolved_by = ?, answer = ?, expires_at = ?, call = NULL, "
    "decision = NULL WHERE id = ? AND state = 'pending' AND expires_at > ?"
)
_END = (
    "UPDATE approvals SET state = ?, resolved_at = ?, resolved_by = ?, call = NULL, decision = NULL "
    "WHERE id = ? AND state = 'pending'"
)
_UNUSED = _SELECT + " WHERE id = ? AND digest = ? AND state = 'approved' AND used_at IS NULL"
_USE = (
    "UPDATE approvals SET used_at = ?, answer = ? WHERE id = ? AND state = ? AND used_at IS NULL "
    "AND expires_at > ? AND resolved_at <= ?"
)
_USE_UNUSED = "UPDATE approvals SET used_at = ? WHERE id = ? AND used_at IS NULL AND state = 'approved'"
_GRANTS_OF = "SELECT body, revoked_at FROM grants WHERE approval = ? AND revoked_at IS NULL"
_MOVE = (
    "UPDATE approvals SET digest = ?, answer = ? WHERE id = ? AND digest = ? AND state = 'approved' "
    "AND used_at IS NULL AND expires_at > ? AND resolved_at <= ?"
)


def new_id(prefix: str, now: float) -> str:
    """Make an id that sorts by time: `perm_1711929600000_a1b2c3d4e5`."""
    return f"{prefix}_{int(now * 1000)}_{secrets.token_hex(5)}"


def find(cursor: Cursor, approval_id: str) -> Approval | None:
    """Return one question; None if there is none with that id."""
    rows = cursor.fetch(_SELECT + " WHERE id = ?", approval_id)
    return read_approval(rows[0]) if rows else None


def find_pending(cursor: Cursor, digest: str, kind: QuestionKind, call_id: str | None) -> Approval | None:
    """Return the pending question that a call joins: by its call id and digest, or without one by the digest alone."""
    if call_id is None:
        rows = cursor.fetch(_PENDING_ANY, digest, kind, cursor.now)
    else:
        rows = cursor.fetch(_PENDING_CALL, digest, kind, cursor.now, call_id)
    return read_approval(rows[0]) if rows else None


def find_settled(cursor: Cursor, digest: str, kind: QuestionKind, call_id: str | None) -> Approval | None:
    """Return the answer for a call: an unused yes, or a no that was not delivered; an answer to its own id first.

    A call that repeats its id gets the same no again.
    """
    now = cursor.now
    rows = cursor.fetch(_SETTLED, digest, kind, call_id, now, now + CLOCK_SLACK, call_id)
    return read_approval(rows[0]) if rows else None


def open_question(cursor: Cursor, log: Log, approval: Approval) -> None:
    """Insert a new question, record it and notify subscribers."""
    cursor.execute(_INSERT, *approval_row(approval))
    log.append(cursor, (log.prepare(requested(approval), _secrets_in(approval)),))
    cursor.announce(TOPIC, approval.id, approval)


def _secrets_in(approval: Approval) -> Any:
    return None if approval.call is None else secrets_of(approval.call)


def answer_question(
    cursor: Cursor, log: Log, approval_id: str, answer: Answer, by: str, *, grant: Grant | None, expiry: float
) -> Approval:
    """Answer a pending question, or raise `AlreadyAnsweredError` or `NotFoundError`."""
    now = cursor.now
    state = State.APPROVED if answer.verdict.value == "allow" else State.REJECTED
    until = _expiry_of(answer, now + expiry)
    if cursor.execute(_RESOLVE, state.value, now, by, encode(answer), until, approval_id, now) != 1:
        raise _already_answered(cursor, approval_id)
    approval = _get(cursor, approval_id)
    if grant is not None:
        put_grant(cursor, log, msgspec.structs.replace(grant, created_at=now), approval.session.id)
    _publish(cursor, log, approval, grant)
    return approval


def end_question(cursor: Cursor, log: Log, approval_id: str, state: State, by: str) -> Approval:
    """Expire or cancel a pending question, or raise as `answer_question` does."""
    if cursor.execute(_END, state.value, cursor.now, by, approval_id) != 1:
        raise _already_answered(cursor, approval_id)
    approval = _get(cursor, approval_id)
    _publish(cursor, log, approval, None)
    return approval


def use_answer(cursor: Cursor, approval: Approval) -> Approval | None:
    """Mark an answer as used and delete its modified input; None if it was used before, or expired."""
    now = cursor.now
    answer, encoded = _without_input(approval)
    if cursor.execute(_USE, now, encoded, approval.id, approval.state.value, now, now + CLOCK_SLACK) != 1:
        return None
    used = msgspec.structs.replace(approval, used_at=now, answer=answer)
    cursor.announce(TOPIC, approval.id, used)
    return used


def move_answer(cursor: Cursor, approval: Approval, digest: str) -> Approval | None:
    """Move an unused yes to the call that the person changed it to; None if it was used before, or expired."""
    now = cursor.now
    answer, encoded = _without_input(approval)
    if cursor.execute(_MOVE, digest, encoded, approval.id, approval.digest, now, now + CLOCK_SLACK) != 1:
        return None
    moved = msgspec.structs.replace(approval, digest=digest, answer=answer)
    cursor.announce(TOPIC, approval.id, moved)
    return moved


def _without_input(approval: Approval) -> tuple[Answer | None, bytes | None]:
    """Return an answer without its modified input, and as JSON."""
    if approval.answer is None:
        return None, None
    answer = msgspec.structs.replace(approval.answer, modified_input=None)
    return answer, encode(answer)


def use_with_grants(cursor: Cursor, grant_ids: Iterable[str], digest: str) -> None:
    """Mark the yes to a call as used if a grant made by the same yes lets that call run.

    Otherwise the yes would let the call run once more after the grant ends.
    """
    for grant_id in grant_ids:
        for (asked,) in cursor.fetch("SELECT approval FROM grants WHERE id = ?", grant_id):
            for row in cursor.fetch(_UNUSED, asked, digest):
                use_answer(cursor, read_approval(row))


def mark_caller(cursor: Cursor, approval_id: str, *, gone: bool) -> None:
    """Set whether a caller waits for the answer."""
    changed = cursor.execute(
        "UPDATE approvals SET caller_gone = ? WHERE id = ? AND state = 'pending' AND caller_gone <> ?",
        *(gone, approval_id, gone),
    )
    if changed:
        cursor.announce(TOPIC, approval_id, find(cursor, approval_id))


def is_due(cursor: Cursor) -> bool:
    """Tell whether a pending question has expired."""
    return bool(cursor.fetch("SELECT 1 FROM approvals WHERE state = 'pending' AND expires_at <= ? LIMIT 1", cursor.now))


def expire_due(cursor: Cursor, log: Log) -> list[Approval]:
    """Mark expired questions as such."""
    sql = "SELECT id FROM approvals WHERE state = 'pending' AND expires_at <= ? ORDER BY expires_at LIMIT 1000"
    return [end_question(cursor, log, i, State.EXPIRED, "expiry") for (i,) in cursor.fetch(sql, cursor.now)]


def put_grant(cursor: Cursor, log: Log, grant: Grant, session: str) -> None:
    """Insert a new grant, record it and notify subscribers."""
    cursor.execute(
        "INSERT INTO grants (id, user_id, created_at, expires_at, approval, body) VALUES (?, ?, ?, ?, ?, ?)",
        *(grant.id, grant.user or "", grant.created_at, grant.expires_at, grant.approval, encode(grant)),
    )
    log.append(cursor, (log.prepare(granted(grant, session)),))
    cursor.announce(GRANTS, grant.id, grant)


def revoke_grant(cursor: Cursor, log: Log, grant: Grant, by: str) -> Grant:
    """Revoke a grant, and the yes that made it if no call has used it; record it and notify subscribers."""
    now = cursor.now
    cursor.execute("UPDATE grants SET revoked_at = ? WHERE id = ?", now, grant.id)
    cursor.execute(_USE_UNUSED, now, grant.approval)
    ended = msgspec.structs.replace(grant, revoked_at=now)
    log.append(cursor, (log.prepare(granted(ended, grant.session or "", revoked_by=by)),))
    cursor.announce(GRANTS, grant.id, ended)
    return ended


def revoke_unused(cursor: Cursor, log: Log, approval: Approval, by: str) -> None:
    """Revoke a yes that no call has used, and its grants; any other outcome stays."""
    if approval.state is State.APPROVED:
        cursor.execute(_USE_UNUSED, cursor.now, approval.id)
        for body, revoked in cursor.fetch(_GRANTS_OF, approval.id):
            revoke_grant(cursor, log, read_grant(body, revoked), by)


def _expiry_of(answer: Answer, usual: float) -> float:
    """Return when an unused answer expires: an answer for more than one call no later than its own end."""
    if answer.until is None:
        return usual
    return answer.until if answer.scope is Scope.ONCE else min(usual, answer.until)


def _publish(cursor: Cursor, log: Log, approval: Approval, grant: Grant | None) -> None:
    log.append(cursor, (log.prepare(resolved(approval, grant)),))
    cursor.announce(TOPIC, approval.id, approval)


def _get(cursor: Cursor, approval_id: str) -> Approval:
    approval = find(cursor, approval_id)
    if approval is None:
        raise NotFoundError(f"there is no request `{approval_id}`")
    return approval


def _already_answered(cursor: Cursor, approval_id: str) -> AlreadyAnsweredError:
    """Return the error that says who answered first; `expiry` if the question has expired but is not marked yet."""
    approval = _get(cursor, approval_id)
    if approval.state is State.PENDING:
        now = cursor.now
        approval = msgspec.structs.replace(approval, state=State.EXPIRED, by="expiry", resolved_at=now, call=None)
    return AlreadyAnsweredError(approval)
