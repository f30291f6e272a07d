"""The callers that wait for answers. Several may wait for one question; an answer wakes all of them, once."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict

from assent.model import Approval, State

_REMEMBERED = 4096
"""How many outcomes are cached for callers that begin to wait just after the answer."""


class Waiters:
    """The waiting callers of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, list[asyncio.Future[Approval | None]]] = {}
        self._outcomes: OrderedDict[str, Approval] = OrderedDict()
        self._hinted: OrderedDict[str, None] = OrderedDict()
        self._closed = False

    @property
    def ids(self) -> list[str]:
        """Return the ids of the questions that callers wait for."""
        with self._lock:
            return list(self._waiting)

    @property
    def count(self) -> int:
        """Return how many callers wait."""
        with self._lock:
            return sum(map(len, self._waiting.values()))

    def enter(self, approval_id: str) -> asyncio.Future[Approval | None]:
        """Begin to wait; the future gets the outcome, or None at shutdown."""
        future: asyncio.Future[Approval | None] = asyncio.get_running_loop().create_future()
        with self._lock:
            if (known := self._outcomes.get(approval_id)) is not None or self._closed:
                future.set_result(known)
            else:
                self._waiting.setdefault(approval_id, []).append(future)
        return future

    async def wait(self, approval_id: str, future: asyncio.Future[Approval | None], seconds: float) -> Approval | None:
        """Wait for the outcome; None after a timeout or at shutdown."""
        timer = future.get_loop().call_later(max(0.0, seconds), _give, future, None)
        try:
            return await future
        finally:
            timer.cancel()
            self.forget(approval_id, future)

    def note(self, approval_id: str) -> None:
        """Remember that another process changed a question, in a way not known yet."""
        with self._lock:
            self._hinted[approval_id] = None
            if len(self._hinted) > _REMEMBERED:
                self._hinted.popitem(last=False)

    def was_hinted(self, approval_id: str) -> bool:
        """Tell whether another process may have changed a question since it was read."""
        with self._lock:
            return approval_id in self._hinted

    def has_any(self, approval_id: str) -> bool:
        """Tell whether a caller waits for a question."""
        with self._lock:
            return approval_id in self._waiting

    def wake(self, approval: Approval) -> None:
        """Give an outcome to all callers that wait for it; from any thread."""
        if approval.state is State.PENDING:
            return
        with self._lock:
            self._outcomes[approval.id] = approval
            if len(self._outcomes) > _REMEMBERED:
                self._outcomes.popitem(last=False)
            waiting = self._waiting.pop(approval.id, ())
        for future in waiting:
            _give_soon(future, approval)

    def close(self) -> None:
        """Wake all callers without an outcome."""
        with self._lock:
            self._closed = True
            waiting = [future for futures in self._waiting.values() for future in futures]
            self._waiting.clear()
        for future in waiting:
            _give_soon(future, None)

    def forget(self, approval_id: str, future: asyncio.Future[Approval | None]) -> None:
        """Stop waiting."""
        with self._lock:
            futures = self._waiting.get(approval_id, [])
            if future in futures:
                futures.remove(future)
            if not futures:
                self._waiting.pop(approval_id, None)


def _give_soon(future: asyncio.Future[Approval | None], approval: Approval | None) -> None:
    try:
        future.get_loop().call_soon_threadsafe(_give, future, approval)
    except RuntimeError:  # the loop has closed, so its callers are gone
        return


def _give(future: asyncio.Future[Approval | None], approval: Approval | None) -> None:
    if not future.done():
        future.set_result(approval)
