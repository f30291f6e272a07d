"""All runs of a daemon: who may do what with them, and what becomes of those that a crash left behind."""

# Paths are strings here, as in the vocabulary.

from __future__ import annotations

import asyncio
import contextlib
import functools
import re
import secrets
from collections.abc import Callable, Collection, Coroutine, Mapping
from typing import Any

from assent.decisions.approvals import transitions
from assent.decisions.errors import AlreadyAnsweredError
from assent.decisions.evaluate import Decider
from assent.model import (
    Approval,
    ConfigError,
    ForbiddenError,
    NotFoundError,
    Principal,
    Role,
    Session,
    State,
    ToolCall,
    Verdict,
)
from assent.policy.guard import Patch
from assent.policy.sandbox_profiles import NAMES
from assent.runs.context import RunContext
from assent.runs.crash_recovery import RESTARTED, SILENT, close_left
from assent.runs.daemon_leases import Lease
from assent.runs.execution import run_steps
from assent.runs.past_runs import PastRun, read_back
from assent.runs.prepare import make_run
from assent.runs.process_run import put_in, run_process
from assent.runs.protocol.messages import (
    GuardChain,
    PermissionDecision,
    PrepareRun,
    RunSummary,
    SteerQueued,
    StrategySummary,
    UpdatePolicy,
)
from assent.runs.protocol.parse import ProtocolError, check_globs
from assent.runs.questions import answer_of
from assent.runs.records import (
    SELECT_RUNS,
    RunRecord,
    Status,
    find_record,
    insert_run,
    read_run,
    status_event,
    summarise,
)
from assent.runs.remote_runs import STOP_TOPIC, Followers, RunElsewhere, find_question, stop_elsewhere
from assent.runs.run import Run
from assent.runs.strategies.library import Library
from assent.runs.subscribers import Subscriber
from assent.runs.tool_guards import MOST_GLOBS
from assent.runs.tools.files import ToolError
from assent.store.cursor import Cursor

MOST_REMEMBERED = 256
"""Runs that are over, and can still be subscribed to."""
MOST_LISTED = 200
MOST_ACTIVE = 1000
SHUT_DOWN = "the daemon was stopped while it ran"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}")


def find_decider(runs: Mapping[str, Run], session: Session) -> Decider:
    """Return what decides a call of a run; raises `NotFoundError` for one that is not here, or is over."""
    run = runs.get(session.id)
    if run is None or not run.record.is_active:
        raise NotFoundError(f"the run {session.id} is over")
    return run


class RunRegistry:
    """The runs of one daemon. Everything but `hear` happens on its loop."""

    def __init__(
        self, ground: RunContext, *, node: str, lease: float, library: Library, runs: dict[str, Run] | None = None
    ) -> None:
        self._ground = ground
        self._node = node
        self._lease = Lease(ground, node, lease)
        self._library = library
        self._runs = {} if runs is None else runs
        """Runs that are not over, and some that are; `find_decider` looks them up too."""
        self._preparing: dict[str, asyncio.Future[None]] = {}
        self._chores: set[asyncio.Task[None]] = set()
        self.followers = Followers()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def active(self) -> int:
        """Return how many runs are not over."""
        return sum(run.record.is_active for run in tuple(self._runs.values()))

    # What the rest of the daemon needs

    def is_here(self, run_id: str) -> bool:
        """Tell whether a run is done by this daemon, or was a moment ago."""
        return run_id in self._runs

    def place(self, who: Principal, call: ToolCall, session: Session) -> tuple[ToolCall, Session]:
        """Put the call of a run's own program into that run; everyone else's stays as it is.

        Raises `NotFoundError` for a run that is over, or another daemon's: its guards are there, and nowhere else.
        """
        if who.run is None:
            return call, session
        run = self._runs.get(who.run)
        if run is None:
            raise NotFoundError(f"the run {who.run} is over, or done by another daemon: its program asks there")
        more = {"modes": session.modes, "environment": session.environment, "shell": session.shell}
        return put_in(run, call), run.session(session.agent, **more)

    def hear(self, topic: str, ref: str, value: Any) -> None:
        """Take in what became of a question, in the store's own thread: before whoever waits for it goes on."""
        if topic == STOP_TOPIC:
            self._call(self._obey_stop, ref)
        if topic == transitions.TOPIC and isinstance(value, Approval) and value.session.run:
            run = self._runs.get(value.session.id)
            if run is not None:
                run.questions.note(value)

    def tell(self, approval: Approval) -> None:
        """Tell the clients of a run what became of a question."""
        run = self._runs.get(approval.session.id) if approval.session.run else None
        if run is None:
            return
        run.tell(approval)
        if approval.state is State.PENDING and not run.record.is_active:
            # It was asked at the very moment when the run ended.
            self._later(run.withdraw(run.record.reason or "the run is over"))

    async def recover(self) -> None:
        """Close what an earlier process left behind: its runs are over, what they asked is withdrawn."""
        self._loop = asyncio.get_running_loop()
        ground, node = self._ground, self._node
        while await ground.store.commit(lambda cursor: close_left(cursor, ground, node, RESTARTED)):
            pass
        self._lease.keep(self._standing, functools.partial(self._call, self._take_in))

    async def close(self) -> None:
        """End every run, since the daemon stops."""
        self.followers.close()
        active = [run for run in self._runs.values() if run.record.is_active]
        stops = [run.stop(SHUT_DOWN, status=Status.ERROR) for run in active]
        await asyncio.gather(*stops, *self._chores, return_exceptions=True)
        self._ground.threads.shutdown(wait=False, cancel_futures=True)

    def _standing(self) -> tuple[tuple[str, ...], dict[str, RunRecord]]:
        runs = tuple(self._runs.values())
        here = tuple(run.id for run in runs if not run.is_over)
        return here, {run.id: run.record for run in runs if run.is_over and not run.is_written}

    def _take_in(self, lost: Collection[str], written: Collection[str]) -> None:
        """Do no more of the runs that others ended while this daemon was away."""
        for run_id in written:
            self._runs[run_id].is_written = True
        for run in (self._runs[run_id] for run_id in lost):
            if run.record.is_active:
                self._later(run.stop(SILENT, status=Status.ERROR))

    def _obey_stop(self, run_id: str) -> None:
        """End a run because a client of another daemon asked for it, and may."""
        run = self._runs.get(run_id)
        if run is not None and run.record.is_active:
            self._later(run.stop())

    # What clients ask for

    async def prepare(self, wish: PrepareRun, who: Principal) -> Run | PastRun | RunElsewhere:
        """Make a run, or find the one to attach to, also if it is over; raises `ProtocolError`."""
        if wish.run_id is None and wish.strategy_path is None:
            raise ProtocolError("VALIDATION_ERROR", "Invalid message: runId: required without a strategyPath")
        if wish.run_id is not None and not _ID.fullmatch(wish.run_id):
            raise ProtocolError("VALIDATION_ERROR", "Invalid message: runId: expected letters, digits and _ . : -")
        run_id = wish.run_id or f"run_{secrets.token_hex(8)}"
        while (found := await self._meet(run_id, who)) is None:
            if wish.strategy_path is None:
                raise _failed("strategyPath is required when preparing a new run")
            if run_id not in self._preparing and (made := await self._make(run_id, wish, wish.strategy_path, who)):
                return made
        if wish.strategy_path is not None and isinstance(found, PastRun):
            raise _failed(f"Run already exists: {run_id}")
        return found

    async def start(self, run_id: str, given: str | None, who: Principal) -> None:
        """Begin a run that was prepared."""
        run = self._runs.get(run_id)
        if run is None:
            raise ProtocolError("START_FAILED", f"Prepared run not found: {run_id}")
        self._check(run.record, who)
        run.confined |= who.role is not Role.ADMIN
        try:
            await run.start(given or "", run_steps if run.strategy.process is None else run_process)
        except ToolError as error:
            raise ProtocolError("START_FAILED", str(error)) from None

    async def stop(self, run_id: str, who: Principal) -> None:
        """End a run before its time."""
        run = self._runs.get(run_id)
        record = None if run is not None else await find_record(self._ground.store, run_id)
        if record is None or not self._is_elsewhere(record):
            await self._find_active(run_id, who).stop()
            return
        self._check(record, who)
        if not await stop_elsewhere(self._ground.store, run_id):
            raise ProtocolError("INTERNAL_ERROR", f"The daemon of run {run_id} has not ended it; is it there?")

    async def subscribe(self, run_id: str, who: Principal, subscriber: Subscriber) -> None:
        """Have someone hear of a run; of one that is over, how it ended."""
        found = await self._meet(run_id, who)
        if found is None:
            raise ProtocolError("SUBSCRIBE_ERROR", f"Run not found: {run_id}")
        await self.listen(found, subscriber)

    async def listen(self, run: Run | PastRun | RunElsewhere, subscriber: Subscriber) -> None:
        """Have someone hear of a run that was found."""
        if isinstance(run, RunElsewhere):
            self.followers.add(run, subscriber)
        else:
            await run.subscribe(subscriber)

    def unsubscribe(self, run_id: str, subscriber: Subscriber) -> None:
        """Let someone hear no more of a run."""
        run = self._runs.get(run_id)
        if run is not None:
            run.audience.remove(subscriber)
        self.followers.remove(run_id, subscriber)

    def leave(self, subscriber: Subscriber) -> None:
        """Forget someone who has gone."""
        for run in self._runs.values():
            run.audience.remove(subscriber)
        self.followers.leave(subscriber)

    async def answer(self, said: PermissionDecision, who: Principal, subscriber: Subscriber) -> Approval:
        """Answer a question of a run, for good; the first answer counts."""
        wanted = said.permission_request_id
        missing = ProtocolError(
            "NO_PENDING_PERMISSION", f"No pending permission request {wanted} for run {said.run_id}"
        )
        run = self._runs.get(said.run_id)
        if run is None:
            await self._check_elsewhere(said.run_id, wanted, who, missing)
            return await self._answer(said, who, missing)
        self._check(run.record, who)
        if not run.is_open(wanted):
            raise missing
        async with run.turn(wanted):
            if not run.is_open(wanted):
                raise missing
            with run.answering(wanted, subscriber):
                return await self._answer(said, who, missing)

    async def update_policy(self, wish: UpdatePolicy, who: Principal) -> None:
        """Add to the path policies of a run's guards."""
        run = self._find_active(wish.run_id, who)
        if (wish.allow or wish.default == "allow") and not run.confined and who.role is not Role.ADMIN:
            raise ProtocolError("FORBIDDEN", f"an admin started run {run.id}: only an admin may allow more in it")
        guards = run.guards.named(wish.tool)
        if not guards:
            raise ProtocolError("VALIDATION_ERROR", f'Invalid message: tool: no guard is called "{wish.tool}"')
        check_globs("allow", wish.allow)
        check_globs("deny", wish.deny)
        default = None if wish.default is None else Verdict(wish.default)
        added = Patch(wish.mode, wish.allow, wish.deny, default)
        if not all(guard.has_room(added) for guard in guards):
            raise ProtocolError("VALIDATION_ERROR", f"Invalid message: allow, deny: more than {MOST_GLOBS} in all")
        await run.update_policy(guards, added, for_all=wish.tool is None, by=who.user)

    async def give_input(self, run_id: str, agent: str, text: str, who: Principal) -> None:
        """Write to the program of a run."""
        run = self._runs.get(run_id)
        missing = ProtocolError("NO_PENDING_INPUT", f"No pending input request for run {run_id} agent {agent}")
        if run is not None:
            self._check(run.record, who)
        if run is None or run.write_input is None or agent not in run.strategy.agents:
            raise missing
        try:
            run.write_input(text if text.endswith("\n") else text + "\n")
        except ToolError:
            raise missing from None
        run.note_input(agent, text)
        # Not what it was: somebody may have typed a password.
        self._ground.log.note(status_event(run.record, agent=agent, by=who.user, given=len(text)))

    async def steer(self, run_id: str, text: str, who: Principal) -> None:
        """Tell the program of a run something while it works, and all who follow it that this was done."""
        run = self._runs.get(run_id)
        if run is None:
            raise ProtocolError("RUN_NOT_STEERABLE", f"Cannot steer run {run_id}: not running")
        self._check(run.record, who)
        try:
            await self.give_input(run_id, run.strategy.agents[0], text, who)
        except ProtocolError:
            why = "not running" if run.is_over else "its program does not read input"
            raise ProtocolError("RUN_NOT_STEERABLE", f"Cannot steer run {run_id}: {why}") from None
        run.say(SteerQueued(ts=run.now, run_id=run_id, text=text))

    async def list(self, who: Principal) -> tuple[RunSummary, ...]:
        """Return the runs that somebody may see, the newest first."""
        sql = SELECT_RUNS + " WHERE user_id = :user OR :all = 1 ORDER BY created_at DESC, id LIMIT :limit"
        everyone = int(who.may_answer("\0nobody"))
        rows = await self._ground.store.query(sql, {"user": who.user, "all": everyone, "limit": MOST_LISTED})
        return tuple(summarise(read_run(row)) for row in rows)

    async def describe(self, run_id: str, who: Principal) -> tuple[RunSummary, tuple[GuardChain, ...]]:
        """Return a run and what guards its tools now; raises `ProtocolError`."""
        record, run = await self._find(run_id, who)
        if record is None:
            raise ProtocolError("SUBSCRIBE_ERROR", f"Run not found: {run_id}")
        return summarise(record), run.chains() if run is not None else ()

    async def list_strategies(self) -> tuple[StrategySummary, ...]:
        """Return the strategies that lie ready."""
        found = await self._in_thread(self._library.list)
        return tuple(StrategySummary(s.name, path, s.kind, s.description) for path, s in found)

    # Within

    async def _answer(self, said: PermissionDecision, who: Principal, missing: ProtocolError) -> Approval:
        try:
            return await self._ground.decisions.answer(said.permission_request_id, answer_of(said.decision), who)
        except (NotFoundError, AlreadyAnsweredError):
            raise missing from None

    async def _check_elsewhere(self, run_id: str, wanted: str, who: Principal, missing: ProtocolError) -> None:
        """Raise unless another daemon's run asks this, of somebody who may answer."""
        record = await find_record(self._ground.store, run_id)
        if record is None or not self._is_elsewhere(record):
            raise missing
        self._check(record, who)
        if await find_question(self._ground.store, run_id, wanted) is None:
            raise missing

    def _is_elsewhere(self, record: RunRecord) -> bool:
        """Tell whether another daemon does a run now."""
        return record.is_active and record.node != self._node

    async def _make(self, run_id: str, wish: PrepareRun, path: str, who: Principal) -> Run | None:
        """Make a run, unless another daemon makes one of its id meanwhile."""
        if self.active + len(self._preparing) >= MOST_ACTIVE:
            raise _failed(f"there are {MOST_ACTIVE} runs already")
        made = self._preparing[run_id] = asyncio.get_running_loop().create_future()
        try:
            return await self._make_new(run_id, wish, path, who)
        except ConfigError as error:
            raise _failed(str(error)) from None
        finally:
            del self._preparing[run_id]
            made.set_result(None)

    async def _make_new(self, run_id: str, wish: PrepareRun, path: str, who: Principal) -> Run | None:
        by_admin = who.role is Role.ADMIN
        if not by_admin and wish.profile not in (None, *NAMES):
            raise ForbiddenError(f"only an admin may start a run in the profile `{wish.profile}`")
        find = functools.partial(self._library.find, path, wish.cwd, anywhere=by_admin)
        found = await self._in_thread(find)
        run = await make_run(self._ground, wish, found, id=run_id, user=who.user, node=self._node)
        self._library.check_folder(run.setting.cwd)
        run.confined = not by_admin
        entry = self._ground.log.prepare(status_event(run.record))

        def work(cursor: Cursor) -> bool:
            self._lease.renew(cursor)
            if not insert_run(cursor, run.record):  # another daemon was quicker
                return False
            self._ground.log.append(cursor, (entry,))
            return True

        if not await self._ground.store.commit(work):
            return None
        self._forget_old()
        self._runs[run_id] = run
        return run

    def _find_active(self, run_id: str, who: Principal) -> Run:
        run = self._runs.get(run_id)
        if run is None or not run.record.is_active:
            raise ProtocolError("RUN_NOT_FOUND", f"No active run found for runId {run_id}")
        self._check(run.record, who)
        return run

    def _check(self, record: RunRecord, who: Principal) -> None:
        if not who.may_answer(record.user):
            raise ProtocolError("FORBIDDEN", f"run {record.id} belongs to another user; only they or an admin may")

    async def _meet(self, run_id: str, who: Principal) -> Run | PastRun | RunElsewhere | None:
        """Find a run as it can be heard of: itself, from the log of another daemon's, or read back; None for none."""
        record, run = await self._find(run_id, who)
        while (making := self._preparing.get(run_id)) is not None:
            await asyncio.wait((making,))
            record, run = await self._find(run_id, who)
        if run is not None and not run.is_over:
            return run
        if record is None:
            return None
        store = self._ground.store
        past = await read_back(store, record)
        if not self._is_elsewhere(record):
            return past
        now = await find_record(store, run_id) or record  # its end, if it has come meanwhile, is behind what was read
        return RunElsewhere(store, self._ground.log, past) if now.is_active else await read_back(store, now)

    async def _find(self, run_id: str, who: Principal) -> tuple[RunRecord | None, Run | None]:
        """Find what is known of a run, if somebody may see it, and the run itself while it is remembered."""
        record = None if run_id in self._runs else await find_record(self._ground.store, run_id)
        run = self._runs.get(run_id)
        record = record if run is None else run.record
        if record is not None:
            self._check(record, who)
        return record, run

    def _forget_old(self) -> None:
        over = [run_id for run_id, run in self._runs.items() if run.is_over and run.is_written]
        for run_id in over[: max(0, len(over) - MOST_REMEMBERED)]:
            del self._runs[run_id]

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._ground.threads, work)

    def _call(self, action: Callable[..., None], *arguments: Any) -> None:
        """Do something on the loop, from any thread."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has closed, and all runs with it
                self._loop.call_soon_threadsafe(action, *arguments)

    def _later(self, chore: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(chore)
        self._chores.add(task)
        task.add_done_callback(self._chores.discard)
        return task


def _failed(message: str) -> ProtocolError:
    return ProtocolError("PREPARE_FAILED", message)
