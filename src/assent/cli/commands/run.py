"""`assent run`: a command inside the sandbox, as if it ran without, and afterwards what was stopped."""

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
from assent.cli.output.sandbox_violations import questions, sum_up, tell_programs
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
        "Run a command inside the sandbox. Its exit code is passed on.",
        (
            "assent run -- npm test",
            "assent run --profile read-only -- ./script.sh",
            "assent run --allow-host a.test -- make",
            "assent run --profile agent -- claude",
        ),
    )
    parser.add_argument("--profile", metavar="NAME", help="read-only, workspace-write, agent, off, or one of your own")
    parser.add_argument("--allow-host", metavar="HOST", action="append", default=[], help="also reach this host")
    parser.add_argument("--ask", action="store_true", help="ask, at this terminal, about what lies outside")
    parser.add_argument("--json", action="store_true", help="write events to stderr, a line of JSON each")
    parser.add_argument("command", metavar="COMMAND", nargs=argparse.REMAINDER, help="the command and its words")
    given = _parse(parser, list(argv))
    return finish(_carry_out(given, Recorder(shown=given.json)))


def finish(work: Coroutine[Any, Any, int]) -> int:
    """Run what starts a command, and return the code to end with: the command's, or what says that nothing ran."""
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


async def _carry_out(given: Any, recorder: Recorder) -> int:
    """Find the boundary, and run the command inside."""
    boundary = find_boundary(find_folder(None), given.profile, given.allow_host, given.command, ask=given.ask)
    if boundary is None:
        await recorder.record(SandboxReport(type="sandbox.applied", profile=_no_boundary()), begins(given.command))
        return _run_without(given.command)
    return await hold(Held(boundary, given.command, told=not given.json), recorder)


class Held(msgspec.Struct, frozen=True):
    """A command and its boundary."""

    boundary: SandboxProfile
    command: list[str]
    passed: dict[str, str] | None = None
    """The variables that the command may get, where they are not those of this process."""
    asks: bool = False
    """What is stopped is asked about when the same call is made again."""
    told: bool = True
    """Say afterwards what was stopped."""


async def hold(held: Held, recorder: Recorder) -> int:
    """Run a command inside its boundary, and return its exit code."""
    try:
        return await _Run(held, recorder).run()
    except (Unavailable, CommandNotStarted) as error:
        with contextlib.suppress(AssentError, OSError):  # that nothing ran is told either way
            await recorder.finish(SandboxReport(type="runtime.error", reason=str(error)))
        raise


def _open_closed() -> None:
    """Put something harmless where a stream is closed: else the command would get what is next opened here."""
    for stream in range(3):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free


def _no_boundary() -> SandboxProfile:
    return SandboxProfile(name="off", mode="off", cwd=find_folder(None))


def _parse(parser: argparse.ArgumentParser, argv: list[str]) -> Any:
    given = parser.parse_args(argv)
    if given.command[:1] == ["--"]:
        given.command = given.command[1:]
    if not given.command:
        raise AssentError("there is no command to run (see `assent run --help`)")
    return given


def _run_without(command: list[str]) -> int:
    complain("note: the profile `off` sets no boundary")
    try:
        os.execvp(command[0], command)  # noqa: S606 - asked for, by name
    except OSError as error:
        complain(f"{command[0]}: {error.strerror}")
        return 127 if isinstance(error, FileNotFoundError) else 126


class _Run:
    """One command, its terminal and its events."""

    def __init__(self, held: Held, recorder: Recorder) -> None:
        self._boundary = held.boundary
        self._command = held.command
        self._recorder = recorder
        self._passed = held.passed
        self._asks = held.asks
        self._told = held.told
        self._applied: SandboxProfile | None = None
        self._terminal: Terminal | None = None
        self._asking = asyncio.Lock()
        self._process: Process | None = None
        self._early: list[int] = []

    async def run(self) -> int:
        """Run it, and tell what there is to tell."""
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
        await self._tell(ended)
        return exit_codes.TIMED_OUT if ended.stopped == "wall time" else ended.code

    async def _before_it_begins(self, profile: SandboxProfile) -> None:
        """Put the record and the terminal in place: from its first instruction on, the command is on its own."""
        self._applied = profile
        try:
            await self._recorder.record(SandboxReport(type="sandbox.applied", profile=profile), begins(self._command))
        except (ConfigError, OSError) as error:
            raise Unavailable(f"it can not be recorded: {error}") from None
        if self._terminal is not None:
            self._terminal.join()

    async def _start(self, box: Sandbox) -> ProcessResult:
        is_terminal = [_is_terminal(stream) for stream in range(3)]
        streams = [0, 1, 2]
        if any(is_terminal):
            from assent.sandbox.terminal import Terminal  # noqa: PLC0415 - few commands have one

            self._terminal = Terminal(0 if is_terminal[0] else None, _first(is_terminal[1:], offset=1))
            streams = [self._terminal.inner if t else s for s, t in zip(streams, is_terminal, strict=True)]
        elif self._boundary.process_limits.output_bytes is not None:
            streams = [0, PIPE, PIPE]
        self._listen()
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

    def _listen(self) -> None:
        """Hear signals from now on: before the command begins they are kept for it."""
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
        """Ask at this terminal; for a decision, through the daemon. Else nobody can be asked."""
        if self._recorder.decision is not None:
            return await self._recorder.ask(violation)
        async with self._asking:
            return self._terminal is not None and await self._terminal.ask(lambda: questions(violation))

    async def _tell(self, ended: ProcessResult) -> None:
        refs = tuple(self._recorder.refs)
        profile = None if self._applied is None else msgspec.structs.replace(self._applied, violation_refs=refs)
        # What was stopped at the boundary is told as that, and never as a failure.
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
            complain(f"how it ended could not be recorded: {error}")
        if ended.stopped is not None:
            complain(f"the command was ended: {ended.why_stopped}")
        if ended.violations and self._told:
            for line in sum_up(ended.violations, self._boundary, asks=self._asks):
                complain(line)
        if ended.programs and self._told:
            complain(tell_programs(ended.programs, self._boundary.write_roots))


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
