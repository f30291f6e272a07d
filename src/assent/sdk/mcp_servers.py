"""The MCP server behind the guard: a program in a sandbox that speaks over its streams, or an address."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import os
from collections.abc import Callable
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec

from assent.model import AssentError
from assent.sandbox import PIPE, Process, Sandbox
from assent.sdk.voices import call_in_thread

LONGEST_MESSAGE = 16 << 20
MOST_UNREAD = 1000
"""How many messages may wait for a client that does not read."""
_MOST_COMPLAINTS = 1 << 20
_SECONDS = 600.0
_VERSION = "io.modelcontextprotocol/protocolVersion"
Message = dict[str, Any]


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
    """Read one message; None for what is none."""
    try:
        message = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


class Program:
    """A server in a sandbox of its own, or if `box` is None, without one."""

    def __init__(self, process: Process | asyncio.subprocess.Process) -> None:
        self._process = process
        self._rest = b""
        self._complaints = asyncio.create_task(self._drain())

    @classmethod
    async def start(cls, box: Sandbox | None, argv: list[str]) -> Program:
        """Start it."""
        if box is not None:
            return cls(await box.start(argv, stdin=PIPE, stdout=PIPE, stderr=PIPE))
        pipe = asyncio.subprocess.PIPE
        return cls(await asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe, stderr=pipe))

    async def send(self, message: Message) -> None:
        """Write one line."""
        data = msgspec.json.encode(message) + b"\n"
        try:
            stdin: Any = self._process.stdin
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
            raise ServerGoneError("the server ended")
        return piece

    async def _drain(self) -> None:
        """Read what it complains about, so that it does not wait for a reader; only the beginning is passed on."""
        stderr: Any = self._process.stderr
        left = _MOST_COMPLAINTS
        while piece := await (stderr.read() if isinstance(self._process, Process) else stderr.read(1 << 16)):
            if left > 0:
                with contextlib.suppress(OSError):
                    os.write(2, piece[:left])
                left -= len(piece)

    async def close(self) -> None:
        """End it with everything it started."""
        if isinstance(self._process, Process):
            await self._process.close()
        else:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        self._complaints.cancel()
        await asyncio.gather(self._complaints, return_exceptions=True)


class Address:
    """A server at a URL: each message is posted, and what comes back, at once or as a stream, is received."""

    def __init__(self, url: str, headers: dict[str, str] | None = None) -> None:
        self._url = urlsplit(url)
        if self._url.scheme not in ("http", "https"):
            raise AssentError("--url must begin with http:// or https://")
        self._headers = headers or {}
        self._queue: asyncio.Queue[Message | ServerGoneError] = asyncio.Queue(MOST_UNREAD)
        self._session: str | None = None
        self._version: str | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._listening = False

    async def send(self, message: Message) -> None:
        """Post a message; its answers come in by themselves."""
        task = asyncio.create_task(self._exchange(message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if message.get("method") == "initialize":
            await asyncio.wait((task,))  # what follows needs the session that this gives

    async def receive(self) -> Message:
        """Wait for a message."""
        found = await self._queue.get()
        if isinstance(found, ServerGoneError):
            raise found
        return found

    async def close(self) -> None:
        """Wait for nothing more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _exchange(self, message: Message) -> None:
        loop = asyncio.get_running_loop()

        def take(found: Message) -> None:
            asyncio.run_coroutine_threadsafe(self._queue.put(found), loop).result()

        try:
            await call_in_thread(self._post, message, take)
        except (OSError, http.client.HTTPException, AssentError) as error:
            if "id" in message and "method" in message:
                fault = {"code": -32000, "message": f"the server can not be reached: {error}"}
                await self._queue.put({"jsonrpc": "2.0", "id": message["id"], "error": fault})

    def _post(self, message: Message, take: Callable[[Message], None]) -> None:
        secure = self._url.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(self._url.hostname or "", self._url.port, timeout=_SECONDS)
        path = self._url.path or "/"
        try:
            body = msgspec.json.encode(message)
            connection.request(
                "POST", f"{path}?{self._url.query}" if self._url.query else path, body, self._head(message)
            )
            answer = connection.getresponse()
            self._session = answer.headers.get("Mcp-Session-Id") or self._session
            if answer.status >= 400:
                self._refuse(answer, message, take)
            elif answer.headers.get_content_type() == "text/event-stream":
                self._read_stream(answer, take)
            elif answer.status == 200:
                self._take(answer.read(LONGEST_MESSAGE + 1), take)
        finally:
            connection.close()

    def _head(self, message: Message) -> dict[str, str]:
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        meta = params.get("_meta")
        version = (meta.get(_VERSION) if isinstance(meta, dict) else None) or self._version
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        headers |= {"Mcp-Session-Id": self._session} if self._session else {}
        headers |= {"MCP-Protocol-Version": str(version)} if version else {}
        headers |= {"Mcp-Method": str(message["method"])} if "method" in message else {}
        name = params.get("name") or params.get("uri")
        headers |= {"Mcp-Name": name} if isinstance(name, str) and name.isascii() and name.isprintable() else {}
        return headers | self._headers

    def _refuse(self, answer: http.client.HTTPResponse, message: Message, take: Callable[[Message], None]) -> None:
        found = decode(answer.read(LONGEST_MESSAGE))
        if found is not None and "error" in found and "id" in message:
            take({**found, "id": message["id"]})
        elif "id" in message:
            fault = {"code": -32000, "message": f"the server refused: {answer.status}"}
            take({"jsonrpc": "2.0", "id": message["id"], "error": fault})

    def _read_stream(self, answer: http.client.HTTPResponse, take: Callable[[Message], None]) -> None:
        data = b""
        while line := answer.readline(LONGEST_MESSAGE + 1):
            if line.startswith(b"data:"):
                data += line[5:].strip()
            elif not line.strip() and data:
                self._take(data, take)
                data = b""
            if len(data) > LONGEST_MESSAGE:
                raise ServerGoneError("the server writes what is no message of the protocol")

    def _take(self, data: bytes, take: Callable[[Message], None]) -> None:
        found = decode(data)
        if found is None:
            return
        result = found.get("result")
        if isinstance(result, dict) and isinstance(result.get("protocolVersion"), str):
            self._version = result["protocolVersion"]
        take(found)
