"""`assent run`: run a command in the sandbox, then report what the sandbox blocked."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
from typing import TYPE_CHECKING, Any

import msgspec

from assent.cli import exit_codes
from assent.cli.options.arguments import make_parser
from assent.cli.options.sandbox_profile import find_boundary, find_state
from assent.cli.options.tool_call import find_folder
from assent.cli.output.sandbox_violations import ask_at_terminal, describe_programs, summarise
from assent.cli.output.screen import complain
from assent.cli.run_record import DaemonDenyError, Recorder
from assent.cli.startup import collect_garbage
from assent.model import AssentError, ConfigError, SandboxProfile, Violation
from assent.sandbox import PIPE, CommandNotStarted, Process, ProcessResult, Sandbox, Unavailable
from assent.sandbox.reports import Happened, SandboxReport, begins

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from assent.sandbox.streams import Output
    from assent.sandbox.terminal import Terminal

_TO_GROUP = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
_TO_COMMAND = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


def run(argv: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    parser = make_parser(
        "run",
        "Run a command in the sandbox and return its exit code.",
        (
            "assent run -- npm test",
            "assent run --profile read-only -- ./script.sh",
            "assent run --allow-host a.test -- make",
            "assent run --profile agent -- claude",
        ),
    )
    parser.add_argument(
        "--profile", metavar="NAME", help="read-only, workspace-write, agent, off, or a profile of your own"
    )
    parser.add_argument("--allow-host", metavar="HOST", action="append", default=[], help="also reach this host")
    parser.add_argument("--ask", action="store_true", help="ask at this terminal about operations outside the sandbox")
    parser.add_argument("--json", action="store_true", help="write events to stderr as JSON lines")
    parser.add_argument("command", metavar="COMMAND", nargs=argparse.REMAINDER, help="the command and its arguments")
    given = _parse(parser, list(argv))
    return finish(_run(given, Recorder(shown=given.json)))


def finish(work: Coroutine[Any, Any, int]) -> int:
    """Run the coroutine and return the exit code: the command's, or one that says that nothing ran."""
    _open_closed()
    collect_garbage()
    try:
        return asyncio.run(work)
    except (Unavailable, DaemonDenyError) as error:
        complain(f"unavailable: {error}", "nothing was run")
        return exit_codes.DENY
    except CommandNotStarted as error:
        complain(str(error))
        return error.code


async def _run(given: Any, recorder: Recorder) -> int:
    """Find the sandbox profile and run the command in it."""
    boundary = find_boundary(find_folder(None), given.profile, given.allow_host, given.command, ask=given.ask)
    if boundary is None:
        await recorder.record(SandboxReport(type="sandbox.applied", profile=_no_boundary()), begins(given.command))
        return _run_without(given.command)
    return await run_sandboxed(SandboxedCommand(boundary, given.command, reports=not given.json), recorder)


class SandboxedCommand(msgspec.Struct, frozen=True):
    """A command and its sandbox profile."""

    boundary: SandboxProfile
    command: list[str]
    passed: dict[str, str] | None = None
    """The environment of the command; None for that of this process."""
    asks: bool = False
    """Whether a blocked operation is asked about when the agent repeats the call."""
    reports: bool = True
    """Whether to print what was blocked."""


async def run_sandboxed(sandboxed: SandboxedCommand, recorder: Recorder) -> int:
    """Run a command in its sandbox and return its exit code."""
    try:
        return await _Run(sandboxed, recorder).run()
    except (Unavailable, CommandNotStarted) as error:
        with contextlib.suppress(AssentError, OSError):  # the caller reports the error anyway
            await recorder.finish(SandboxReport(type="runtime.error", reason=str(error)))
        raise


def _open_closed() -> None:
    """Open /dev/null for closed standard streams: else the command would inherit the next file opened here."""
    for stream in range(3):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free descriptor


def _no_boundary() -> SandboxProfile:
    return SandboxProfile(name="off", mode="off", cwd=find_folder(None))


def _parse(parser: argparse.ArgumentParser, argv: list[str]) -> Any:
    given = parser.parse_args(argv)
    if given.command[:1] == ["--"]:
        given.command = given.command[1:]
    if not given.command:
        raise AssentError("no command given (see `assent run --help`)")
    return given


def _run_without(command: list[str]) -> int:
    complain("note: the profile `off` means no sandbox")
    try:
        os.execvp(command[0], command)  # noqa: S606 - the user asked for it
    except OSError as error:
        complain(f"{command[0]}: {error.strerror}")
        return 127 if isinstance(error, FileNotFoundError) else 126


class _Run:
    """Runs one command with its terminal and events."""

    def __init__(self, sandboxed: SandboxedCommand, recorder: Recorder) -> None:
        self._boundary = sandboxed.boundary
        self._command = sandboxed.command
        self._recorder = recorder
        self._passed = sandboxed.passed
        self._asks = sandboxed.asks
        self._reports = sandboxed.reports
        self._applied: SandboxProfile | None = None
        self._terminal: Terminal | None = None
        self._asking = asyncio.Lock()
        self._process: Process | None = None
        self._early: list[int] = []

    async def run(self) -> int:
        """Run the command and report the result."""
        recorder = self._recorder
        box = Sandbox(
            self._boundary,
            passed=self._passed,
            on_applied=self._before_it_begins,
            on_violation=lambda violation: recorder.note(SandboxReport(type="sandbox.violation", violation=violation)),
            ask=self._ask,
            state=None if recorder.decision is not None else find_state(self._boundary, self._command),
        )
        async with box:
            ended = await self._start(box)
        await self._report(ended)
        return exit_codes.TIMED_OUT if ended.stopped == "wall time" else ended.code

    async def _before_it_begins(self, profile: SandboxProfile) -> None:
        """Record the start and connect the terminal before the command's first instruction."""
        self._applied = profile
        try:
            await self._recorder.record(SandboxReport(type="sandbox.applied", profile=profile), begins(self._command))
        except (ConfigError, OSError) as error:
            raise Unavailable(f"cannot record the command: {error}") from None
        if self._terminal is not None:
            self._terminal.join()

    async def _start(self, box: Sandbox) -> ProcessResult:
        is_terminal = [_is_terminal(stream) for stream in range(3)]
        streams = [0, 1, 2]
        if any(is_terminal):
            from assent.sandbox.terminal import Terminal  # noqa: PLC0415 - only for terminals

            self._terminal = Terminal(0 if is_terminal[0] else None, _first(is_terminal[1:], offset=1))
            streams = [self._terminal.inner if t else s for s, t in zip(streams, is_terminal, strict=True)]
        elif self._boundary.process_limits.output_bytes is not None:
            streams = [0, PIPE, PIPE]
        self._forward_signals()
        try:
            self._process = await box.start(
                self._command,
                stdin=streams[0],
                stdout=streams[1],
                stderr=streams[2],
                terminal=is_terminal.index(True) if any(is_terminal) else -1,
            )
            return await self._accompany(self._process)
        finally:
            if self._terminal is not None:
                await self._terminal.leave()

    def _forward_signals(self) -> None:
        """Forward signals from now on; those before the start are delivered after it."""
        for number in (*_TO_GROUP, *_TO_COMMAND):
            asyncio.get_running_loop().add_signal_handler(number, self._pass_signal, number)

    def _pass_signal(self, number: int) -> None:
        if self._process is None:
            self._early.append(number)
        else:
            self._process.signal(number, group=number in _TO_GROUP)

    async def _accompany(self, process: Process) -> ProcessResult:
        for number in self._early:
            self._pass_signal(number)
        copies = [_copy(process.stdout, 1), _copy(process.stderr, 2)]
        await asyncio.gather(*copies)
        return await process.wait()

    async def _ask(self, violation: Violation) -> bool:
        """Ask through the daemon for a decided call, else at this terminal; without one, deny."""
        if self._recorder.decision is not None:
            return await self._recorder.ask(violation)
        async with self._asking:
            return self._terminal is not None and await self._terminal.ask(lambda: ask_at_terminal(violation))

    async def _report(self, ended: ProcessResult) -> None:
        refs = tuple(self._recorder.refs)
        profile = None if self._applied is None else msgspec.structs.replace(self._applied, violation_refs=refs)
        # A command that the sandbox ended is recorded as terminated, not as failed.
        kind: Happened = "process.completed" if ended.stopped is None else "process.terminated"
        done = SandboxReport(
            type=kind,
            profile=profile,
            exit_code=ended.code,
            stopped=ended.stopped,
            reason=None if ended.stopped is None else ended.why_stopped,
            programs=ended.programs or None,
        )
        try:
            await self._recorder.finish(done)
        except (AssentError, OSError) as error:
            complain(f"cannot record the end of the command: {error}")
        if ended.stopped is not None:
            complain(f"the sandbox ended the command: {ended.why_stopped}")
        if ended.violations and self._reports:
            for line in summarise(ended.violations, self._boundary, asks=self._asks):
                complain(line)
        if ended.programs and self._reports:
            complain(describe_programs(ended.programs, self._boundary.write_roots))


def _is_terminal(stream: int) -> bool:
    try:
        return os.isatty(stream)
    except OSError:
        return False


def _first(flags: list[bool], *, offset: int) -> int | None:
    return next((i + offset for i, flag in enumerate(flags) if flag), None)


async def _copy(output: Output | None, descriptor: int) -> None:
    if output is not None:
        with contextlib.suppress(OSError):
            async for piece in output:
                view = memoryview(piece)
                while view:
                    view = view[os.write(descriptor, view) :]
