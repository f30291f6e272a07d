"""All runs of a daemon: prepare, start, stop, follow and answer them, for principals who may."""

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
from assent.runs.crash_recovery import RESTARTED, SILENT, close_abandoned
from assent.runs.daemon_leases import Lease
from assent.runs.execution import run_steps
from assent.runs.past_runs import PastRun
from assent.runs.prepare import make_run
from assent.runs.process_run import place_in_run, run_process
from assent.runs.protocol.client_messages import PermissionDecision, PrepareRun, UpdatePolicy
from assent.runs.protocol.messages import GuardChain, RunSummary, SteerQueued, StrategySummary
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
from assent.runs.remote_runs import STOP_TOPIC, Followers, RemoteRun, find_question, stop_elsewhere
from assent.runs.run import Run
from assent.runs.run_lookup import RunLookup, check_access
from assent.runs.strategies.library import Library
from assent.runs.subscribers import Subscriber
from assent.runs.tool_guards import MOST_GLOBS
from assent.runs.tools.files import ToolError
from assent.store.cursor import Cursor

MOST_LISTED = 200
MOST_ACTIVE = 1000
SHUT_DOWN = "the daemon was stopped while it ran"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}")


def find_decider(runs: Mapping[str, Run], session: Session) -> Decider:
    """Return the decider of a run's calls; raises `NotFoundError` for a run that is not here, or is over."""
    run = runs.get(session.id)
    if run is None or not run.record.is_active:
        raise NotFoundError(f"run `{session.id}` is over")
    return run


class RunRegistry:
    """The runs of one daemon. Call everything but `on_change` on its event loop."""

    def __init__(
        self, context: RunContext, *, node: str, lease: float, library: Library, runs: dict[str, Run] | None = None
    ) -> None:
        self._context = context
        self._node = node
        self._lease = Lease(context, node, lease)
        self._library = library
        self._runs = {} if runs is None else runs
        """The active runs, and some that are over; `find_decider` uses them too."""
        self._lookup = RunLookup(context, node, self._runs)
        self._tasks: set[asyncio.Task[None]] = set()
        self.followers = Followers()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def active(self) -> int:
        """Return how many runs are not over."""
        return sum(run.record.is_active for run in tuple(self._runs.values()))

    # For the rest of the daemon

    def is_here(self, run_id: str) -> bool:
        """Tell whether this daemon does a run, or did it lately."""
        return run_id in self._runs

    def place(self, who: Principal, call: ToolCall, session: Session) -> tuple[ToolCall, Session]:
        """Return a call of a run's own program as a call of that run; any other call as it is.

        Raises `NotFoundError` for a run that is over, or another daemon's, which has its guards.
        """
        if who.run is None:
            return call, session
        run = self._runs.get(who.run)
        if run is None:
            raise NotFoundError(f"run `{who.run}` is over, or belongs to another daemon; ask that daemon")
        more = {"modes": session.modes, "environment": session.environment, "shell": session.shell}
        return place_in_run(run, call), run.session(session.agent, **more)

    def on_change(self, topic: str, ref: str, value: Any) -> None:
        """Apply a change of a question, in the store's thread, before the callers that wait for it continue."""
        if topic == STOP_TOPIC:
            self._call(self._stop_by_request, ref)
        if topic == transitions.TOPIC and isinstance(value, Approval) and value.session.run:
            run = self._runs.get(value.session.id)
            if run is not None:
                run.questions.note(value)

    def tell(self, approval: Approval) -> None:
        """Send the new state of a question to the clients of its run."""
        run = self._runs.get(approval.session.id) if approval.session.run else None
        if run is None:
            return
        run.tell(approval)
        if approval.state is State.PENDING and not run.record.is_active:
            # The question was opened while the run ended.
            self._spawn(run.withdraw(run.record.reason or "the run is over"))

    async def recover(self) -> None:
        """End the runs that an earlier process of this daemon left active, and cancel their questions."""
        self._loop = asyncio.get_running_loop()
        context, node = self._context, self._node
        while await context.store.commit(lambda cursor: close_abandoned(cursor, context, node, RESTARTED)):
            pass
        self._lease.keep(self._lease_state, functools.partial(self._call, self._on_lease))

    async def close(self) -> None:
        """End every run at shutdown."""
        self.followers.close()
        active = [run for run in self._runs.values() if run.record.is_active]
        stops = [run.stop(SHUT_DOWN, status=Status.ERROR) for run in active]
        await asyncio.gather(*stops, *self._tasks, return_exceptions=True)
        self._context.threads.shutdown(wait=False, cancel_futures=True)

    def _lease_state(self) -> tuple[tuple[str, ...], dict[str, RunRecord]]:
        runs = tuple(self._runs.values())
        here = tuple(run.id for run in runs if not run.is_over)
        return here, {run.id: run.record for run in runs if run.is_over and not run.is_written}

    def _on_lease(self, lost: Collection[str], written: Collection[str]) -> None:
        """Stop the runs that other daemons ended while this one was silent."""
        for run_id in written:
            self._runs[run_id].is_written = True
        for run in (self._runs[run_id] for run_id in lost):
            if run.record.is_active:
                self._spawn(run.stop(SILENT, status=Status.ERROR))

    def _stop_by_request(self, run_id: str) -> None:
        """Stop a run because an authorised client of another daemon asked for it."""
        run = self._runs.get(run_id)
        if run is not None and run.record.is_active:
            self._spawn(run.stop())

    # Requests of clients

    async def prepare(self, request: PrepareRun, who: Principal) -> Run | PastRun | RemoteRun:
        """Prepare a new run, or return the existing one to attach to, even if it is over; raises `ProtocolError`."""
        if request.run_id is None and request.strategy_path is None:
            raise ProtocolError("VALIDATION_ERROR", "Invalid message: runId: required without a strategyPath")
        if request.run_id is not None and not _ID.fullmatch(request.run_id):
            raise ProtocolError("VALIDATION_ERROR", "Invalid message: runId: expected letters, digits and _ . : -")
        run_id = request.run_id or f"run_{secrets.token_hex(8)}"
        while (found := await self._lookup.find_visible(run_id, who)) is None:
            if request.strategy_path is None:
                raise _failed("strategyPath is required when preparing a new run")
            if run_id not in self._lookup.preparing and (
                made := await self._make(run_id, request, request.strategy_path, who)
            ):
                return made
        if request.strategy_path is not None and isinstance(found, PastRun):
            raise _failed(f"Run already exists: {run_id}")
        return found

    async def start(self, run_id: str, given: str | None, who: Principal) -> None:
        """Start a prepared run."""
        run = self._runs.get(run_id)
        if run is None:
            raise ProtocolError("START_FAILED", f"Prepared run not found: {run_id}")
        check_access(run.record, who)
        run.confined |= who.role is not Role.ADMIN
        try:
            await run.start(given or "", run_steps if run.strategy.process is None else run_process)
        except ToolError as error:
            raise ProtocolError("START_FAILED", str(error)) from None

    async def stop(self, run_id: str, who: Principal) -> None:
        """Stop a run."""
        run = self._runs.get(run_id)
        record = None if run is not None else await find_record(self._context.store, run_id)
        if record is None or not self._lookup.is_remote(record):
            await self._lookup.find_active(run_id, who).stop()
            return
        check_access(record, who)
        if not await stop_elsewhere(self._context.store, run_id):
            raise ProtocolError("INTERNAL_ERROR", f"The daemon of run {run_id} did not stop it; is it running?")

    async def subscribe(self, run_id: str, who: Principal, subscriber: Subscriber) -> None:
        """Send the messages of a run to a subscriber; of a run that is over, how it ended."""
        found = await self._lookup.find_visible(run_id, who)
        if found is None:
            raise ProtocolError("SUBSCRIBE_ERROR", f"Run not found: {run_id}")
        await self.listen(found, subscriber)

    async def listen(self, run: Run | PastRun | RemoteRun, subscriber: Subscriber) -> None:
        """Send the messages of a run that was found to a subscriber."""
        if isinstance(run, RemoteRun):
            self.followers.add(run, subscriber)
        else:
            await run.subscribe(subscriber)

    def unsubscribe(self, run_id: str, subscriber: Subscriber) -> None:
        """Stop sending the messages of a run to a subscriber."""
        run = self._runs.get(run_id)
        if run is not None:
            run.subscribers.remove(subscriber)
        self.followers.remove(run_id, subscriber)

    def leave(self, subscriber: Subscriber) -> None:
        """Remove a subscriber that has disconnected from all runs."""
        for run in self._runs.values():
            run.subscribers.remove(subscriber)
        self.followers.leave(subscriber)

    async def answer(self, given: PermissionDecision, who: Principal, subscriber: Subscriber) -> Approval:
        """Answer a question of a run; the first answer counts."""
        wanted = given.permission_request_id
        missing = ProtocolError(
            "NO_PENDING_PERMISSION", f"No pending permission request {wanted} for run {given.run_id}"
        )
        run = self._runs.get(given.run_id)
        if run is None:
            await self._check_elsewhere(given.run_id, wanted, who, missing)
            return await self._answer(given, who, missing)
        check_access(run.record, who)
        if not run.is_open(wanted):
            raise missing
        async with run.turn(wanted):
            if not run.is_open(wanted):
                raise missing
            with run.answering(wanted, subscriber):
                return await self._answer(given, who, missing)

    async def update_policy(self, request: UpdatePolicy, who: Principal) -> None:
        """Add rules to the path policies of a run's guards."""
        run = self._lookup.find_active(request.run_id, who)
        if (request.allow or request.default == "allow") and not run.confined and who.role is not Role.ADMIN:
            raise ProtocolError("FORBIDDEN", f"an admin started run {run.id}: only an admin may allow more in it")
        guards = run.guards.named(request.tool)
        if not guards:
            raise ProtocolError("VALIDATION_ERROR", f'Invalid message: tool: no guard is called "{request.tool}"')
        check_globs("allow", request.allow)
        check_globs("deny", request.deny)
        default = None if request.default is None else Verdict(request.default)
        added = Patch(request.mode, request.allow, request.deny, default)
        if not all(guard.has_room(added) for guard in guards):
            raise ProtocolError("VALIDATION_ERROR", f"Invalid message: allow, deny: more than {MOST_GLOBS} in all")
        await run.update_policy(guards, added, for_all=request.tool is None, by=who.user)

    async def give_input(self, run_id: str, agent: str, text: str, who: Principal) -> None:
        """Write a line to the program of a run."""
        run = self._runs.get(run_id)
        missing = ProtocolError("NO_PENDING_INPUT", f"No pending input request for run {run_id} agent {agent}")
        if run is not None:
            check_access(run.record, who)
        if run is None or run.write_input is None or agent not in run.strategy.agents:
            raise missing
        try:
            run.write_input(text if text.endswith("\n") else text + "\n")
        except ToolError:
            raise missing from None
        run.note_input(agent, text)
        # Its length only: somebody may have typed a password.
        self._context.log.note(status_event(run.record, agent=agent, by=who.user, given=len(text)))

    async def steer(self, run_id: str, text: str, who: Principal) -> None:
        """Write to the program of a run while it works, and notify all subscribers."""
        run = self._runs.get(run_id)
        if run is None:
            raise ProtocolError("RUN_NOT_STEERABLE", f"Cannot steer run {run_id}: not running")
        check_access(run.record, who)
        try:
            await self.give_input(run_id, run.strategy.agents[0], text, who)
        except ProtocolError:
            why = "not running" if run.is_over else "its program does not read input"
            raise ProtocolError("RUN_NOT_STEERABLE", f"Cannot steer run {run_id}: {why}") from None
        run.broadcast(SteerQueued(ts=run.now, run_id=run_id, text=text))

    async def list(self, who: Principal) -> tuple[RunSummary, ...]:
        """Return the runs that a principal may see, newest first."""
        sql = SELECT_RUNS + " WHERE user_id = :user OR :all = 1 ORDER BY created_at DESC, id LIMIT :limit"
        everyone = int(who.may_answer("\0nobody"))
        rows = await self._context.store.query(sql, {"user": who.user, "all": everyone, "limit": MOST_LISTED})
        return tuple(summarise(read_run(row)) for row in rows)

    async def describe(self, run_id: str, who: Principal) -> tuple[RunSummary, tuple[GuardChain, ...]]:
        """Return a run and the current guards of its tools; raises `ProtocolError`."""
        record, run = await self._lookup.find(run_id, who)
        if record is None:
            raise ProtocolError("SUBSCRIBE_ERROR", f"Run not found: {run_id}")
        return summarise(record), run.chains() if run is not None else ()

    async def list_strategies(self) -> tuple[StrategySummary, ...]:
        """Return the available strategies."""
        found = await self._in_thread(self._library.list)
        return tuple(StrategySummary(s.name, path, s.kind, s.description) for path, s in found)

    # Internal

    async def _answer(self, given: PermissionDecision, who: Principal, missing: ProtocolError) -> Approval:
        try:
            return await self._context.decisions.answer(given.permission_request_id, answer_of(given.decision), who)
        except (NotFoundError, AlreadyAnsweredError):
            raise missing from None

    async def _check_elsewhere(self, run_id: str, wanted: str, who: Principal, missing: ProtocolError) -> None:
        """Raise unless another daemon's run has this pending question, and the principal may answer it."""
        record = await find_record(self._context.store, run_id)
        if record is None or not self._lookup.is_remote(record):
            raise missing
        check_access(record, who)
        if await find_question(self._context.store, run_id, wanted) is None:
            raise missing

    async def _make(self, run_id: str, request: PrepareRun, path: str, who: Principal) -> Run | None:
        """Make a run; None if another daemon makes one with the same id meanwhile."""
        if self.active + len(self._lookup.preparing) >= MOST_ACTIVE:
            raise _failed(f"{MOST_ACTIVE} runs are already active; stop one first")
        made = self._lookup.preparing[run_id] = asyncio.get_running_loop().create_future()
        try:
            return await self._make_new(run_id, request, path, who)
        except ConfigError as error:
            raise _failed(str(error)) from None
        finally:
            del self._lookup.preparing[run_id]
            made.set_result(None)

    async def _make_new(self, run_id: str, request: PrepareRun, path: str, who: Principal) -> Run | None:
        by_admin = who.role is Role.ADMIN
        if not by_admin and request.profile not in (None, *NAMES):
            raise ForbiddenError(f"only an admin may start a run in the profile `{request.profile}`")
        find = functools.partial(self._library.find, path, request.cwd, anywhere=by_admin)
        found = await self._in_thread(find)
        run = await make_run(self._context, request, found, id=run_id, user=who.user, node=self._node)
        self._library.check_folder(run.setting.cwd)
        run.confined = not by_admin
        entry = self._context.log.prepare(status_event(run.record))

        def work(cursor: Cursor) -> bool:
            self._lease.renew(cursor)
            if not insert_run(cursor, run.record):  # another daemon was first
                return False
            self._context.log.append(cursor, (entry,))
            return True

        if not await self._context.store.commit(work):
            return None
        self._lookup.forget_old()
        self._runs[run_id] = run
        return run

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._context.threads, work)

    def _call(self, action: Callable[..., None], *arguments: Any) -> None:
        """Call a function on the event loop, from any thread."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has closed, and all runs with it
                self._loop.call_soon_threadsafe(action, *arguments)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _failed(message: str) -> ProtocolError:
    return ProtocolError("PREPARE_FAILED", message)
