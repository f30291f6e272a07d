"""All runs of a daemon: who may do what with them, and what becomes of those that a crash left behind."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH111, PTH112, PTH118, PTH120

from __future__ import annotations

import asyncio
import os
import re
import secrets
from collections.abc import Callable
from typing import Any

import msgspec

from assent.approvals import questions
from assent.approvals.errors import AlreadyAnsweredError
from assent.approvals.rows import APPROVAL_COLUMNS, read_approval
from assent.model import (
    Answer,
    Approval,
    AssentError,
    ConfigError,
    Layer,
    NotFoundError,
    Policy,
    Principal,
    Scope,
    Session,
    State,
    ToolCall,
    Verdict,
)
from assent.policy.profiles import NAMES
from assent.reading.globs import compile_glob
from assent.runs.engines import Setting
from assent.runs.execution import run_steps
from assent.runs.files import ToolError
from assent.runs.history import PastRun, read_back
from assent.runs.messages import (
    GuardChain,
    PermissionDecision,
    PrepareRun,
    RunSummary,
    StrategySummary,
    UpdatePolicy,
    stamp,
)
from assent.runs.parsing import ProtocolError
from assent.runs.processes import put_in, run_process
from assent.runs.records import SELECT_RUNS, RunRecord, Status, insert_run, read_run, status_event, update_run
from assent.runs.run import Ground, Run, Subscriber
from assent.runs.strategy import Strategy, list_strategies, load_strategy
from assent.sandbox import find_machine
from assent.store.cursor import Cursor
from assent.weighing import Decider

MOST_REMEMBERED = 256
"""Runs that are over, and can still be subscribed to."""
MOST_LISTED = 200
MOST_ACTIVE = 1000
LONGEST_GLOB = 4096
MOST_GLOBS = 1000
RESTARTED = "the daemon was restarted while it ran"
SHUT_DOWN = "the daemon was stopped while it ran"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}")
_PENDING = f"SELECT {APPROVAL_COLUMNS} FROM approvals WHERE state = 'pending'"  # noqa: S608 - constants
_WORDS: dict[str, tuple[Verdict, Scope]] = {
    "allow": (Verdict.ALLOW, Scope.ONCE),
    "deny": (Verdict.DENY, Scope.ONCE),
    "allow-session": (Verdict.ALLOW, Scope.SESSION),
    "deny-session": (Verdict.DENY, Scope.SESSION),
}


class Runs:
    """The runs of one daemon. Everything but `hear` happens on its loop."""

    def __init__(self, ground: Ground, *, node: str, config_home: str | None) -> None:
        self._ground = ground
        self._node = node
        self._config_home = config_home
        self._runs: dict[str, Run] = {}
        self._preparing: set[str] = set()
        self._lent: dict[str, str] = {}
        """The tokens of programs at work, with their runs."""
        self._chores: set[asyncio.Task[Any]] = set()

    @property
    def active(self) -> int:
        """Return how many runs are not over."""
        return sum(run.record.is_active for run in self._runs.values())

    # What the rest of the daemon needs

    def find_decider(self, _call: ToolCall, session: Session) -> Decider:
        """Return what decides a call of a run; raises `NotFoundError` for one that is not here, or is over."""
        run = self._runs.get(session.id)
        if run is None or not run.record.is_active:
            raise NotFoundError(f"the run {session.id} is over")
        return run

    def place(self, token: str, call: ToolCall, session: Session) -> tuple[ToolCall, Session]:
        """Put the call of a run's own program into that run; everyone else's stays as it is."""
        run = self._runs.get(self._lent.get(token, ""))
        if run is None:
            return call, session
        return put_in(run, call), run.session(session.agent, modes=session.modes)

    def lend(self, token: str, run_id: str) -> None:
        """Have the calls made with a token be those of a run."""
        self._lent[token] = run_id

    def take_back(self, token: str) -> None:
        """End that."""
        self._lent.pop(token, None)

    def hear(self, topic: str, _ref: str, value: Any) -> None:
        """Take in what became of a question, in the store's own thread: before whoever waits for it goes on."""
        if topic == questions.TOPIC and isinstance(value, Approval) and value.session.run:
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

    async def recover(self) -> tuple[str, ...]:
        """Close what an earlier process left behind, and name it: its runs are over, what they asked is withdrawn."""
        return await self._ground.store.commit(self._recover)

    async def close(self) -> None:
        """End every run, since the daemon stops."""
        active = [run for run in self._runs.values() if run.record.is_active]
        stops = [run.stop(SHUT_DOWN, status=Status.ERROR) for run in active]
        await asyncio.gather(*stops, *self._chores, return_exceptions=True)
        self._ground.threads.shutdown(wait=False, cancel_futures=True)

    # What clients ask for

    async def prepare(self, wish: PrepareRun, who: Principal) -> Run | PastRun:
        """Make a run, or find the one to attach to, also if it is over; raises `ProtocolError`."""
        if wish.run_id is None and wish.strategy_path is None:
            raise ProtocolError("VALIDATION_ERROR", "Invalid message: runId: required without a strategyPath")
        if wish.run_id is not None and not _ID.fullmatch(wish.run_id):
            raise ProtocolError("VALIDATION_ERROR", "Invalid message: runId: expected letters, digits and _ . : -")
        known = self._runs.get(wish.run_id or "")
        if known is not None and known.record.is_active:
            self._check(known.record, who)
            return known
        run_id = wish.run_id or f"run_{secrets.token_hex(8)}"
        if wish.strategy_path is None:
            return await self._attach(run_id, who)
        if known is not None or run_id in self._preparing or await self._find_record(run_id) is not None:
            raise _failed(f"Run already exists: {run_id}")
        if self.active + len(self._preparing) >= MOST_ACTIVE:
            raise _failed(f"there are {MOST_ACTIVE} runs already")
        self._preparing.add(run_id)
        try:
            return await self._make(run_id, wish, wish.strategy_path, who)
        except ConfigError as error:
            raise _failed(str(error)) from None
        finally:
            self._preparing.discard(run_id)

    async def start(self, run_id: str, given: str | None, who: Principal) -> None:
        """Begin a run that was prepared."""
        run = self._runs.get(run_id)
        if run is None:
            raise ProtocolError("START_FAILED", f"Prepared run not found: {run_id}")
        self._check(run.record, who)
        try:
            await run.start(given or "", run_steps if run.strategy.process is None else run_process)
        except ToolError as error:
            raise ProtocolError("START_FAILED", str(error)) from None

    async def stop(self, run_id: str, who: Principal) -> None:
        """End a run before its time."""
        await self._find_active(run_id, who).stop()

    async def subscribe(self, run_id: str, who: Principal, subscriber: Subscriber) -> None:
        """Have someone hear of a run; of one that is over, how it ended."""
        record, run = await self._find(run_id, who)
        if run is not None and not run.is_over:
            run.subscribe(subscriber)
        elif record.is_active:
            raise ProtocolError("SUBSCRIBE_ERROR", f"Run {run_id} is another daemon's; subscribe there")
        else:
            (await read_back(self._ground.store, record)).subscribe(subscriber)

    def unsubscribe(self, run_id: str, subscriber: Subscriber) -> None:
        """Let someone hear no more of a run."""
        run = self._runs.get(run_id)
        if run is not None:
            run.unsubscribe(subscriber)

    def leave(self, subscriber: Subscriber) -> None:
        """Forget someone who has gone."""
        for run in self._runs.values():
            run.unsubscribe(subscriber)

    async def answer(self, said: PermissionDecision, who: Principal, subscriber: Subscriber) -> Approval:
        """Answer a question of a run, for good; the first answer counts."""
        wanted = said.permission_request_id
        missing = ProtocolError(
            "NO_PENDING_PERMISSION", f"No pending permission request {wanted} for run {said.run_id}"
        )
        run = self._runs.get(said.run_id)
        if run is None:
            raise missing
        self._check(run.record, who)
        verdict, scope = _WORDS[said.decision]
        async with run.answers:
            if not run.is_open(wanted):
                raise missing
            try:
                with run.answering(wanted, subscriber):
                    return await self._ground.gate.answer(wanted, Answer(verdict=verdict, scope=scope), who)
            except (NotFoundError, AlreadyAnsweredError):
                raise missing from None

    async def update_policy(self, wish: UpdatePolicy, who: Principal) -> None:
        """Add to the path policies of a run's guards."""
        run = self._find_active(wish.run_id, who)
        guards = run.guards.named(wish.tool)
        if not guards:
            raise ProtocolError("VALIDATION_ERROR", f'Invalid message: tool: no guard is called "{wish.tool}"')
        _check_globs("allow", wish.allow)
        _check_globs("deny", wish.deny)
        default = None if wish.default is None else Verdict(wish.default)
        await run.update_policy(guards, wish.mode, allow=wish.allow, deny=wish.deny, default=default, by=who.user)

    async def give_input(self, run_id: str, agent: str, text: str, who: Principal) -> None:
        """Write to the program of a run."""
        run = self._runs.get(run_id)
        missing = ProtocolError("NO_PENDING_INPUT", f"No pending input request for run {run_id} agent {agent}")
        if run is not None:
            self._check(run.record, who)
        if run is None or run.write_input is None or agent not in run.strategy.agents:
            raise missing
        try:
            await run.write_input(text if text.endswith("\n") else text + "\n")
        except ToolError:
            raise missing from None
        run.note_input(agent, text)

    async def list(self, who: Principal) -> tuple[RunSummary, ...]:
        """Return the runs that somebody may see, the newest first."""
        sql = SELECT_RUNS + " WHERE user_id = :user OR :all = 1 ORDER BY created_at DESC, id LIMIT :limit"
        everyone = int(who.may_answer("\0nobody"))
        rows = await self._ground.store.query(sql, {"user": who.user, "all": everyone, "limit": MOST_LISTED})
        return tuple(summarise(read_run(row)) for row in rows)

    async def describe(self, run_id: str, who: Principal) -> tuple[RunSummary, tuple[GuardChain, ...]]:
        """Return a run and what guards its tools now; raises `ProtocolError`."""
        record, run = await self._find(run_id, who)
        return summarise(record), run.chains() if run is not None else ()

    async def list_strategies(self) -> tuple[StrategySummary, ...]:
        """Return the strategies that lie ready."""
        found = await self._in_thread(lambda: list_strategies(self._config_home))
        return tuple(StrategySummary(s.name, path, s.kind, s.description) for path, s in found)

    # Within

    async def _make(self, run_id: str, wish: PrepareRun, path: str, who: Principal) -> Run:
        cwd, strategy = await self._in_thread(lambda: _load(path, wish.cwd))
        await self._in_thread(find_machine)  # what this machine has takes a moment to find out, and not on the loop
        setting = _settle(cwd, strategy)
        record = RunRecord(
            id=run_id,
            user=who.user,
            node=self._node,
            strategy=strategy.name,
            path=strategy.path,
            cwd=cwd,
            created_at=self._ground.clock(),
        )
        run = Run(record, strategy, self._ground, setting, interactive=wish.interactive)
        run.profile = wish.profile
        self._check_profiles(run)
        entry = self._ground.log.prepare(status_event(record))

        def work(cursor: Cursor) -> None:
            insert_run(cursor, record)
            self._ground.log.append(cursor, (entry,))

        await self._ground.store.commit(work)
        self._forget_old()
        self._runs[run_id] = run
        return run

    def _check_profiles(self, run: Run) -> None:
        """Refuse a strategy that names a profile which nobody defined, before anything runs."""
        known = {*NAMES, *self._ground.engines.find(run.setting).merged.profiles.specs}
        named = {run.profile, run.strategy.policy.profile, *(step.profile for step in run.strategy.steps)}
        for name in sorted(filter(None, named)):
            if name not in known:
                raise _failed(f'{run.strategy.path}: no sandbox profile is called "{name}"')

    def _find_active(self, run_id: str, who: Principal) -> Run:
        run = self._runs.get(run_id)
        if run is None or not run.record.is_active:
            raise ProtocolError("RUN_NOT_FOUND", f"No active run found for runId {run_id}")
        self._check(run.record, who)
        return run

    def _check(self, record: RunRecord, who: Principal) -> None:
        if not who.may_answer(record.user):
            raise ProtocolError("FORBIDDEN", f"run {record.id} belongs to another user; only they or an admin may")

    async def _find(self, run_id: str, who: Principal) -> tuple[RunRecord, Run | None]:
        """Find what is known of a run that somebody may see, and the run itself while it is remembered."""
        run = self._runs.get(run_id)
        record = run.record if run is not None else await self._find_record(run_id)
        if record is None:
            raise ProtocolError("SUBSCRIBE_ERROR", f"Run not found: {run_id}")
        self._check(record, who)
        return record, run

    async def _attach(self, run_id: str, who: Principal) -> PastRun:
        record = await self._find_record(run_id)
        if record is None:
            raise _failed("strategyPath is required when preparing a new run")
        self._check(record, who)
        if record.is_active:
            raise _failed(f"Run {run_id} is another daemon's; attach to it there")
        return await read_back(self._ground.store, record)

    async def _find_record(self, run_id: str) -> RunRecord | None:
        rows = await self._ground.store.query(SELECT_RUNS + " WHERE id = :id", {"id": run_id})
        return read_run(rows[0]) if rows else None

    def _forget_old(self) -> None:
        over = [run_id for run_id, run in self._runs.items() if not run.record.is_active]
        for run_id in over[: max(0, len(over) - MOST_REMEMBERED)]:
            del self._runs[run_id]

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._ground.threads, work)

    def _later(self, chore: Any) -> None:
        task = asyncio.ensure_future(chore)
        self._chores.add(task)
        task.add_done_callback(self._chores.discard)

    def _recover(self, cursor: Cursor) -> tuple[str, ...]:
        log = self._ground.log
        sql = SELECT_RUNS + " WHERE node = ? AND status IN ('pending', 'running')"
        left = {record.id: record for record in map(read_run, cursor.fetch(sql, self._node))}
        if not left:
            return ()
        for approval in map(read_approval, cursor.fetch(_PENDING)):
            if approval.session.run and approval.session.id in left:
                questions.end_question(cursor, log, approval.id, State.CANCELLED, RESTARTED)
        for record in left.values():
            ended = msgspec.structs.replace(record, status=Status.ERROR, ended_at=cursor.now, reason=RESTARTED)
            update_run(cursor, ended)
            log.append(cursor, (log.prepare(status_event(ended)),))
        return tuple(left)


def summarise(record: RunRecord) -> RunSummary:
    """Return a run as a list shows it."""
    return RunSummary(
        run_id=record.id,
        status=record.status.value,
        strategy_name=record.strategy,
        strategy_path=record.path,
        cwd=record.cwd,
        created_at=stamp(record.created_at),
        started_at=None if record.started_at is None else stamp(record.started_at),
        ended_at=None if record.ended_at is None else stamp(record.ended_at),
        error=record.reason,
    )


def _failed(message: str) -> ProtocolError:
    return ProtocolError("PREPARE_FAILED", message)


def _load(path: str, wished: str | None) -> tuple[str, Strategy]:
    """Read the strategy, and find the folder that the run is to be in."""
    if wished is not None and not wished.startswith("/"):
        raise _failed("cwd must be an absolute path")
    if not path.startswith("/"):
        if wished is None:
            raise _failed("strategyPath must be absolute, or relative to a cwd that is given")
        path = os.path.join(wished, path)
    strategy = load_strategy(path)
    cwd = os.path.realpath(wished if wished is not None else os.path.dirname(path))
    if not os.path.isdir(cwd):
        raise _failed(f"there is no folder {cwd}")
    if cwd in ("/", os.path.realpath(os.path.expanduser("~"))):
        raise _failed(f"{cwd} is no workspace: say a project's folder as cwd")
    return cwd, strategy


def _settle(cwd: str, strategy: Strategy) -> Setting:
    """Return what decides in a run. The profile of a process is around all of it, and so around each of its calls."""
    if strategy.process is None:
        return Setting(cwd=cwd, layers=_layers(strategy.policy))
    policy = msgspec.structs.replace(strategy.policy, profile=None)
    return Setting(cwd=cwd, layers=_layers(policy), contained=False)


def _layers(policy: Policy) -> tuple[Policy, ...]:
    """Leave out a layer that says nothing: runs without one share their engine."""
    return () if msgspec.structs.replace(policy, file="") == Policy(layer=Layer.RUN) else (policy,)


def _check_globs(name: str, globs: tuple[str, ...]) -> None:
    if len(globs) > MOST_GLOBS:
        raise ProtocolError("VALIDATION_ERROR", f"Invalid message: {name}: more than {MOST_GLOBS} patterns")
    for number, glob in enumerate(globs):
        if wrong := _fault_of(glob):
            raise ProtocolError("VALIDATION_ERROR", f"Invalid message: {name}[{number}]: {wrong}")


def _fault_of(glob: str) -> str | None:
    if not glob or len(glob) > LONGEST_GLOB:
        return f"expected 1 to {LONGEST_GLOB} characters"
    try:
        compile_glob(glob)
    except AssentError as error:
        return str(error)
    return None
