"""What a run does: its steps, each asked for at its guard, then done, with a record before and after."""

from __future__ import annotations

import asyncio
import functools
import posixpath
import re
import secrets
from collections.abc import Callable
from typing import Any, TypeVar, assert_never

import msgspec

from assent.audit.masking import cut
from assent.decisions.audit_events import unavailable
from assent.decisions.call_summary import outline
from assent.decisions.ruling import Ruling
from assent.model import (
    ASK,
    Consent,
    Event,
    EventType,
    Layer,
    Opinion,
    Policy,
    SandboxProfile,
    ToolCall,
    Verdict,
    Violation,
    encode,
)
from assent.runs.process_events import RECORDED_OUTPUT, ProcessRecorder
from assent.runs.protocol.messages import (
    AgentOutput,
    AgentStreaming,
    CallResult,
    Done,
    StepCompleted,
    StepStarted,
    StreamEvent,
    TextPiece,
    ToolCalled,
    ToolReturned,
    Usage,
)
from assent.runs.records import RunPlace, applied_event, status_event, tool_event
from assent.runs.run import Run
from assent.runs.strategies.input_values import with_input
from assent.runs.strategies.strategy import Parallel, StrategyStep
from assent.runs.tools import command, files
from assent.runs.tools.file_writes import FileTask
from assent.runs.tools.files import ToolError
from assent.runs.tools.inputs import (
    TOOLS,
    EditFile,
    FileInput,
    ListDir,
    ReadFile,
    RunCommand,
    SearchFiles,
    ToolInput,
    WriteFile,
)

T = TypeVar("T")

_EXPANDED = re.compile(r"[~$]|file:", re.IGNORECASE)
"""What is read as another folder than the one that it would name here."""

FILE_SECONDS = 60.0
SHOWN_ARGUMENTS = 8 << 10
LARGEST_PIECE = 8 << 10
MOST_STREAMED = 1 << 20
"""How many characters of a command's output are passed on while it runs."""


async def run_steps(run: Run) -> str:
    """Do every step in order, those of a group at the same time; return what the last one came to."""
    result = ""
    for part in run.strategy.flow:
        if isinstance(part, StrategyStep):
            result = await StepWork(run, part).do()
        else:
            result = await _run_group(run, part)
    return result


async def _run_group(run: Run, group: Parallel) -> str:
    """Do steps at the same time. The first that fails ends the others."""
    tasks = [asyncio.create_task(StepWork(run, step).do()) for step in group.steps]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in tasks:
            if task in done:
                task.result()
        return "\n".join([await task for task in tasks])
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class StepWork:
    """One step at work."""

    def __init__(self, run: Run, step: StrategyStep) -> None:
        self._run = run
        self._step = step
        self._call_id = f"call_{secrets.token_hex(8)}"
        self._place = RunPlace(step.agent, step.name, self._call_id)
        self._streamed = 0
        self._recorder = ProcessRecorder(run, self._place, step.tool)
        self._task: FileTask | None = None
        self._given: dict[str, Any] = {}
        """The input that was decided about last, and that runs."""

    async def do(self) -> str:
        """Do the step and tell of it; returns its result, or raises `ToolError` if its failure ends the run."""
        run, step = self._run, self._step
        await run.record_begin((status_event(run.record, agent=step.agent, step=step.name, tool=step.tool),))
        message = step.message or f"{step.agent}: {step.tool}"
        run.broadcast(StepStarted(ts=run.now, run_id=run.id, step_name=step.name, message=message))
        failed = False
        try:
            call = self._make_call()
            self._stream(ToolCalled(self._call_id, step.tool, _arguments(call.input)))
            with run.calling(self._call_id, self._layers()):
                result = await self._admit_and_work(call)
            self._stream(ToolReturned(self._call_id, step.tool, result, "completed"))
        except ToolError as error:
            result, failed = str(error), True
            await self._run.record_events((self._event("tool.failed", error=cut(result, RECORDED_OUTPUT)),))
            self._stream(ToolReturned(self._call_id, step.tool, "", "error", result))
            if not step.goes_on:
                raise ToolError(f"step {step.name}: {result}") from None
        outcome = CallResult(result, finish_reason="error" if failed else "stop")
        self._stream(Done(outcome))
        run.broadcast(StepCompleted(ts=run.now, run_id=run.id, step_name=step.name, result=outcome))
        run.broadcast(AgentOutput(ts=run.now, run_id=run.id, agent_name=step.agent, text=result, usage=Usage()))
        return result

    def _make_call(self) -> ToolCall:
        step, cwd = self._step, self._run.setting.cwd
        given = with_input(step.input, self._run.input)
        return ToolCall(
            tool=step.tool, input=given, cwd=cwd, call_id=self._call_id, step=step.name, override=step.override
        )

    def _layers(self) -> tuple[Policy, ...]:
        """Return what the step adds to the run: a mode and a profile, which can only tighten."""
        mode, profile = self._step.mode, self._step.profile
        if mode is None and profile is None:
            return ()
        return (Policy(layer=Layer.RUN, mode=mode, profile=profile, file=self._run.strategy.path),)

    async def _admit_and_work(self, call: ToolCall) -> str:
        run, step = self._run, self._step
        ruling = await run.guards.find(step.tool).admit(call, run.session(step.agent), self._begin)
        decision = ruling.decision
        if ruling.approval is not None:  # one that was answered at another daemon may be heard of only now
            run.questions.note(ruling.approval)
        if decision.verdict is ASK:
            raise ToolError("denied: the daemon stops, and nobody answered")
        if decision.verdict is Verdict.DENY:
            raise ToolError(f"denied: {decision.decision_reason}")
        if decision.decision == "unavailable":
            raise ToolError("unavailable: no sandbox can be set up here; nothing was run")
        try:
            result = await self._work(call, ruling)
        except asyncio.CancelledError:
            run.context.log.note(self._cut_short())
            raise
        await self._run.record_events((self._event("tool.result", output=cut(result, RECORDED_OUTPUT)),))
        return result

    def _cut_short(self) -> Event:
        """Say what came of it when the run was stopped."""
        if self._task is not None and self._task.is_done:
            return self._event("tool.result", output="it was done when the run was stopped")
        doubt = ", and the disk has not answered yet" if self._task is not None and not self._task.is_over else ""
        return self._event("tool.failed", error=f"cancelled: the run was stopped{doubt}")

    def _begin(self, call: ToolCall) -> tuple[Event, ...]:
        """Return what is recorded with the decision that lets a tool begin; a command begins once it has a boundary."""
        return () if self._step.tool == "run_command" else (self._started(call.input),)

    def _started(self, given: dict[str, Any]) -> Event:
        return self._event("tool.started", args=outline(given))

    async def _work(self, call: ToolCall, ruling: Ruling) -> str:
        """Do what was allowed, with the very input that was."""
        self._given = call.input if ruling.updated_input is None else ruling.updated_input
        given = _read_input(self._step.tool, self._given)
        if isinstance(given, RunCommand):
            return await self._run_command(given, call, ruling)
        return await self._handle_file(given, call, ruling)

    async def _handle_file(self, given: FileInput, call: ToolCall, ruling: Ruling) -> str:
        path = _allowed_path(ruling)
        match given:
            case ReadFile():
                return _shown(await self._in_thread(files.read_text, path))
            case WriteFile(content=content):
                size = await self._change(files.write_text, path, content)
                return f"wrote {size} bytes to {path}"
            case EditFile(old=old, new=new):
                size = await self._change(files.edit_text, path, old, new)
                return f"edited {path}, now {size} bytes"
            case ListDir():
                return _shown(await self._in_thread(files.list_names, path))
            case SearchFiles(pattern=pattern):
                return _shown(await self._search(path, pattern, self._reader(call, ruling)))
            case _:
                assert_never(given)

    async def _change(self, work: Callable[..., T], *arguments: Any) -> T:
        """Change a file, unless the run is ended before that comes about; once it is over, nothing of it can."""
        self._task = FileTask(self._run.check)
        changing = functools.partial(work, *arguments, self._task.check)
        return await self._task.do(self._run.context.threads, changing, FILE_SECONDS)

    async def _search(self, path: str, pattern: str, may_read: Callable[[str], bool]) -> files.FileText:
        """Search, for no longer than somebody waits for it."""
        task = self._task = FileTask(lambda: None)
        searching = functools.partial(files.search_text, path, pattern, may_read, task.check)
        return await task.do(self._run.context.threads, searching, FILE_SECONDS)

    async def _in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(FILE_SECONDS):
                return await loop.run_in_executor(self._run.context.threads, functools.partial(work, *arguments))
        except TimeoutError:
            raise ToolError(f"it took longer than {FILE_SECONDS:.0f} seconds") from None
        except OSError as error:
            raise ToolError(error.strerror or type(error).__name__) from None

    def _reader(self, call: ToolCall, ruling: Ruling) -> Callable[[str], bool]:
        """Return what tells whether a file that a search comes upon may be read, by itself and without a new question.

        What was asked about the folder, and let, is not asked about each file in it.
        """
        session, decide = self._run.session(self._step.agent), self._run.decider(call)
        let = {_origin(o) for o in ruling.decision.opinions if o.verdict is ASK}

        def may_read(path: str) -> bool:
            wanted = msgspec.structs.replace(call, input={"pattern": "", "path": path})
            decision = decide(wanted, session, Consent(), ())
            open_ = [o for o in decision.opinions if o.verdict is ASK and o.overruled is None]
            return decision.verdict is not Verdict.DENY and all(_origin(o) in let for o in open_)

        return may_read

    async def _run_command(self, given: RunCommand, call: ToolCall, ruling: Ruling) -> str:
        boundary = ruling.decision.boundary
        if boundary is None:
            raise ToolError("unavailable: commands of a run need a sandbox; nothing was run")
        if given.cwd is not None and _EXPANDED.match(given.cwd):
            raise ToolError(f"{given.cwd} is no folder by its path; nothing was run")
        order = command.CommandOrder(
            argv=tuple(command.shell_argv(given.command)),
            boundary=msgspec.structs.replace(boundary, cwd=posixpath.join(self._run.setting.cwd, given.cwd or "")),
            seconds=given.timeout or command.COMMAND_SECONDS,
            environ=self._run.context.environ,
        )
        try:
            with self._recorder.watched():
                async with command.started(
                    order, on_text=self._hear, on_applied=self._applied, on_violation=self._violated
                ) as running:
                    ended, output = await running.finish()
        except command.BoundaryError as error:
            session = self._run.session(self._step.agent)
            await self._run.record_events((unavailable(call, session, ruling.decision, str(error)),))
            raise
        await self._run.record_events(self._recorder.end(ended, output))
        return command.describe_end(ended, output)

    async def _applied(self, profile: SandboxProfile) -> None:
        """Put the boundary, then the tool's start on record, before its first instruction."""
        applied = applied_event(self._run.record, self._place, profile)
        await self._run.record_begin((applied, self._started(self._given), self._recorder.begin()))

    def _violated(self, violation: Violation) -> None:
        self._pass_on(f"\n[stopped by the sandbox: {violation.operation} {violation.resource}]\n")

    def _hear(self, text: str, stream: str) -> None:
        self._recorder.take(text, stream)
        self._pass_on(text)

    def _pass_on(self, text: str) -> None:
        room = MOST_STREAMED - self._streamed
        self._streamed += len(text)
        text = text[:room] if room > 0 else ""
        for start in range(0, len(text), LARGEST_PIECE):
            self._stream(TextPiece(text[start : start + LARGEST_PIECE]))

    def _stream(self, event: StreamEvent) -> None:
        run = self._run
        run.broadcast(AgentStreaming(ts=run.now, run_id=run.id, agent_name=self._step.agent, event=event))

    def _event(self, kind: EventType, **more: Any) -> Event:
        return tool_event(kind, self._run.record, self._place, self._step.tool, **more)


def _arguments(given: dict[str, Any]) -> str:
    """Return a tool's input as JSON, of what is very long the beginning."""
    whole = encode(given).decode()
    return whole if len(whole) <= SHOWN_ARGUMENTS else encode(outline(given)).decode()


def _read_input(tool: str, given: dict[str, Any]) -> ToolInput:
    """Read a tool's input again: a person may have changed it."""
    try:
        return msgspec.convert(given, TOOLS[tool])
    except msgspec.ValidationError as error:
        raise ToolError(f"the input cannot be read: {error}") from None


def _origin(opinion: Opinion) -> tuple[str, str, str | None]:
    return opinion.source, opinion.policy, opinion.rule


def _allowed_path(ruling: Ruling) -> str:
    """Return the path that was decided about, all links in it followed at that time."""
    operation = ruling.decision.reading.operations[0]
    if operation.target is None:
        raise ToolError(f"{operation.resource} cannot be found on this disk")
    return operation.target


def _shown(found: files.FileText) -> str:
    return found.text + ("\n… there is more" if found.cut else "")
