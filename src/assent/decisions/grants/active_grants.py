"""The grants and enablements in force: a view in memory, updated by the store's change hints."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import msgspec

from assent.decisions.rows import ENABLEMENT_COLUMNS, read_enablement, read_grant
from assent.model import Consent, Enablement, Grant, NotFoundError, Session
from assent.model.decision import CLOCK_SLACK
from assent.store.cursor import Cursor
from assent.store.store import Store

_GRANTS = "SELECT body, revoked_at FROM grants WHERE revoked_at IS NULL ORDER BY created_at, id"
_ENABLEMENTS = f"SELECT {ENABLEMENT_COLUMNS} FROM enablements WHERE revoked_at IS NULL AND used_at IS NULL"  # noqa: S608 - constants
_NOTHING = Consent()
_ACTIVE = (
    "SELECT 1 FROM grants WHERE id = ? AND revoked_at IS NULL "
    "AND (expires_at IS NULL OR (expires_at > ? AND created_at <= ?))"
)


class ActiveGrants:
    """A view that may lag behind the tables, so a decision checks the grants it relies on when it is recorded."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._grants: dict[str, dict[str, Grant]] = {}
        self._enablements: dict[str, dict[str, Enablement]] = {}
        self._consents: dict[str, tuple[Grant, ...]] = {}
        self._changes = 0
        """How many changes were applied one by one."""
        self.reload()

    def reload(self) -> None:
        """Read everything again. Blocks: do not call it on an event loop."""
        while not self._read():
            pass

    def _read(self) -> bool:
        """Read everything; False if a change came meanwhile, which the rows may lack."""
        changes = self._changes
        grants = [read_grant(*row) for row in self._store.read(_GRANTS).result()]
        enablements = [read_enablement(row) for row in self._store.read(_ENABLEMENTS).result()]
        with self._lock:
            if changes != self._changes:
                return False
            self._grants, self._enablements, self._consents = {}, {}, {}
            for grant in grants:
                self._grants.setdefault(grant.user or "", {})[grant.id] = grant
            for enablement in enablements:
                self._enablements.setdefault(enablement.user, {})[enablement.id] = enablement
        return True

    def put_grant(self, grant: Grant) -> None:
        """Apply a grant's current state."""
        user = grant.user or ""
        with self._lock:
            self._changes += 1
            held = self._grants.setdefault(user, {})
            held.pop(grant.id, None)
            if grant.revoked_at is None:
                held[grant.id] = grant
            self._consents.pop(user, None)

    def put_enablement(self, enablement: Enablement) -> None:
        """Apply an enablement's current state."""
        with self._lock:
            self._changes += 1
            held = self._enablements.setdefault(enablement.user, {})
            held.pop(enablement.id, None)
            if enablement.revoked_at is None and enablement.used_at is None:
                held[enablement.id] = enablement

    def consent(self, session: Session, now: float) -> Consent:
        """Return the grants and enablements that may apply to a session's calls."""
        user = session.user
        if user not in self._grants and user not in self._enablements:
            return _NOTHING
        destructive = any(e.digest is None and _is_for(e, session, now) for e in self._enabled(user))
        grants = self._consents.get(user)
        if grants is None:
            with self._lock:
                grants = self._consents[user] = tuple(self._grants.get(user, {}).values())
        return Consent(grants=grants, destructive=destructive) if grants or destructive else _NOTHING

    def enablement_of(self, digest: str, session: Session, now: float) -> Enablement | None:
        """Return the enablement for exactly this call."""
        found = (e for e in self._enabled(session.user) if e.digest == digest and _is_for(e, session, now))
        return next(found, None)

    def grants(self, user: str | None, now: float) -> tuple[Grant, ...]:
        """Return the grants in force, of one user or of everyone."""
        with self._lock:
            users = self._grants if user is None else {user: self._grants.get(user, {})}
            found = [g for held in users.values() for g in held.values()]
        return tuple(g for g in found if g.is_alive(now))

    def _enabled(self, user: str) -> Iterable[Enablement]:
        held = self._enablements.get(user)
        if not held:
            return ()
        with self._lock:
            return tuple(held.values())


def _is_for(enablement: Enablement, session: Session, now: float) -> bool:
    return (
        enablement.created_at - 60 <= now < enablement.until
        and enablement.agent in (None, session.agent)
        and enablement.session in (None, session.id)
    )


def are_active(cursor: Cursor, grant_ids: Iterable[str]) -> bool:
    """Tell, in the transaction that records a decision, whether all grants that it relies on are still active."""
    now = cursor.now
    return all(cursor.fetch(_ACTIVE, grant_id, now, now + CLOCK_SLACK) for grant_id in grant_ids)


def check_run(cursor: Cursor, session: Session) -> None:
    """Raise `NotFoundError` for a run that is over, in the transaction that lets a call of it begin.

    Another daemon may have ended the run, because it took this one for dead; nothing begins in it afterwards.
    """
    sql = "SELECT 1 FROM runs WHERE id = ? AND status IN ('pending', 'running')"
    if session.run and not cursor.fetch(sql, session.id):
        raise NotFoundError(f"run `{session.id}` is over")


def use_enablement(cursor: Cursor, enablement: Enablement) -> bool:
    """Mark the enablement of one call as used; False if it was used before, or ended."""
    now = cursor.now
    sql = "UPDATE enablements SET used_at = ? WHERE id = ? AND used_at IS NULL AND revoked_at IS NULL AND until > ?"
    used = cursor.execute(sql, now, enablement.id, now) == 1
    if used:
        cursor.announce("enablements", enablement.id, msgspec.structs.replace(enablement, used_at=now))
    return used
