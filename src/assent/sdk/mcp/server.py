"""The MCP server behind the guard: what any of them does, and a program in a sandbox that speaks over its streams."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import re
from typing import Any, Protocol

import msgspec

from assent.model import AssentError
from assent.runs.process_events import Excerpt, Tell
from assent.sandbox import PIPE, Process, Sandbox

LONGEST_MESSAGE = 16 << 20
_MOST_COMPLAINTS = 1 << 20
"""How much of what a server complains about is passed on …"""
ENDLESS_COMPLAINTS = 16 << 20
"""… and how much it may complain between two messages before it is cut off."""
_MOST_UNREAD = 1 << 16
_Streams = asyncio.subprocess.SubprocessStreamProtocol
Message = dict[str, Any]
_ASKED = ("jsonrpc", "id", "method", "params")
_ANSWERED = ("jsonrpc", "id", "result", "error")
_ID = re.compile(rb'"id"\s*:\s*("(?:[^"\\]|\\.){0,1000}"|-?\d{1,40})\s*[,}]')
_METHOD = re.compile(rb'"method"\s*:')


class ServerGoneError(AssentError):
    """The server ended, or does not speak the protocol."""


class Server(Protocol):
    """Somebody who takes messages and gives messages."""

    async def send(self, message: Message) -> None:
        """Hand over a message, or raise `ServerGoneError`."""

    async def receive(self) -> Message:
        """Return the next message, or raise `ServerGoneError`."""

    async def close(self) -> None:
        """End it."""


def decode(line: bytes) -> Message | None:
    """Read one message, with nothing in it that the protocol does not know; None for what is none.

    Many a reader takes `Method` for `method`: what is passed on must not say one thing here and another there.
    """
    message = decode_own(line)
    return _fault_of(line) if message is None else message


def decode_own(line: bytes) -> Message | None:
    """Do so, and make nothing of what is none."""
    try:
        message = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    if not isinstance(message, dict):
        return None
    known = _ASKED if "method" in message else _ANSWERED
    return {name: message[name] for name in known if name in message}


def _fault_of(line: bytes) -> Message | None:
    """Make an error of an answer that cannot be passed on, such as one without a bottom: somebody waits for it."""
    request_id = None if _METHOD.search(line) else find_id(line)
    if request_id is None:
        return None
    fault = {"code": -32603, "message": "the answer cannot be read"}
    return {"jsonrpc": "2.0", "id": request_id, "error": fault}


def find_id(line: bytes) -> str | int | None:
    """Return the id that a message which cannot be read seems to have: only to say so to who waits."""
    found = _ID.search(line) if line.lstrip()[:1] == b"{" else None
    try:
        request_id = None if found is None else msgspec.json.decode(found[1], type=str | int)
    except (msgspec.MsgspecError, UnicodeError):
        return None
    return request_id if str(request_id).isprintable() else None


class _Bare(asyncio.subprocess.Process):
    """A process without a sandbox."""

    def __init__(self, pipes: asyncio.SubprocessTransport, streams: _Streams, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(pipes, streams, loop)
        self._pipes = pipes

    @classmethod
    async def start(cls, argv: list[str]) -> _Bare:
        """Start it."""
        loop = asyncio.get_running_loop()
        return cls(*await loop.subprocess_exec(lambda: _Streams(_MOST_UNREAD, loop), *argv), loop)

    async def close(self) -> None:
        """Kill it, and let go of its pipes: its end is only heard of after theirs, which nobody may be reading."""
        with contextlib.suppress(ProcessLookupError):
            self.kill()
        for number in range(3):
            if (pipe := self._pipes.get_pipe_transport(number)) is not None:
                pipe.close()
        await self.wait()


class StdioServer:
    """A server in a sandbox of its own, or if `box` is None, without one."""

    def __init__(self, process: Process | _Bare, tell: Tell) -> None:
        self._process = process
        self._excerpt = Excerpt("stderr", tell)
        self._rest = b""
        self._complained = 0
        self._fault = "the server ended"
        self._one_at_a_time = asyncio.Lock()
        self._lines: set[asyncio.Task[None]] = set()
        self._complaints = asyncio.create_task(self._drain())

    @classmethod
    async def start(cls, box: Sandbox | None, argv: list[str], tell: Tell = lambda _: None) -> StdioServer:
        """Start it; `tell` hears excerpts of what it complains about."""
        if box is not None:
            return cls(await box.start(argv, stdin=PIPE, stdout=PIPE, stderr=PIPE), tell)
        return cls(await _Bare.start(argv), tell)

    async def send(self, message: Message) -> None:
        """Write one line, whole: half of one, or two in one another, would say what nobody decided."""
        line = asyncio.create_task(self._write(msgspec.json.encode(message) + b"\n"))
        self._lines.add(line)
        line.add_done_callback(self._forget)
        await asyncio.shield(line)

    def _forget(self, line: asyncio.Task[None]) -> None:
        self._lines.discard(line)
        if not line.cancelled():
            line.exception()  # whoever sent it may have gone

    async def _write(self, data: bytes) -> None:
        try:
            stdin: Any = self._process.stdin
            async with self._one_at_a_time:
                if isinstance(self._process, Process):
                    await stdin.write(data)
                else:
                    stdin.write(data)
                    await stdin.drain()
        except (OSError, AttributeError) as error:
            raise ServerGoneError(f"the server no longer reads: {error}") from None

    async def receive(self) -> Message:
        """Read lines up to one that is a message; a server that writes without end is cut off."""
        skipped = 0
        while True:
            line, found, rest = self._rest.partition(b"\n")
            if found:
                self._rest = rest
                if (message := decode(line)) is not None:
                    self._complained = 0
                    return message
                skipped += len(line) + 1
            elif len(self._rest) <= LONGEST_MESSAGE:
                self._rest += await self._read()
            if skipped > LONGEST_MESSAGE or len(self._rest) > LONGEST_MESSAGE:
                raise ServerGoneError("the server writes what is no message of the protocol")

    async def _read(self) -> bytes:
        stdout: Any = self._process.stdout
        piece: bytes = await (stdout.read() if isinstance(self._process, Process) else stdout.read(1 << 16))
        if not piece:
            raise ServerGoneError(self._fault)
        return piece

    async def _drain(self) -> None:
        """Read what it complains about, so that it does not wait for a reader; only the beginning is passed on."""
        stderr: Any = self._process.stderr
        left = _MOST_COMPLAINTS
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while piece := await (stderr.read() if isinstance(self._process, Process) else stderr.read(1 << 16)):
            self._complained += len(piece)
            self._excerpt.take(decoder.decode(piece))
            if self._complained > ENDLESS_COMPLAINTS:
                self._fault = "the server complains without end"
                await self._end()
                return
            if left > 0:
                with contextlib.suppress(OSError):
                    os.write(2, piece[:left])
                left -= len(piece)

    async def close(self) -> None:
        """End it with everything it started."""
        await self._end()
        left = (self._complaints, *self._lines)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        self._excerpt.close()

    async def _end(self) -> None:
        await self._process.close()
