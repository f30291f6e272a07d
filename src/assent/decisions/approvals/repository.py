"""Look up, list and wait for questions; list, make and revoke grants and enablements."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
import secrets
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from assent.audit.log import Log
from assent.decisions.approvals import transitions
from assent.decisions.approvals.unsaved_denials import UnsavedDenials
from assent.decisions.approvals.waiters import Waiters
from assent.decisions.audit_events import enabled
from assent.decisions.grants.active_grants import ActiveGrants
from assent.decisions.rows import APPROVAL_COLUMNS, ENABLEMENT_COLUMNS, read_approval, read_enablement, read_grant
from assent.model import (
    Approval,
    AssentError,
    Enablement,
    ForbiddenError,
    Grant,
    NotFoundError,
    Principal,
    Role,
    State,
    StoreError,
)
from assent.store.cursor import Cursor, Row
from assent.store.store import Store

ENABLEMENTS = "enablements"
LONGEST_MINUTES = 24 * 60.0
ONE_CALL_MINUTES = 5.0
LARGEST_PAGE = 4 << 20
"""Bytes of calls and decisions on one page of questions; a single larger question still makes a page."""
_TIME = re.compile(r"\d{1,12}(?:\.\d{1,12})?")
_EXPIRE_EVERY = 1.0
_RETRY_SECONDS = 1.0
_SELECT = f"SELECT {APPROVAL_COLUMNS} FROM approvals"  # noqa: S608 - constants
_SIZE = "coalesce(length(call), 0) + coalesce(length(decision), 0)"
_SELECT_ENABLEMENTS = f"SELECT {ENABLEMENT_COLUMNS} FROM enablements"  # noqa: S608 - constants


class Approvals:
    """All questions, grants and enablements of a store. A process has one."""

    def __init__(self, store: Store, log: Log) -> None:
        self._store = store
        self._log = log
        self.active_grants = ActiveGrants(store)
        self.waiters = Waiters()
        self.unsaved_denials = UnsavedDenials(store, log)
        self._stale: set[str] = set()
        self._stale_lock = threading.Lock()
        store.subscribe(self._on_change)
        store.every(_EXPIRE_EVERY, transitions.is_due, lambda cursor: transitions.expire_due(cursor, log))

    async def get(self, approval_id: str) -> Approval | None:
        """Return one question in any state; None if there is none with that id."""
        if "\0" in approval_id:  # PostgreSQL refuses a NUL
            return None
        if (denied := self.unsaved_denials.find(approval_id)) is not None:
            return denied
        rows = await self._store.query(_SELECT + " WHERE id = :id", {"id": approval_id})
        return read_approval(rows[0]) if rows else None

    async def list(
        self,
        *,
        user: str | None = None,
        agent: str | None = None,
        states: Sequence[State] = (State.PENDING,),
        limit: int = 100,
        cursor: str | None = None,
    ) -> tuple[tuple[Approval, ...], str | None]:
        """Return a page of questions, the oldest first, and the cursor of the next page; without `user`, of all users.

        A page of large calls has fewer than `limit` questions.
        """
        at, last = read_cursor(cursor)
        where = ["state IN (" + ", ".join(f"'{state.value}'" for state in states) + ")"]
        parameters: dict[str, Any] = {"at": at, "last": last, "limit": limit + 1, "user": user, "agent": agent}
        where += ["(created_at > :at OR (created_at = :at AND id > :last))"] * (cursor is not None)
        where += ["user_id = :user"] * (user is not None) + ["agent_id = :agent"] * (agent is not None)
        rest = f"FROM approvals WHERE {' AND '.join(where)} ORDER BY created_at, id LIMIT :limit"
        used = {name: value for name, value in parameters.items() if f":{name}" in rest}
        if State.PENDING in states:  # answered questions have no call
            limit = _count_fitting(await self._store.query(f"SELECT {_SIZE} {rest}", used), limit)
        rows = await self._store.query(f"SELECT {APPROVAL_COLUMNS} {rest}", {**used, "limit": limit + 1})
        found = await asyncio.to_thread(lambda: tuple(map(read_approval, rows)))
        if len(found) <= limit:
            return self.unsaved_denials.exclude_from(found), None
        return self.unsaved_denials.exclude_from(found[:limit]), make_cursor(found[limit - 1])

    async def list_pending(self) -> frozenset[str]:
        """Return the ids of all pending questions."""
        return frozenset(i for (i,) in await self._store.query("SELECT id FROM approvals WHERE state = 'pending'"))

    async def wait(self, approval_id: str, seconds: float, *, is_pending: bool = False) -> Approval | None:
        """Wait until a question is no longer pending; None after a timeout. Several callers may wait for one question.

        `is_pending` says that this process just read it as pending, which saves a query.
        """
        # Wait first, query second: an answer in between would be missed otherwise.
        future = self.waiters.enter(approval_id)
        try:
            if not is_pending or self.waiters.was_hinted(approval_id):
                found = await self.get(approval_id)
                if found is None or found.state is not State.PENDING:
                    return found
            return await self.waiters.wait(approval_id, future, seconds)
        finally:
            self.waiters.forget(approval_id, future)

    def leave(self, approval_id: str) -> None:
        """Mark a question as one without a caller, unless another caller waits for it."""
        if not self.waiters.has_any(approval_id):
            with contextlib.suppress(StoreError):
                self._store.write(lambda cursor: transitions.mark_caller(cursor, approval_id, gone=True))

    def leave_after_commit(self, asked: Sequence[Approval]) -> None:
        """Call `leave` after the running commit, which may be the one that inserts the questions."""

        def leave(_cursor: Cursor) -> None:
            for approval in asked:
                self.leave(approval.id)

        with contextlib.suppress(StoreError):
            self._store.write(leave)

    async def grants(self, *, user: str | None = None) -> tuple[Grant, ...]:
        """Return the grants in force."""
        sql = "SELECT body, revoked_at FROM grants WHERE revoked_at IS NULL ORDER BY created_at, id"
        found = [read_grant(*row) for row in await self._store.query(sql)]
        now = self._store.wall_clock()
        active = (g for g in found if g.is_alive(now))
        return tuple(g for g in active if user is None or g.user == user)

    async def revoke_grant(self, grant_id: str, principal: Principal) -> Grant:
        """Revoke a grant, durably. Raises `NotFoundError`, `ForbiddenError`."""
        refuse_agents(principal)
        return await self._store.commit(lambda cursor: self._revoke(cursor, grant_id, principal))

    async def enable(
        self,
        principal: Principal,
        minutes: float,
        *,
        agent: str | None = None,
        session: str | None = None,
        digest: str | None = None,
        user: str | None = None,
    ) -> Enablement:
        """Have destructive calls asked about instead of denied, for a while; with `digest` one call, for five minutes.

        It applies to the principal's own agents; an admin may name another `user`.
        """
        refuse_agents(principal)
        if not 0 < minutes <= LONGEST_MINUTES:
            raise AssentError(f"`minutes` must be more than 0 and at most {LONGEST_MINUTES:.0f}, not {minutes:g}")
        if agent is None and session is None and digest is None:
            raise AssentError("name the agent, session or call for which destructive calls are enabled")
        if user not in (None, principal.user) and principal.role is not Role.ADMIN:
            raise ForbiddenError(f"only an admin may enable destructive calls for `{user}`")
        draft = Enablement(
            id=f"enable_{secrets.token_hex(8)}",
            user=user or principal.user,
            agent=agent,
            session=session,
            digest=digest,
            until=60 * (min(minutes, ONE_CALL_MINUTES) if digest is not None else minutes),
            created_at=0.0,
            by=principal.user,
        )
        return await self._store.commit(lambda cursor: self._enable(cursor, draft))

    async def enablements(self, *, user: str | None = None) -> tuple[Enablement, ...]:
        """Return the enablements in force."""
        sql = (
            _SELECT_ENABLEMENTS
            + " WHERE revoked_at IS NULL AND used_at IS NULL AND until > :now ORDER BY created_at, id"
        )
        found = (read_enablement(row) for row in await self._store.query(sql, {"now": self._store.wall_clock()}))
        return tuple(e for e in found if user is None or e.user == user)

    async def disable(self, enablement_id: str, principal: Principal) -> Enablement:
        """Revoke an enablement. Raises `NotFoundError`, `ForbiddenError`."""
        refuse_agents(principal)
        return await self._store.commit(lambda cursor: self._disable(cursor, enablement_id, principal))

    def close(self) -> None:
        """Wake all waiting callers without an answer; the questions stay pending."""
        self._store.unsubscribe(self._on_change)
        self.waiters.close()

    def _revoke(self, cursor: Cursor, grant_id: str, principal: Principal) -> Grant:
        rows = cursor.fetch("SELECT body, user_id FROM grants WHERE id = ? AND revoked_at IS NULL", grant_id)
        if not rows or not principal.may_answer(rows[0][1]):
            raise NotFoundError(f"there is no grant `{grant_id}`")
        return transitions.revoke_grant(cursor, self._log, read_grant(rows[0][0], None), principal.user)

    def _enable(self, cursor: Cursor, draft: Enablement) -> Enablement:
        now = cursor.now
        enablement = msgspec.structs.replace(draft, created_at=now, until=now + draft.until)
        values = (enablement.id, enablement.user, enablement.agent, enablement.session, enablement.digest)
        sql = f"INSERT INTO enablements ({ENABLEMENT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)"  # noqa: S608 - constants
        cursor.execute(sql, *values, enablement.until, now, enablement.by)
        self._log.append(cursor, (self._log.prepare(enabled(enablement)),))
        cursor.announce(ENABLEMENTS, enablement.id, enablement)
        return enablement

    def _disable(self, cursor: Cursor, enablement_id: str, principal: Principal) -> Enablement:
        rows = cursor.fetch(_SELECT_ENABLEMENTS + " WHERE id = ? AND revoked_at IS NULL", enablement_id)
        if not rows or not principal.may_answer(rows[0][1]):
            raise NotFoundError(f"there is no enablement `{enablement_id}`")
        cursor.execute("UPDATE enablements SET revoked_at = ? WHERE id = ?", cursor.now, enablement_id)
        enablement = msgspec.structs.replace(read_enablement(rows[0]), revoked_at=cursor.now)
        self._log.append(cursor, (self._log.prepare(enabled(enablement, revoked_by=principal.user)),))
        cursor.announce(ENABLEMENTS, enablement.id, enablement)
        return enablement

    def _on_change(self, topic: str, ref: str, value: Any) -> None:
        """Apply a change: at once if its value is known, otherwise after a query in another thread."""
        match topic, value:
            case transitions.TOPIC, Approval():
                self.waiters.wake(value)
            case transitions.GRANTS, Grant():
                self.active_grants.put_grant(value)
            case "enablements", Enablement():
                self.active_grants.put_enablement(value)
            case transitions.TOPIC, None:
                self.waiters.note(ref)
                self._refresh_later(f"{topic}:{ref}")
            case ((transitions.GRANTS | "enablements" | "*"), _):
                self._refresh_later(f"{topic}:{ref}")
            case _:
                pass

    def _refresh_later(self, stale: str) -> None:
        with self._stale_lock:
            is_scheduled = bool(self._stale)
            self._stale.add(stale)
        if not is_scheduled:
            self._store.call(self._refresh)

    def _refresh(self) -> None:
        """Query everything that hints named since the last time; retry after a failure."""
        with self._stale_lock:
            stale, self._stale = self._stale, set()
        try:
            self._refresh_named(stale)
        except AssentError:
            self._store.call_later(_RETRY_SECONDS, lambda: self._retry(stale))
            raise

    def _retry(self, stale: set[str]) -> None:
        for ref in stale:
            self._refresh_later(ref)

    def _refresh_named(self, stale: set[str]) -> None:
        named = {ref.partition(":")[2] for ref in stale if ref.startswith(transitions.TOPIC)}
        everything = "*:" in stale
        if everything or any(not ref.startswith(transitions.TOPIC) for ref in stale):
            self.active_grants.reload()
        waiting = [i for i in self.waiters.ids if everything or i in named]
        for start in range(0, len(waiting), 500):
            for approval in self._fetch(waiting[start : start + 500]):
                self.waiters.wake(approval)

    def _fetch(self, ids: Sequence[str]) -> Iterator[Approval]:
        names = {f"i{n}": approval_id for n, approval_id in enumerate(ids)}
        sql = f"{_SELECT} WHERE state <> 'pending' AND id IN ({', '.join(f':{name}' for name in names)})"
        return map(read_approval, self._store.fetch(sql, names))


def _count_fitting(sizes: Sequence[Row], limit: int) -> int:
    """Return how many questions, up to a limit, fit on one page: at least one."""
    totals = itertools.accumulate(int(size) for (size,) in sizes)
    return max(1, min(limit, sum(total <= LARGEST_PAGE for total in totals)))


def refuse_agents(principal: Principal) -> None:
    """Raise `ForbiddenError` for an agent's token: an agent cannot answer its own questions."""
    if principal.role is Role.AGENT:
        raise ForbiddenError("an agent cannot answer questions or change grants; use a person's token")


def make_cursor(approval: Approval) -> str:
    """Return the cursor of the page that begins after a question."""
    return f"{approval.created_at!r}~{approval.id}"


def read_cursor(cursor: str | None) -> tuple[float, str]:
    """Return the time and the id in a cursor, or raise `AssentError`."""
    if cursor is None:
        return 0.0, ""
    at, separator, last = cursor.partition("~")
    if not separator or not _TIME.fullmatch(at):
        raise AssentError(f"`{cursor}` is not a cursor of this list")
    return float(at), last
