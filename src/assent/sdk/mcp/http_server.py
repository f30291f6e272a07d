"""An MCP server at an address, over streamable HTTP: messages are posted; what comes back, or by itself, is read."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import msgspec

from assent.model import AssentError
from assent.sdk.client.clients import read_url
from assent.sdk.mcp.server import LONGEST_MESSAGE, Message, ServerGoneError, decode
from assent.sdk.tools.callbacks import call_in_thread

MOST_UNREAD = 1000
"""How many messages may wait for a client that does not read."""
_SECONDS = 600.0
MOST_FRUITLESS = 5
"""How often a cut stream is gone on with that brings nothing new before its question is an error."""
_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
"""How long to wait before a stream that ended is opened again; longer each time that it brought nothing."""
_VERSION = "io.modelcontextprotocol/protocolVersion"
_STREAM = "text/event-stream"
_FAULTS = (OSError, http.client.HTTPException, ValueError)
"""What a server, or the way to it, may do to us; a header of its making that cannot be sent back is a `ValueError`."""
Take: TypeAlias = Callable[[Message], None]


class _Exchange:
    """One request and the stream of its answer, which may be cut off and gone on with."""

    def __init__(self, message: Message, take: Take) -> None:
        self._message = message
        self._take = take
        self.answered = "id" not in message or "method" not in message
        self.last = ""
        """The last event that came, if the server names them."""
        self.pause = _PAUSE
        """How long the server wants to be left alone before one comes back."""

    def hear(self, found: Message) -> None:
        """Take a message of the server's."""
        mine = "method" not in found and found.get("id") == self._message.get("id")
        self.answered = self.answered or mine
        self._take(found)


class HttpServer:
    """A server at a URL. What it says without being asked comes by a stream of its own, as long as it offers one."""

    def __init__(self, url: str, headers: dict[str, str] | None = None) -> None:
        self._url = read_url(url, "--url")
        self._headers = headers or {}
        self._queue: asyncio.Queue[Message | ServerGoneError] = asyncio.Queue(MOST_UNREAD)
        self._session: str | None = None
        self._version: str | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._listening = False
        self._closed = threading.Event()
        self._last = ""
        """The last event of the server's own stream, to go on after."""

    async def send(self, message: Message) -> None:
        """Post a message; its answers come in by themselves."""
        task = self._start(self._exchange(message))
        if message.get("method") == "initialize":
            await asyncio.wait((task,))  # what follows needs the session that this gives
        elif message.get("method") == "notifications/initialized" and not self._listening:
            self._listening = True
            await asyncio.wait((task,))
            self._start(self._listen())

    async def receive(self) -> Message:
        """Wait for a message."""
        found = await self._queue.get()
        if isinstance(found, ServerGoneError):
            raise found
        return found

    async def close(self) -> None:
        """Wait for nothing more."""
        self._closed.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _taker(self) -> Take:
        """Return what hands a message over from a thread, waiting while nobody reads."""
        loop = asyncio.get_running_loop()

        def take(found: Message) -> None:
            asyncio.run_coroutine_threadsafe(self._queue.put(found), loop).result()

        return take

    async def _exchange(self, message: Message) -> None:
        try:
            await call_in_thread(self._post, message, self._taker())
        except (*_FAULTS, AssentError) as error:
            if "id" in message and "method" in message:
                fault = {"code": -32000, "message": f"the server cannot be reached: {error}"}
                await self._queue.put({"jsonrpc": "2.0", "id": message["id"], "error": fault})

    async def _listen(self) -> None:
        """Read what the server says by itself; one that does not keep to the protocol there is cut off."""
        try:
            await call_in_thread(self._follow, self._taker())
        except ServerGoneError as error:
            await self._queue.put(error)

    def _follow(self, take: Take) -> None:
        pause = _PAUSE
        while not self._closed.wait(0):
            with contextlib.suppress(*_FAULTS):
                found = self._read_own(take)
                if found is None:
                    return
                pause = _PAUSE if found else min(2 * pause, _LONGEST_PAUSE)
            self._closed.wait(pause)

    def _read_own(self, take: Take) -> int | None:
        """Open the server's own stream and read it to its end; None if it offers none."""
        with contextlib.closing(self._connect()) as connection:
            answer = self._open_stream(connection, self._last)
            return None if answer is None else self._read_stream(answer, take)

    def _post(self, message: Message, take: Take) -> None:
        """Post a message; one that asks for an answer has one when this returns, or it raises."""
        exchange = _Exchange(message, take)
        try:
            self._send(message, exchange)
        except _FAULTS:
            if not exchange.last:
                raise
        self._resume(exchange)
        if not exchange.answered:
            raise ServerGoneError("it gave no answer")

    def _resume(self, exchange: _Exchange) -> None:
        """Go on with a stream that was cut off, after its last event, as long as that brings anything new."""
        fruitless = 0
        while exchange.last and not exchange.answered and fruitless < MOST_FRUITLESS:
            if self._closed.wait(exchange.pause):
                return
            last = exchange.last
            with contextlib.suppress(*_FAULTS):
                if self._go_on(exchange) is None:
                    return
            fruitless = 0 if exchange.last != last else fruitless + 1

    def _go_on(self, exchange: _Exchange) -> int | None:
        with contextlib.closing(self._connect()) as connection:
            answer = self._open_stream(connection, exchange.last)
            return None if answer is None else self._read_stream(answer, exchange.hear, exchange)

    def _open_stream(self, connection: http.client.HTTPConnection, last: str) -> http.client.HTTPResponse | None:
        """Ask for a stream of the server's, after an event if one is named; None if it offers none."""
        headers = {**self._head({}), "Accept": _STREAM} | ({"Last-Event-ID": last} if last else {})
        headers.pop("Content-Type")
        connection.request("GET", self._path, headers=headers)
        answer = connection.getresponse()
        return answer if answer.status == 200 and answer.headers.get_content_type() == _STREAM else None

    def _send(self, message: Message, exchange: _Exchange) -> None:
        with contextlib.closing(self._connect()) as connection:
            connection.request("POST", self._path, msgspec.json.encode(message), self._head(message))
            answer = connection.getresponse()
            self._session = answer.headers.get("Mcp-Session-Id") or self._session
            if answer.status >= 400:
                _refuse(answer, message, exchange.hear)
            elif answer.headers.get_content_type() == _STREAM:
                self._read_stream(answer, exchange.hear, exchange)
            elif answer.status == 200:
                self._take(answer.read(LONGEST_MESSAGE + 1), exchange.hear)

    def _connect(self) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
        return kind(self._url.hostname or "", self._url.port, timeout=_SECONDS)

    @property
    def _path(self) -> str:
        path = self._url.path or "/"
        return f"{path}?{self._url.query}" if self._url.query else path

    def _head(self, message: Message) -> dict[str, str]:
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        meta = params.get("_meta")
        version = (meta.get(_VERSION) if isinstance(meta, dict) else None) or self._version
        headers = {"Content-Type": "application/json", "Accept": f"application/json, {_STREAM}"}
        headers |= {"Mcp-Session-Id": self._session} if self._session else {}
        headers |= {"MCP-Protocol-Version": str(version)} if version else {}
        headers |= {"Mcp-Method": str(message["method"])} if "method" in message else {}
        name = params.get("name") or params.get("uri")
        headers |= {"Mcp-Name": name} if isinstance(name, str) and name.isascii() and name.isprintable() else {}
        return headers | self._headers

    def _read_stream(self, answer: http.client.HTTPResponse, take: Take, exchange: _Exchange | None = None) -> int:
        """Hand over every message of a stream, to its end or to the answer, and return how many there were."""
        data, noise, count, last = b"", 0, 0, ""
        while (exchange is None or not exchange.answered) and (line := answer.readline(LONGEST_MESSAGE + 1)):
            noise += len(line)
            if line.startswith(b"data:"):
                data += line[5:].strip()
            elif line.startswith(b"id:"):
                last = line[3:].strip().decode("latin-1")
            elif line.startswith(b"retry:") and exchange is not None and line[6:].strip().isdigit():
                exchange.pause = min(int(line[6:]) / 1000, _LONGEST_PAUSE)
            elif not line.strip():
                # An event counts once it is whole: one that was cut off in the middle comes again.
                self._remember(last, exchange)
                count += self._take(data, take) if data else 0
                data, noise = b"", 0 if data else noise
            if max(len(data), noise) > LONGEST_MESSAGE:
                raise ServerGoneError("the server writes what is no message of the protocol")
        return count

    def _remember(self, last: str, exchange: _Exchange | None) -> None:
        if last and exchange is not None:
            exchange.last = last
        elif last:
            self._last = last

    def _take(self, data: bytes, take: Take) -> int:
        found = decode(data)
        if found is None:
            return 0
        result = found.get("result")
        if isinstance(result, dict) and isinstance(result.get("protocolVersion"), str):
            self._version = result["protocolVersion"]
        take(found)
        return 1


def _refuse(answer: http.client.HTTPResponse, message: Message, take: Take) -> None:
    found = decode(answer.read(LONGEST_MESSAGE))
    if found is not None and "error" in found and "id" in message:
        take({**found, "id": message["id"]})
    elif "id" in message:
        fault = {"code": -32000, "message": f"the server refused: {answer.status}"}
        take({"jsonrpc": "2.0", "id": message["id"], "error": fault})
