"""Find runs: in this daemon, in another one, or in the store after they ended. Checks who may see them."""

from __future__ import annotations

import asyncio

from assent.model import Principal
from assent.runs.context import RunContext
from assent.runs.past_runs import PastRun, read_back
from assent.runs.protocol.parse import ProtocolError
from assent.runs.records import RunRecord, find_record
from assent.runs.remote_runs import RemoteRun
from assent.runs.run import Run

MOST_REMEMBERED = 256
"""How many runs that are over stay in memory."""


class RunLookup:
    """Finds runs for principals who may see them; raises `ProtocolError` for others."""

    def __init__(self, context: RunContext, node: str, runs: dict[str, Run]) -> None:
        self._context = context
        self._node = node
        self._runs = runs
        self.preparing: dict[str, asyncio.Future[None]] = {}
        """The runs that are being prepared; each future completes when its run is found, or failed."""

    def is_remote(self, record: RunRecord) -> bool:
        """Tell whether another daemon does a run now."""
        return record.is_active and record.node != self._node

    def find_active(self, run_id: str, principal: Principal) -> Run:
        """Return an active run of this daemon."""
        run = self._runs.get(run_id)
        if run is None or not run.record.is_active:
            raise ProtocolError("RUN_NOT_FOUND", f"No active run found for runId {run_id}")
        check_access(run.record, principal)
        return run

    async def find_visible(self, run_id: str, principal: Principal) -> Run | PastRun | RemoteRun | None:
        """Return a run in the form that can be followed: active here, active elsewhere, or over; None if unknown."""
        record, run = await self.find(run_id, principal)
        while (preparing := self.preparing.get(run_id)) is not None:
            await asyncio.wait((preparing,))
            record, run = await self.find(run_id, principal)
        if run is not None and not run.is_over:
            return run
        if record is None:
            return None
        store = self._context.store
        past = await read_back(store, record)
        if not self.is_remote(record):
            return past
        now = await find_record(store, run_id) or record  # if it ended meanwhile, `past` lacks its end
        return RemoteRun(store, self._context.log, past) if now.is_active else await read_back(store, now)

    async def find(self, run_id: str, principal: Principal) -> tuple[RunRecord | None, Run | None]:
        """Return the record of a run, and the run itself while this daemon has it in memory."""
        record = None if run_id in self._runs else await find_record(self._context.store, run_id)
        run = self._runs.get(run_id)
        record = record if run is None else run.record
        if record is not None:
            check_access(record, principal)
        return record, run

    def forget_old(self) -> None:
        """Drop the oldest recorded runs that are over from memory."""
        over = [run_id for run_id, run in self._runs.items() if run.is_over and run.is_written]
        for run_id in over[: max(0, len(over) - MOST_REMEMBERED)]:
            del self._runs[run_id]


def check_access(record: RunRecord, principal: Principal) -> None:
    """Raise `ProtocolError` unless a run belongs to the principal, or the principal is an admin."""
    if not principal.may_answer(record.user):
        raise ProtocolError("FORBIDDEN", f"run {record.id} belongs to another user; only they or an admin may")
