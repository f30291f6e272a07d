"""A command in its boundary: what it writes is passed on as it comes, and kept up to a limit."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from assent.model import Limits, SandboxProfile, Violation
from assent.runs.tools.files import ToolError
from assent.sandbox import NOTHING, PIPE, CommandNotStarted, Process, ProcessResult, Sandbox, Unavailable
from assent.sandbox.streams import Output, StdinPipe

COMMAND_SECONDS = 600.0
LARGEST_OUTPUT = 16 << 20
"""A command that writes more is ended."""
KEPT_OUTPUT = 64 << 10
"""What is kept of it for the result, half from its beginning and half from its end."""
LARGEST_INPUT = 1 << 20
"""How much a program may be given that it has not read yet."""
SHELL = "/bin/bash"

OnText: TypeAlias = Callable[[str, str], None]
"""Hears what was written, and to which stream: `stdout` or `stderr`."""
OnApplied: TypeAlias = Callable[[SandboxProfile], Awaitable[None]]
OnViolation: TypeAlias = Callable[[Violation], None]


class CommandOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What is to run, in which boundary, and for how long at most."""

    argv: tuple[str, ...]
    boundary: SandboxProfile
    seconds: float
    environment: dict[str, str] = {}
    environ: Mapping[str, str] = {}
    """The daemon's own environment, of which the boundary passes on what is harmless."""
    reads: bool = False
    """Whether it can be written to while it runs."""


class OutputExcerpt:
    """The beginning and the end of what was written."""

    def __init__(self, limit: int = KEPT_OUTPUT) -> None:
        self._half = limit // 2
        self._head = ""
        self._tail = ""
        self._dropped = 0

    def add(self, text: str) -> None:
        """Take in a piece."""
        room = self._half - len(self._head)
        self._head += text[:room]
        self._tail += text[room:]
        excess = len(self._tail) - self._half
        if excess > 0:
            self._tail, self._dropped = self._tail[excess:], self._dropped + excess

    @property
    def text(self) -> str:
        """Return it, with a word about what is missing."""
        gap = f"\n… {self._dropped} characters left out …\n" if self._dropped else ""
        return self._head + gap + self._tail


class Running:
    """A command at work."""

    def __init__(self, process: Process, on_text: OnText) -> None:
        self._process = process
        self._on_text = on_text
        self._kept = OutputExcerpt()
        self._given: asyncio.Queue[bytes] = asyncio.Queue()
        self._unread = 0
        self._reads = process.stdin is not None

    def write(self, text: str) -> None:
        """Give it a text to read, without waiting; raises `ToolError` if it reads no more, or has much to read yet."""
        data = text.encode()
        if not self._reads or self._unread + len(data) > LARGEST_INPUT:
            raise ToolError("it does not read what it is given")
        self._unread += len(data)
        self._given.put_nowait(data)

    async def finish(self) -> tuple[ProcessResult, str]:
        """Wait for its end, passing on what it writes; return how it ended and what is kept of its output."""
        process = self._process
        feeding = asyncio.create_task(self._feed(process.stdin))
        try:
            await asyncio.gather(self._follow(process.stdout, "stdout"), self._follow(process.stderr, "stderr"))
        finally:
            feeding.cancel()  # before what it writes to is closed
            await asyncio.gather(feeding, return_exceptions=True)
        return await process.wait(), self._kept.text

    async def _feed(self, stdin: StdinPipe | None) -> None:
        try:
            while stdin is not None:
                data = await self._given.get()
                await stdin.write(data)
                self._unread -= len(data)
        except OSError:
            self._reads = False

    async def _follow(self, output: Output | None, stream: str) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        if output is None:
            return
        async for piece in output:
            self._take(decoder.decode(piece), stream)
        self._take(decoder.decode(b"", final=True), stream)

    def _take(self, text: str, stream: str) -> None:
        if text:
            self._kept.add(text)
            self._on_text(text, stream)


class BoundaryError(ToolError):
    """The boundary that was decided cannot be set up."""


@contextlib.asynccontextmanager
async def started(
    order: CommandOrder, *, on_text: OnText, on_applied: OnApplied, on_violation: OnViolation
) -> AsyncIterator[Running]:
    """Start a command in its boundary and lend it; nothing of it is left afterwards.

    Raises `BoundaryError` if the boundary cannot be set up or its record cannot be written, and `ToolError` if there
    is no such program.
    """
    limits = Limits(wall_seconds=max(1, round(order.seconds)), output_bytes=LARGEST_OUTPUT)
    boundary = msgspec.structs.replace(order.boundary, process_limits=order.boundary.process_limits & limits)
    box = Sandbox(boundary, environ=order.environ, on_applied=on_applied, on_violation=on_violation)
    async with contextlib.AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(box)
            process = await box.start(order.argv, stdin=PIPE if order.reads else NOTHING, environment=order.environment)
        except Unavailable as error:
            raise BoundaryError(f"unavailable: {error}; nothing was run") from None
        except CommandNotStarted as error:
            raise ToolError(str(error)) from None
        yield Running(process, on_text)


def shell_argv(line: str) -> Sequence[str]:
    """Return how a line is run: by bash, without anybody's start-up files."""
    return (SHELL, "--noprofile", "--norc", "-c", line)


def describe_end(ended: ProcessResult, output: str) -> str:
    """Return a command's output with a word about how it ended, or raise `ToolError` if it failed."""
    stopped = [f"{v.operation} {v.resource}" for v in ended.violations]
    notes = [f"stopped by the sandbox: {', '.join(stopped[:20])}"] if stopped else []
    if ended.stopped is not None:
        notes.append(f"ended: {ended.why_stopped}")
    elif ended.code:
        notes.append(f"it ended with {ended.code}")
    said = "\n".join((*filter(None, (output.rstrip("\n"),)), *notes))
    if ended.stopped is not None or ended.code:
        raise ToolError(said)
    return said
