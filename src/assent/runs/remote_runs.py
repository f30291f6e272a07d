"""A run of another daemon on the same store: followed by the log, and stopped by a word left in the store."""

from __future__ import annotations

import asyncio
import contextlib

from assent.audit.follow import follow
from assent.audit.log import Log
from assent.audit.search import Query
from assent.decisions.rows import APPROVAL_COLUMNS, read_approval
from assent.model import Approval, Event, State, StoreError, encode
from assent.runs.past_runs import PastRun, retell
from assent.runs.protocol.messages import DaemonMessage, FlowNode, RunPrepared, StrategyStarted
from assent.runs.questions import request_message
from assent.runs.records import ACTIVE, find_record
from assent.runs.subscribers import Subscriber
from assent.store.cursor import Cursor
from assent.store.store import Store

STOP_TOPIC = "runs.stop"
STOP_SECONDS = 10.0
_RETRY_SECONDS = 1.0
_LOOK_SECONDS = 0.1
"""How often the row of a run is looked at: hints may be lost, the row is not."""
_QUESTIONS = f"SELECT {APPROVAL_COLUMNS} FROM approvals WHERE state = 'pending'"  # noqa: S608 - constants
_QUESTION = f"SELECT {APPROVAL_COLUMNS} FROM approvals WHERE id = :id"  # noqa: S608 - constants


class RemoteRun:
    """What can be known here of a run that another daemon does: all that is on record of it, as it comes."""

    def __init__(self, store: Store, log: Log, past: PastRun) -> None:
        self._store = store
        self._log = log
        self._past = past
        self._after = past.position
        self.id = past.record.id

    def introduce(self, request_id: str | None) -> RunPrepared:
        """Describe it to whoever attaches to it, its story so far included."""
        return self._past.introduce(request_id)

    async def follow(self, subscriber: Subscriber) -> None:
        """Tell a newcomer what is pending, then all that comes, until the run ends or nobody reads.

        A store that cannot be read is tried again: nothing is passed over.
        """
        while True:
            with contextlib.suppress(StoreError):
                return await self._follow(subscriber)
            await asyncio.sleep(_RETRY_SECONDS)

    async def _follow(self, subscriber: Subscriber) -> None:
        pending = {approval.id: approval for approval in await self._pending()}
        for approval in pending.values():
            await subscriber.room()
            self._push(subscriber, self._ask(approval))
        async for records in follow(self._store, self._log, Query(session=self.id), self._after):
            for record in records:
                event = record.event
                if event.type == "permission.requested" and event.action_id in pending:
                    continue
                if not self._push(subscriber, await self._tell(event)) or _is_end(event):
                    return
                self._after = record.position

    async def _pending(self) -> list[Approval]:
        found = map(read_approval, await self._store.query(_QUESTIONS))
        return [approval for approval in found if _is_of(self.id, approval)]

    async def _tell(self, event: Event) -> DaemonMessage | None:
        record = self._past.record
        if event.type == "permission.requested":
            asked = await find_question(self._store, self.id, event.action_id or "")
            return None if asked is None else self._ask(asked)
        if event.type == "run.status" and not {"step", "given"} & set(event.payload):
            return await self._change(event)
        return retell(event, record.id)

    async def _change(self, event: Event) -> DaemonMessage | None:
        if not _is_end(event):
            tree = FlowNode(self._past.record.strategy, "sequence")
            named = {"run_id": self.id, "strategy_name": self._past.record.strategy}
            return StrategyStarted(ts=event.timestamp, agents=(), flow_tree=tree, **named)
        ended = await find_record(self._store, self.id)
        return None if ended is None else PastRun(ended, (event,)).end()

    def _ask(self, approval: Approval) -> DaemonMessage | None:
        if approval.call is None or approval.decision is None:
            return None
        return request_message(self.id, approval, approval.call, approval.decision)

    def _push(self, subscriber: Subscriber, message: DaemonMessage | None) -> bool:
        return message is None or subscriber.push(encode(message).decode())


class Followers:
    """Everyone who hears of runs of other daemons."""

    def __init__(self) -> None:
        self._tasks: dict[tuple[Subscriber, str], asyncio.Task[None]] = {}

    def add(self, run: RemoteRun, subscriber: Subscriber) -> None:
        """Have someone hear of a run from now on."""
        self.remove(run.id, subscriber)
        key = (subscriber, run.id)
        task = self._tasks[key] = asyncio.create_task(run.follow(subscriber))
        task.add_done_callback(lambda done: self._tasks.pop(key, None) if self._tasks.get(key) is done else None)

    def remove(self, run_id: str, subscriber: Subscriber) -> None:
        """Let someone hear no more of a run."""
        if (task := self._tasks.pop((subscriber, run_id), None)) is not None:
            task.cancel()

    def leave(self, subscriber: Subscriber) -> None:
        """Forget someone who has gone."""
        for _, run_id in [key for key in self._tasks if key[0] is subscriber]:
            self.remove(run_id, subscriber)

    def close(self) -> None:
        """Let everyone go."""
        for subscriber, run_id in tuple(self._tasks):
            self.remove(run_id, subscriber)


async def find_question(store: Store, run_id: str, question: str) -> Approval | None:
    """Return a question of a run that waits for its answer."""
    rows = await store.query(_QUESTION, {"id": question})
    found = read_approval(rows[0]) if rows else None
    is_open = found is not None and found.state is State.PENDING and _is_of(run_id, found)
    return found if is_open else None


async def stop_elsewhere(store: Store, run_id: str) -> bool:
    """Have the daemon of a run end it; false if that has not come about after a while."""

    def ask(cursor: Cursor) -> None:
        cursor.announce(STOP_TOPIC, run_id)

    await store.commit(ask)
    try:
        async with asyncio.timeout(STOP_SECONDS):
            while (record := await find_record(store, run_id)) is not None and record.is_active:  # noqa: ASYNC110 - as above
                await asyncio.sleep(_LOOK_SECONDS)
    except TimeoutError:
        return False
    return True


def _is_of(run_id: str, approval: Approval) -> bool:
    """Tell whether a run asks something: agents outside of runs name their sessions as they like."""
    return approval.session.run and approval.session.id == run_id


def _is_end(event: Event) -> bool:
    return event.type == "run.status" and event.payload.get("status") not in {status.value for status in ACTIVE}
