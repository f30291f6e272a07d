"""Between an MCP client and a server: every `tools/call` is decided first, everything else passes as it is read here.

What is passed on is written anew from what was read, so that nobody behind reads anything else into it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from assent.model import ASK, Opinion, Source
from assent.sdk.mcp_pins import Pins
from assent.sdk.mcp_servers import Message, Server, ServerGoneError
from assent.sdk.sessions import AgentSession, denial_text

MOST_PENDING = 1000
_INVALID, _INTERNAL = -32600, -32603
Write = Callable[[Message], Awaitable[None]]
Key = tuple[str, Any]


class Proxy:
    """One client and one server."""

    def __init__(self, name: str, session: AgentSession, server: Server, pins: Pins, write: Write) -> None:
        self._name = name
        self._session = session
        self._server = server
        self._pins = pins
        self._write = write
        self._pending: dict[Key, Message] = {}
        """What the client asked and the server has not answered."""
        self._deciding: dict[Key, asyncio.Task[None]] = {}

    async def hear_client(self, message: Message | None) -> None:
        """Take one message of the client."""
        if message is None or message.get("jsonrpc") != "2.0":
            await self._fail(None, _INVALID, "expected one JSON-RPC message; batches are not taken")
        elif "method" in message and "id" in message:
            await self._hear_request(message)
        elif message.get("method") == "notifications/cancelled":
            await self._cancel(message)
        else:
            await self._server.send(message)

    async def _hear_request(self, message: Message) -> None:
        key = _key(message["id"])
        if key is None or key in self._pending or key in self._deciding:
            await self._fail(message["id"], _INVALID, "the id of this request is none, or in use")
        elif len(self._pending) + len(self._deciding) >= MOST_PENDING:
            await self._fail(message["id"], _INTERNAL, "too many requests are under way")
        elif message["method"] == "tools/call":
            task = self._deciding[key] = asyncio.create_task(self._decide(key, message))
            task.add_done_callback(lambda _: self._deciding.pop(key, None))
        else:
            self._pending[key] = message
            await self._server.send(message)

    async def _decide(self, key: Key, message: Message) -> None:
        """Decide one call; what may not run comes back as a tool's error, with the reason."""
        params = message.get("params")
        name = params.get("name") if isinstance(params, dict) else None
        given = params.get("arguments") if isinstance(params, dict) else None
        given = {} if given is None else given
        if not isinstance(params, dict) or not isinstance(name, str) or not isinstance(given, dict):
            await self._fail(message["id"], _INVALID, "a call needs a name, and an object for its arguments")
            return
        tool = f"mcp__{self._name}__{name}"
        objection = self._pins.objection(name)
        judgement, taken = await self._session.decide(
            tool, given, tool_call_id=f"mcp-{message['id']}", heard=_objecting(objection)
        )
        if not judgement.allowed:
            await self._refuse(message["id"], denial_text(tool, judgement))
            return
        if objection is not None:
            self._pins.accept(name)
        run = {**message, "params": {**params, "arguments": taken}}
        self._pending[key] = run
        try:
            await self._server.send(run)
        except ServerGoneError as error:
            self._pending.pop(key, None)
            await self._refuse(message["id"], str(error))

    async def _cancel(self, message: Message) -> None:
        """Withdraw a call that is still being decided; else tell the server."""
        params = message.get("params")
        key = _key(params.get("requestId")) if isinstance(params, dict) else None
        task = self._deciding.get(key) if key is not None else None
        if task is not None:
            task.cancel()
        else:
            await self._server.send(message)

    async def serve(self) -> ServerGoneError:
        """Pass on what the server says, until it is gone."""
        try:
            while True:
                await self._hear_server(await self._server.receive())
        except ServerGoneError as error:
            await self._give_up(str(error))
            return error

    async def _hear_server(self, message: Message) -> None:
        if "method" in message:
            await self._write(message)
            return
        key = _key(message.get("id"))
        asked = self._pending.pop(key, None) if key is not None else None
        if asked is None:
            return  # nobody asked, or it was answered before
        if asked["method"] == "tools/list":
            message = self._list(message)
        elif asked["method"] == "tools/call":
            self._note(asked, message)
        await self._write(message)

    def _list(self, message: Message) -> Message:
        result = message.get("result")
        if not isinstance(result, dict) or not isinstance(result.get("tools"), list):
            return message
        return {**message, "result": {**result, "tools": self._pins.list(result["tools"])}}

    def _note(self, asked: Message, message: Message) -> None:
        result = message.get("result")
        failed = "error" in message or (isinstance(result, dict) and result.get("isError") is True)
        error = ServerGoneError("the tool failed") if failed else None
        tool = f"mcp__{self._name}__{asked['params']['name']}"
        self._session.note_result(tool, f"mcp-{asked['id']}", error=error)

    async def _give_up(self, why: str) -> None:
        """Answer everything that is still open."""
        for task in tuple(self._deciding.values()):
            task.cancel()
        await asyncio.gather(*self._deciding.values(), return_exceptions=True)
        for asked in tuple(self._pending.values()):
            with contextlib.suppress(OSError):
                if asked["method"] == "tools/call":
                    self._note(asked, {"error": {}})
                    await self._refuse(asked["id"], why)
                else:
                    await self._fail(asked["id"], _INTERNAL, why)
        self._pending.clear()

    async def _refuse(self, request_id: Any, text: str) -> None:
        content = [{"type": "text", "text": text}]
        result = {"content": content, "isError": True, "resultType": "complete"}
        await self._write({"jsonrpc": "2.0", "id": request_id, "result": result})

    async def _fail(self, request_id: Any, code: int, text: str) -> None:
        await self._write({"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": text}})


def _key(request_id: Any) -> Key | None:
    """Tell ids apart as JSON does: `1` is not `"1"`."""
    if isinstance(request_id, bool) or not isinstance(request_id, str | int):
        return None
    return type(request_id).__name__, request_id


def _objecting(objection: str | None) -> tuple[Opinion, ...]:
    """Make an objection an ask that no standing answer and no mode lifts."""
    if objection is None:
        return ()
    return (
        Opinion(verdict=ASK, source=Source.HOST_POLICY, policy="host-policy", reason=objection, firm=True, opens=True),
    )
