"""One run: its subscribers, its questions, and how it ends. Its steps are in `execution`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeAlias

import msgspec

from assent.audit.masking import cut
from assent.decisions.grants.active_grants import check_run
from assent.model import (
    Approval,
    Consent,
    Decision,
    Event,
    NotFoundError,
    Opinion,
    Policy,
    Session,
    State,
    StoreError,
    ToolCall,
    encode,
)
from assent.policy.guard import Patch
from assent.runs.context import RunContext
from assent.runs.engines import PolicyAdditions
from assent.runs.protocol.messages import (
    DaemonMessage,
    GuardChain,
    PermissionResolved,
    PolicyName,
    PolicyUpdated,
    RunPrepared,
    StrategyStarted,
    stamp,
)
from assent.runs.questions import Questions, outcome_of, request_message
from assent.runs.records import RunRecord, Status, end_message, find_record, status_event, update_run
from assent.runs.strategies.strategy import Strategy
from assent.runs.subscribers import Subscriber, Subscribers
from assent.runs.tool_guards import Guards, ToolGuard
from assent.runs.tools.files import ToolError
from assent.store.cursor import Cursor

KEPT_RESULT = 2000
"""How many characters of what a run is given, and of what it came to, are kept in the log."""
_NOTHING_SAID = Consent()
_IS_ACTIVE = "SELECT 1 FROM runs WHERE id = :id AND status IN ('pending', 'running')"
STOPPED = "Run cancelled by client"


class Ending(msgspec.Struct, frozen=True):
    """How a run ends."""

    status: Status
    reason: str | None = None
    result: str = ""


Judge: TypeAlias = Callable[[ToolCall, Session, Consent, Sequence[Opinion]], Decision]
Work: TypeAlias = Callable[["Run"], Coroutine[Any, Any, str]]


class Run:
    """A run from its preparation to its end."""

    def __init__(
        self, record: RunRecord, strategy: Strategy, context: RunContext, setting: PolicyAdditions, *, interactive: bool
    ) -> None:
        self.record = record
        self.strategy = strategy
        self.context = context
        self.setting = setting
        self.interactive = interactive
        self.confined = True
        """Whether somebody else than an admin prepared or started it: then only an admin lets it leave its folder."""
        self.profile: str | None = None
        """The profile that a person chose for its process."""
        self.input = ""
        self.write_input: Callable[[str], None] | None = None
        """Writes to the program of a `process` run, while there is one."""
        self.guards = Guards(context.engines(setting), setting.cwd, context.decisions, self.on_ask)
        self.questions = Questions(self.guards)
        self._steps: dict[str, tuple[Policy, ...]] = {}
        self._shown: dict[str, tuple[str, ToolGuard]] = {}
        self._answering: dict[str, Subscriber] = {}
        self.subscribers = Subscribers()
        self._work: asyncio.Task[str] | None = None
        self._main: asyncio.Task[None] | None = None
        self._stopping: Ending | None = None
        self.is_over = False
        """Whether everyone was told how it ended; what it did is in the log then."""
        self.is_written = True
        """Whether how it ended is on record, if it did."""
        self._turn = asyncio.Lock()
        self._turns: dict[str, asyncio.Lock] = {}

    @property
    def id(self) -> str:
        """Return its id."""
        return self.record.id

    @property
    def now(self) -> str:
        """Return the time as messages have it."""
        return stamp(self.context.clock())

    # Deciding

    def session(self, agent: str, **more: Any) -> Session:
        """Return the session that an agent's calls in this run are made in."""
        return Session(
            id=self.id,
            user=self.record.user,
            agent=agent,
            workspace=(self.setting.cwd,),
            guessed=self.setting.guessed,
            interactive=self.interactive,
            run=True,
            confined=self.confined,
            **more,
        )

    @contextlib.contextmanager
    def calling(self, call_id: str, layers: tuple[Policy, ...]) -> Any:
        """Have what a step adds hold for its call."""
        self._steps[call_id] = layers
        try:
            yield
        finally:
            del self._steps[call_id]

    def decide(
        self,
        call: ToolCall,
        session: Session,
        consent: Consent = _NOTHING_SAID,
        /,
        *,
        heard: Sequence[Opinion] = (),
    ) -> Decision:
        """Decide a call of this run by its guards, and by the layers as they are now."""
        return self.decider(call)(call, session, consent, heard)

    def decider(self, like: ToolCall) -> Judge:
        """Return what decides calls like this one, as everything is now; it may be used in any thread."""
        setting = self.setting
        if layers := self._steps.get(like.call_id or ""):
            setting = msgspec.structs.replace(setting, layers=(*setting.layers, *layers))
        engine = self.context.engines(setting)
        rules = self.guards.find(like.tool).rules(engine.merged)
        return lambda call, session, consent, heard: engine.decide(call, session, consent, rules, heard)

    # Telling

    async def subscribe(self, subscriber: Subscriber) -> None:
        """Have someone hear of it from now on, beginning with what is pending; a second time changes nothing."""
        if subscriber in self.subscribers:
            return
        self.subscribers.add(subscriber)
        for question in tuple(self._shown):
            await subscriber.room()
            if question in self._shown and subscriber in self.subscribers:
                self.subscribers.tell(subscriber, self._shown[question][0])

    def introduce(self, request_id: str | None) -> RunPrepared:
        """Describe it to whoever prepared it, or attaches to it."""
        return RunPrepared(
            ts=self.now,
            request_id=request_id,
            run_id=self.id,
            strategy_name=self.strategy.name,
            agents=self.strategy.agents,
            flow_tree=self.strategy.tree,
            conversation=self.subscribers.conversation,
            mcp_servers=[],
        )

    def broadcast(self, message: DaemonMessage, *, but: Subscriber | None = None) -> None:
        """Tell everyone who listens, except one if need be."""
        self.subscribers.broadcast(message, but=but)

    def note_input(self, agent: str, text: str) -> None:
        """Keep what a person gave to an agent, for those who come later."""
        self.subscribers.note_input(agent, text, self.now)

    # Asking

    async def on_ask(self, approval: Approval) -> None:
        """Broadcast a question that one of its guards has to put."""
        self._show(approval)

    def _show(self, approval: Approval) -> None:
        """Broadcast a question, once."""
        call, decision = approval.call, approval.decision
        if call is None or decision is None or approval.id in self._shown or approval.id not in self.questions.ids:
            return
        message = request_message(self.id, approval, call, decision)
        self._shown[approval.id] = (encode(message).decode(), self.guards.find(call.tool))
        self.broadcast(message)

    def is_open(self, question: str) -> bool:
        """Tell whether a question waits for an answer."""
        return question in self._shown

    def turn(self, question: str) -> asyncio.Lock:
        """Return what has answers to an open question taken one after the other: it is known whose was the first."""
        return self._turns.setdefault(question, asyncio.Lock())

    @contextlib.contextmanager
    def answering(self, question: str, subscriber: Subscriber) -> Any:
        """Remember who answers: others are told, this one is not."""
        self._answering.setdefault(question, subscriber)
        try:
            yield
        except BaseException:
            if self._answering.get(question) is subscriber:
                del self._answering[question]
            raise

    def tell(self, approval: Approval) -> None:
        """Tell everyone how a question ended, and what the guard is since."""
        self.questions.note(approval)
        if approval.state is State.PENDING:
            self._show(approval)
            return
        shown = self._shown.pop(approval.id, None)
        answered = self._answering.pop(approval.id, None)
        self._turns.pop(approval.id, None)
        if shown is None:
            return
        outcome = outcome_of(approval)
        by = approval.by or ""
        resolved = PermissionResolved(ts=self.now, request_id=approval.id, run_id=self.id, decision=outcome, by=by)
        self.broadcast(resolved, but=answered if outcome not in ("expired", "cancelled") else None)
        if outcome.endswith("-session"):
            self.broadcast_policy(shown[1])

    def broadcast_policy(self, guard: ToolGuard) -> None:
        """Tell everyone what a guard's chain is now."""
        chain = self._chain_of(guard)
        self.broadcast(PolicyUpdated(ts=self.now, run_id=self.id, tool=chain.tool, policies=chain.policies))

    def chains(self) -> tuple[GuardChain, ...]:
        """Return what guards each of its tools, on the layers as they are now."""
        return tuple(map(self._chain_of, self.guards.named(None)))

    def _chain_of(self, guard: ToolGuard) -> GuardChain:
        rules = guard.rules(self.context.engines(self.setting).merged)
        return GuardChain(guard.tool, tuple(map(PolicyName, rules.chain)))

    async def update_policy(self, guards: Sequence[ToolGuard], added: Patch, *, for_all: bool, by: str) -> None:
        """Add to the path policy of some guards, on record, and tell everyone about each."""
        payload: dict[str, Any] = {"run": self.id, "mode": added.dimension, "allow": added.allow, "deny": added.deny}
        payload |= {"default": added.default, "by": by}
        tools = [guard.tool for guard in guards]
        event = msgspec.structs.replace(
            status_event(self.record), type="policy.changed", payload={**payload, "tools": tools, "user": by}
        )
        await self.record_events((event,))
        self.guards.patch(guards, added, for_all=for_all)
        for guard in guards:
            self.broadcast_policy(guard)

    # Living

    async def record_events(self, events: Sequence[Event]) -> None:
        """Write down what happened, also if the run is stopped meanwhile; raises `StoreError` if that fails."""
        await asyncio.shield(self.context.log.record(events))

    async def record_begin(self, events: Sequence[Event]) -> None:
        """Write down what begins, before it does; raises `ToolError` if the run was ended, here or elsewhere."""
        log = self.context.log
        entries = [log.prepare(event) for event in events]

        def work(cursor: Cursor) -> None:
            check_run(cursor, self.session(""))
            log.append(cursor, entries)

        try:
            await self.context.store.commit(work)
        except NotFoundError as error:
            raise ToolError(str(error)) from None

    def check(self) -> None:
        """Raise `ToolError` unless the run goes on, as the store has it at this moment; blocks, in any thread."""
        if not self.context.store.fetch(_IS_ACTIVE, {"id": self.id}):
            raise ToolError(f"the run {self.id} is over; nothing was changed")

    async def start(self, given: str, work: Work) -> None:
        """Begin, once that is on record; raises `ToolError` for one that has begun, or is over."""
        async with self._turn:
            if not self.record.is_active and self.record.started_at is None:
                raise ToolError(f"Prepared run not found: {self.id}")
            if self.record.status is not Status.PENDING:
                raise ToolError(f"Run already started: {self.id}")
            record = msgspec.structs.replace(self.record, status=Status.RUNNING, started_at=self.context.clock())
            agent = self.strategy.agents[0]
            if not await self._keep(record, **({"agent": agent, "input": cut(given, KEPT_RESULT)} if given else {})):
                await self._end(self._ending())
                raise ToolError(f"Prepared run not found: {self.id}")
            self.record = record
            self.input = given
            if given:
                self.note_input(agent, given)
            self._main = asyncio.create_task(self._live(work))

    async def stop(self, reason: str = STOPPED, *, status: Status = Status.CANCELLED) -> None:
        """End it before its time, withdrawing what it asks."""
        ending = Ending(status, reason)
        async with self._turn:
            if self._main is None:
                if self.record.is_active:
                    await self._end(ending)
                return
        if self._stopping is None:
            self._stopping = ending
            if self._work is not None:
                self._work.cancel()
        await asyncio.shield(self._main)

    async def _live(self, work: Work) -> None:
        strategy = self.strategy
        self.broadcast(
            StrategyStarted(
                ts=self.now,
                run_id=self.id,
                strategy_name=strategy.name,
                agents=strategy.agents,
                flow_tree=strategy.tree,
            )
        )
        if self._stopping is None:
            self._work = asyncio.create_task(work(self))
            await asyncio.wait((self._work,))
        await self._end(self._ending())

    def _ending(self) -> Ending:
        work = self._work
        if work is not None and not work.cancelled() and work.exception() is None:
            return Ending(Status.COMPLETED, result=work.result())
        if self._stopping is not None:
            return self._stopping
        return Ending(Status.ERROR, self._reason(None if work is None or work.cancelled() else work.exception()))

    def _reason(self, error: BaseException | None) -> str:
        if isinstance(error, ToolError):
            return str(error)
        if isinstance(error, StoreError):
            return f"the run cannot be recorded: {error}"
        if isinstance(error, Exception):
            self.context.report("run.failed", error)
        return "an internal error"

    async def _end(self, ending: Ending) -> None:
        """Withdraw what is asked, write down how it ended, then tell it.

        Where another daemon has ended it, because nothing was heard of this one, that is how it ended.
        """
        await self.withdraw(ending.reason or "the run is over")
        self.record = msgspec.structs.replace(
            self.record, status=ending.status, ended_at=self.context.clock(), reason=ending.reason
        )
        try:
            if not await self._keep(self.record, result=ending.result[:KEPT_RESULT] or None):
                self.record = await find_record(self.context.store, self.id) or self.record
        except StoreError as error:
            # It has ended all the same, and its row is closed as soon as that can be done.
            self.is_written = False
            self.context.report("run.unrecorded", error)
        self.broadcast(end_message(self.record, ending.result))
        self.subscribers.close()
        self.is_over = True

    async def withdraw(self, why: str) -> None:
        """Cancel every question that is open."""
        cancelled = [self.context.decisions.cancel(question, why) for question in self.questions.ids]
        await asyncio.gather(*cancelled, return_exceptions=True)

    async def _keep(self, record: RunRecord, **more: Any) -> bool:
        """Write down where it is; false if it had been ended before."""
        entry = self.context.log.prepare(status_event(record, **more))

        def work(cursor: Cursor) -> bool:
            if not update_run(cursor, record):
                return False
            self.context.log.append(cursor, (entry,))
            if not record.is_active:
                self.context.end_tokens(cursor, record.id)
            return True

        return await self.context.store.commit(work)
