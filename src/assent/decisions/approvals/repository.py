"""The book of questions, grants and enablements: what is asked for by name, and who waits."""

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
from assent.decisions.approvals.unsaved_denials import Refusals
from assent.decisions.approvals.waiters import Waiters
from assent.decisions.audit_events import enabled
from assent.decisions.grants.active_grants import Standing
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
"""What the calls and decisions of one page may weigh, in bytes, unless it is a single one: they are kept whole."""
_TIME = re.compile(r"\d{1,12}(?:\.\d{1,12})?")
_EXPIRE_EVERY = 1.0
_RETRY_SECONDS = 1.0
_SELECT = f"SELECT {APPROVAL_COLUMNS} FROM approvals"  # noqa: S608 - constants
_WEIGHT = "coalesce(length(call), 0) + coalesce(length(decision), 0)"
_ENABLED = f"SELECT {ENABLEMENT_COLUMNS} FROM enablements"  # noqa: S608 - constants


class Approvals:
    """All questions of a store, and what their answers left behind. One for a process."""

    def __init__(self, store: Store, log: Log) -> None:
        self._store = store
        self._log = log
        self.standing = Standing(store)
        self.waiters = Waiters()
        self.refusals = Refusals(store, log)
        self._stale: set[str] = set()
        self._stale_lock = threading.Lock()
        store.subscribe(self._hear)
        store.every(_EXPIRE_EVERY, transitions.is_due, lambda cursor: transitions.expire_due(cursor, log))

    async def get(self, approval_id: str) -> Approval | None:
        """Return one question, whatever became of it; None if there is none by that id."""
        if "\0" in approval_id:  # there is none, and PostgreSQL will not even look
            return None
        if (refused := self.refusals.find(approval_id)) is not None:
            return refused
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
        """Return a page of questions, the oldest first, and the cursor of the next page; no user means everyone's.

        A page of large calls has fewer than `limit`.
        """
        at, last = read_cursor(cursor)
        where = ["state IN (" + ", ".join(f"'{state.value}'" for state in states) + ")"]
        parameters: dict[str, Any] = {"at": at, "last": last, "limit": limit + 1, "user": user, "agent": agent}
        where += ["(created_at > :at OR (created_at = :at AND id > :last))"] * (cursor is not None)
        where += ["user_id = :user"] * (user is not None) + ["agent_id = :agent"] * (agent is not None)
        rest = f"FROM approvals WHERE {' AND '.join(where)} ORDER BY created_at, id LIMIT :limit"
        used = {name: value for name, value in parameters.items() if f":{name}" in rest}
        if State.PENDING in states:  # of the others, no call is kept
            limit = _count_fitting(await self._store.query(f"SELECT {_WEIGHT} {rest}", used), limit)
        rows = await self._store.query(f"SELECT {APPROVAL_COLUMNS} {rest}", {**used, "limit": limit + 1})
        found = await asyncio.to_thread(lambda: tuple(map(read_approval, rows)))
        if len(found) <= limit:
            return self.refusals.left(found), None
        return self.refusals.left(found[:limit]), make_cursor(found[limit - 1])

    async def list_pending(self) -> frozenset[str]:
        """Name every question that waits for an answer."""
        return frozenset(i for (i,) in await self._store.query("SELECT id FROM approvals WHERE state = 'pending'"))

    async def wait(self, approval_id: str, seconds: float, *, is_pending: bool = False) -> Approval | None:
        """Wait until a question is no longer pending; None when the time is up. Any number may wait for one.

        `is_pending` says that it was just seen pending by this process, which saves a look.
        """
        # Waiting comes first and looking after it, so that nothing falls between.
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
        """Have it written down that a caller went without its answer, unless another waits for the same."""
        if not self.waiters.has_any(approval_id):
            with contextlib.suppress(StoreError):
                self._store.write(lambda cursor: transitions.mark_caller(cursor, approval_id, gone=True))

    def leave_later(self, asked: Sequence[Approval]) -> None:
        """Have it written down behind what is being written at this moment, which may be the question itself."""

        def leave(_cursor: Cursor) -> None:
            for approval in asked:
                self.leave(approval.id)

        with contextlib.suppress(StoreError):
            self._store.write(leave)

    async def grants(self, *, user: str | None = None) -> tuple[Grant, ...]:
        """Return the standing answers in force."""
        sql = "SELECT body, revoked_at FROM grants WHERE revoked_at IS NULL ORDER BY created_at, id"
        found = [read_grant(*row) for row in await self._store.query(sql)]
        now = await self._now()
        alive = (g for g in found if g.is_alive(now))
        return tuple(g for g in alive if user is None or g.user == user)

    async def revoke_grant(self, grant_id: str, principal: Principal) -> Grant:
        """End a standing answer, durably. Raises `NotFoundError`, `ForbiddenError`."""
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
        """Turn "blocked" into "ask" for a while; by digest for one call, once, and for five minutes at most.

        It is for the principal's own agents, or with `user`, by an admin, for another's.
        """
        refuse_agents(principal)
        if not 0 < minutes <= LONGEST_MINUTES:
            raise AssentError(f"it can be enabled for more than 0 and at most {LONGEST_MINUTES:.0f} minutes")
        if agent is None and session is None and digest is None:
            raise AssentError("say for which agent, session or call")
        if user not in (None, principal.user) and principal.role is not Role.ADMIN:
            raise ForbiddenError("only an admin enables this for somebody else")
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
        sql = _ENABLED + " WHERE revoked_at IS NULL AND used_at IS NULL AND until > :now ORDER BY created_at, id"
        found = (read_enablement(row) for row in await self._store.query(sql, {"now": await self._now()}))
        return tuple(e for e in found if user is None or e.user == user)

    async def disable(self, enablement_id: str, principal: Principal) -> Enablement:
        """End an enablement before its time. Raises `NotFoundError`, `ForbiddenError`."""
        refuse_agents(principal)
        return await self._store.commit(lambda cursor: self._disable(cursor, enablement_id, principal))

    def close(self) -> None:
        """Send away everyone who waits; the questions stay."""
        self._store.unsubscribe(self._hear)
        self.waiters.close()

    async def _now(self) -> float:
        return self._store.wall_clock()

    def _revoke(self, cursor: Cursor, grant_id: str, principal: Principal) -> Grant:
        rows = cursor.fetch("SELECT body, user_id FROM grants WHERE id = ? AND revoked_at IS NULL", grant_id)
        if not rows or not principal.may_answer(rows[0][1]):
            raise NotFoundError(f"there is no grant `{grant_id}`")
        return transitions.end_grant(cursor, self._log, read_grant(rows[0][0], None), principal.user)

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
        rows = cursor.fetch(_ENABLED + " WHERE id = ? AND revoked_at IS NULL", enablement_id)
        if not rows or not principal.may_answer(rows[0][1]):
            raise NotFoundError(f"nothing is enabled by the id `{enablement_id}`")
        cursor.execute("UPDATE enablements SET revoked_at = ? WHERE id = ?", cursor.now, enablement_id)
        enablement = msgspec.structs.replace(read_enablement(rows[0]), revoked_at=cursor.now)
        self._log.append(cursor, (self._log.prepare(enabled(enablement, revoked_by=principal.user)),))
        cursor.announce(ENABLEMENTS, enablement.id, enablement)
        return enablement

    def _hear(self, topic: str, ref: str, value: Any) -> None:
        """Take in what changed: at once if it is known, else by looking it up beside."""
        match topic, value:
            case transitions.TOPIC, Approval():
                self.waiters.wake(value)
            case transitions.GRANTS, Grant():
                self.standing.put_grant(value)
            case "enablements", Enablement():
                self.standing.put_enablement(value)
            case transitions.TOPIC, None:
                self.waiters.note(ref)
                self._look_later(f"{topic}:{ref}")
            case ((transitions.GRANTS | "enablements" | "*"), _):
                self._look_later(f"{topic}:{ref}")
            case _:
                pass

    def _look_later(self, stale: str) -> None:
        with self._stale_lock:
            looking = bool(self._stale)
            self._stale.add(stale)
        if not looking:
            self._store.call(self._look)

    def _look(self) -> None:
        """Look up everything that hints named since the last look; what fails is tried again."""
        with self._stale_lock:
            stale, self._stale = self._stale, set()
        try:
            self._look_at(stale)
        except AssentError:
            self._store.call_later(_RETRY_SECONDS, lambda: self._look_again(stale))
            raise

    def _look_again(self, stale: set[str]) -> None:
        for ref in stale:
            self._look_later(ref)

    def _look_at(self, stale: set[str]) -> None:
        named = {ref.partition(":")[2] for ref in stale if ref.startswith(transitions.TOPIC)}
        everything = "*:" in stale
        if everything or any(not ref.startswith(transitions.TOPIC) for ref in stale):
            self.standing.reload()
        waiting = [i for i in self.waiters.ids if everything or i in named]
        for start in range(0, len(waiting), 500):
            for approval in self._fetch(waiting[start : start + 500]):
                self.waiters.wake(approval)

    def _fetch(self, ids: Sequence[str]) -> Iterator[Approval]:
        names = {f"i{n}": approval_id for n, approval_id in enumerate(ids)}
        sql = f"{_SELECT} WHERE state <> 'pending' AND id IN ({', '.join(f':{name}' for name in names)})"
        return map(read_approval, self._store.fetch(sql, names))


def _count_fitting(weights: Sequence[Row], limit: int) -> int:
    """Return how many of the first questions, up to a limit, one page takes: one at least."""
    totals = itertools.accumulate(int(weight) for (weight,) in weights)
    return max(1, min(limit, sum(total <= LARGEST_PAGE for total in totals)))


def refuse_agents(principal: Principal) -> None:
    """Raise `ForbiddenError` for whoever asks: nobody answers themselves."""
    if principal.role is Role.AGENT:
        raise ForbiddenError("an agent asks; it does not answer")


def make_cursor(approval: Approval) -> str:
    """Name the place after a question, in order of time."""
    return f"{approval.created_at!r}~{approval.id}"


def read_cursor(cursor: str | None) -> tuple[float, str]:
    """Read such a name, or raise `AssentError`."""
    if cursor is None:
        return 0.0, ""
    at, separator, last = cursor.partition("~")
    if not separator or not _TIME.fullmatch(at):
        raise AssentError("this cursor is not one that was given out")
    return float(at), last
