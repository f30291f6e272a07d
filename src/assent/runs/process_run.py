"""A `process` run: a program in the agent's sandbox, with a token of its own that may only ask."""

from __future__ import annotations

import asyncio
import posixpath
import secrets
import shlex
from typing import Any

import msgspec

from assent.agents.specs import Pointing
from assent.analysis.resources.paths import Place as Surroundings
from assent.analysis.tools.input_fields import FOLDER_FIELDS
from assent.analysis.tools.names import find_tool
from assent.decisions.audit_events import evaluated, unavailable
from assent.decisions.call_summary import summarise
from assent.model import Consent, Decision, SandboxProfile, ToolCall, Verdict, Violation
from assent.policy.sandbox_profiles import intersect, profile
from assent.runs.execution import LARGEST_PIECE
from assent.runs.process_events import ProcessRecorder
from assent.runs.protocol.messages import (
    AgentOutput,
    AgentStreaming,
    CallResult,
    Done,
    StepCompleted,
    StepStarted,
    StreamEvent,
    TextPiece,
    Usage,
)
from assent.runs.records import PROCESS, RunPlace, applied_event, status_event
from assent.runs.run import Run
from assent.runs.strategies.input_values import INPUT
from assent.runs.strategies.strategy import ProcessPlan
from assent.runs.tools import command
from assent.runs.tools.files import ToolError

PROFILE = "agent"


async def run_process(run: Run) -> str:
    """Run the strategy's program to its end, passing on what it writes; return what is kept of it."""
    plan = run.strategy.process
    if plan is None:
        raise ToolError("this strategy has no process")
    return await ProcessWork(run, plan).do()


def boundary_of(run: Run) -> SandboxProfile:
    """Return the boundary of a run's program: the person's choice or `agent`, tightened by everyone who has a say."""
    engine = run.context.engines(run.setting)
    place = Surroundings(run.context.facts(), run.setting.cwd, (run.setting.cwd,))
    demanded = engine.merged.profiles
    names = (run.profile or PROFILE, *filter(None, (run.strategy.policy.profile, *demanded.names)))
    found = intersect(profile(name, place, demanded.specs) for name in names)
    if found is None:
        raise ToolError("unavailable: a process needs a sandbox, and the profile is off; nothing was run")
    return found


def point_at(plan: ProcessPlan, pointing: Pointing) -> tuple[str, ...]:
    """Return the words of a command, with those that point the agent in it at its hook."""
    after = 0 if plan.program is None else plan.program + 1
    return (*plan.command[:after], *pointing.words, *plan.command[after:])


def place_in_run(run: Run, call: ToolCall) -> ToolCall:
    """Return a hook's call as one of the run: globs count from the run's folder, wherever its program went."""
    cwd = run.setting.cwd
    if call.cwd is None or call.cwd == cwd or find_tool(call.tool).shape != "command":
        return call
    return msgspec.structs.replace(call, cwd=cwd, input={**call.input, **_folders(call.input, call.cwd)})


def _folders(given: dict[str, Any], here: str) -> dict[str, Any]:
    """Return where a line is to run: what its own fields say, counted from where the program is, or else there."""
    named = {field: given[field] for field in FOLDER_FIELDS if given.get(field) is not None}
    relative = {f: v for f, v in named.items() if isinstance(v, str) and not v.startswith(("/", "~"))}
    return {f: posixpath.join(here, v) for f, v in relative.items()} if named else {"cwd": here}


class ProcessWork:
    """The program of a run, at work."""

    def __init__(self, run: Run, plan: ProcessPlan) -> None:
        self._run = run
        self._plan = plan
        self._place = RunPlace(plan.agent, plan.agent, f"process_{secrets.token_hex(8)}")
        self._recorder = ProcessRecorder(run, self._place, PROCESS)

    async def do(self) -> str:
        """Run it; raises `ToolError` if it fails."""
        run, plan = self._run, self._plan
        boundary = boundary_of(run)
        pointing = await asyncio.to_thread(run.context.point_hooks, plan.hooks)
        await run.record_begin((status_event(run.record, agent=plan.agent, step=plan.agent),))
        message = plan.message or " ".join(plan.command)
        run.broadcast(StepStarted(ts=run.now, run_id=run.id, step_name=plan.agent, message=message[:LARGEST_PIECE]))
        call, decision = await self._decide(boundary)
        async with run.context.lend_token(run) as token:
            order = command.CommandOrder(
                argv=tuple(word.replace(INPUT, run.input) for word in point_at(plan, pointing)),
                boundary=boundary,
                seconds=plan.timeout,
                environ=run.context.environ,
                environment={"ASSENT_TOKEN": token, "ASSENT_RUN_TOKEN": token, "ASSENT_RUN": run.id},
                reads=True,
            )
            try:
                result = await self._follow(order)
            except command.BoundaryError as error:
                session = run.session(plan.agent)
                await run.record_events((unavailable(call, session, decision, str(error)),))
                raise
        run.broadcast(StepCompleted(ts=run.now, run_id=run.id, step_name=plan.agent, result=CallResult(result)))
        run.broadcast(AgentOutput(ts=run.now, run_id=run.id, agent_name=plan.agent, text=result, usage=Usage()))
        return result

    async def _decide(self, boundary: SandboxProfile) -> tuple[ToolCall, Decision]:
        """Have the program itself decided, on record; raises `ToolError` if it is denied.

        Who starts a run says yes to its program, so nothing is asked. A deny stays one.
        """
        run = self._run
        line = shlex.join(word.replace(INPUT, run.input) for word in self._plan.command)
        call = ToolCall(tool="run_command", input={"command": line}, cwd=run.setting.cwd, call_id=self._place.call)
        session = run.session(self._plan.agent)
        decision = msgspec.structs.replace(run.decide(call, session, Consent(yes=True)), boundary=boundary)
        await run.record_begin((evaluated(call, session, decision, summarise(call, decision.reading)),))
        if decision.verdict is not Verdict.ALLOW:
            raise ToolError(f"denied: {decision.decision_reason}")
        return call, decision

    async def _follow(self, order: command.CommandOrder) -> str:
        run = self._run
        with self._recorder.watched():
            async with command.started(
                order, on_text=self._hear, on_applied=self._applied, on_violation=self._violated
            ) as running:
                run.write_input = running.write
                try:
                    ended, output = await running.finish()
                finally:
                    run.write_input = None
        await run.record_events(self._recorder.end(ended, output))
        result = command.describe_end(ended, output)
        self._stream(Done(CallResult(result)))
        return result

    async def _applied(self, in_force: SandboxProfile) -> None:
        """Put the boundary, then the start on record, before its first instruction."""
        applied = applied_event(self._run.record, self._place, in_force)
        await self._run.record_begin((applied, self._recorder.begin()))

    def _violated(self, violation: Violation) -> None:
        self._pass_on(f"\n[stopped by the sandbox: {violation.operation} {violation.resource}]\n")

    def _hear(self, text: str, stream: str) -> None:
        self._recorder.take(text, stream)
        self._pass_on(text)

    def _pass_on(self, text: str) -> None:
        for start in range(0, len(text), LARGEST_PIECE):
            self._stream(TextPiece(text[start : start + LARGEST_PIECE]))

    def _stream(self, event: StreamEvent) -> None:
        run = self._run
        run.broadcast(AgentStreaming(ts=run.now, run_id=run.id, agent_name=self._plan.agent, event=event))
