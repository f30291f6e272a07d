"""The book of questions: opened, answered, cancelled, expired; each transition once, with its event, durably."""

from __future__ import annotations

from collections.abc import Sequence

from assent.model import Approval, Enablement, Grant, Principal, State


class Approvals:
    """All questions of a store, and who waits for them."""

    async def get(self, approval_id: str) -> Approval | None:
        """Return one question, whatever became of it; None if there is none by that id."""
        raise NotImplementedError

    async def list(
        self,
        *,
        user: str | None = None,
        agent: str | None = None,
        states: Sequence[State] = (State.PENDING,),
        limit: int = 100,
        cursor: str | None = None,
    ) -> tuple[tuple[Approval, ...], str | None]:
        """Return a page of questions, the oldest first, and the cursor of the next page; no user means everyone's."""
        raise NotImplementedError

    async def wait(self, approval_id: str, timeout: float) -> Approval | None:
        """Wait until a question is no longer pending; None when the time is up. Any number may wait for one."""
        raise NotImplementedError

    async def grants(self, *, user: str | None = None) -> tuple[Grant, ...]:
        """Return the standing answers in force."""
        raise NotImplementedError

    async def revoke_grant(self, grant_id: str, principal: Principal) -> Grant:
        """End a standing answer, durably. Raises `NotFoundError`, `ForbiddenError`."""
        raise NotImplementedError

    async def enable(
        self,
        principal: Principal,
        minutes: float,
        *,
        agent: str | None = None,
        session: str | None = None,
        digest: str | None = None,
    ) -> Enablement:
        """Turn "blocked" into "ask" for a while; by digest for one call, once, and for five minutes at most."""
        raise NotImplementedError

    async def enablements(self, *, user: str | None = None) -> tuple[Enablement, ...]:
        """Return the enablements in force."""
        raise NotImplementedError

    async def disable(self, enablement_id: str, principal: Principal) -> Enablement:
        """End an enablement before its time. Raises `NotFoundError`, `ForbiddenError`."""
        raise NotImplementedError
