"""Changes of questions, as the store announces them: passed on to sockets, to runs and to people."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from assent.model import State

if TYPE_CHECKING:
    from assent.decisions.approvals.repository import Approvals
    from assent.model import Approval
    from assent.runs.registry import RunRegistry
    from assent.server.metrics import Metrics
    from assent.server.notifications import Notifier
    from assent.server.operator_log import Journal
    from assent.server.state.listeners import Hub


class QuestionEvents:
    """Follows the questions of the store, and passes each change on once."""

    def __init__(
        self,
        approvals: Approvals,
        runs: RunRegistry,
        hub: Hub,
        metrics: Metrics,
        notifier: Notifier,
        journal: Journal,
    ) -> None:
        self._approvals = approvals
        self._runs = runs
        self._hub = hub
        self._metrics = metrics
        self._notifier = notifier
        self._journal = journal
        self._loop: asyncio.AbstractEventLoop | None = None
        self._announced: dict[str, None] = {}
        self._wake = asyncio.Event()

    def start(self) -> None:
        """Pass changes on in the loop that runs now."""
        self._loop = asyncio.get_running_loop()

    def hear(self, topic: str, ref: str, value: Any) -> None:
        """Take a notification of the store, from any thread."""
        if topic == "approvals" and self._loop is not None:
            # The loop may have ended already, and then nobody listens.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._take, ref, value)

    def _take(self, ref: str, value: Any) -> None:
        if value is not None:
            self._tell(value)
            if value.state is State.PENDING:  # asked here, and not at another node
                self._notifier.tell(value)
        else:
            self._announced[ref] = None
            self._wake.set()

    def _tell(self, approval: Approval) -> None:
        self._runs.tell(approval)
        if self._hub.hear(approval):
            self._metrics.count_answer(
                approval.state, approval.user, (approval.resolved_at or 0.0) - approval.created_at
            )

    async def follow(self) -> None:
        """Look up the questions that were announced by their id alone, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._announced:
                ref = next(iter(self._announced))
                del self._announced[ref]
                try:
                    await self._look_up(ref)
                except Exception as error:  # noqa: BLE001 - a look-up that fails is made again by `compare`
                    self._journal.fault("chore.failed", error)

    async def compare(self) -> None:
        """Look up what is pending and was not announced, and what was announced and is not pending."""
        pending = await self._approvals.list_pending()
        for ref in pending.symmetric_difference(tuple(self._hub.open)):
            await self._look_up(ref)

    async def _look_up(self, ref: str) -> None:
        approval = await self._approvals.get(ref)
        if approval is not None:
            self._tell(approval)
