"""A proxy between an MCP client and a server: it decides every `tools/call`, and passes other messages on.

Messages are encoded anew from what was parsed, so that the server cannot parse them differently.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import msgspec

from assent.model import ASK, AssentError, Opinion, Source
from assent.sdk.mcp.server import Message, Server, ServerGoneError
from assent.sdk.mcp.tool_pins import Pins
from assent.sdk.sessions.results import denial_text
from assent.sdk.sessions.session import AgentSession

MOST_PENDING = 1000
MOST_ABANDONED = 10_000
MOST_PAGES = 100
MOST_WARNINGS = 100
"""How much is written down of what a server does wrong; the rest is only not heard."""
LIST_SECONDS = 30.0
_HELD = {"toolscall": "tools/call", "toolslist": "tools/list"}
"""What is decided, or held to what was accepted, by its letters alone."""
_LIST_CHANGED = "notifications/tools/list_changed"
_PROGRESS = "notifications/progress"
PROGRESS_SECONDS = 1.0
MOST_PROGRESS = 100
"""How often it is written down how far a call is, and how many times at most."""
_META = "io.modelcontextprotocol/"
_CALL_FIELDS = frozenset({"name", "arguments", "_meta", "task", "inputResponses", "requestState"})
_INVALID, _INTERNAL = -32600, -32603
_SUBSTANCE = frozenset({"method", "result", "error"})
"""What a message has one of."""
_MISTAKABLE = "the client made a request that some readers take for one about tools"
Write = Callable[[Message], Awaitable[None]]
Key = tuple[str, Any]


class _Progress(msgspec.Struct, frozen=True):
    """How far a server says that a call is."""

    progress: float
    token: str | int = msgspec.field(name="progressToken")
    total: float | None = None
    message: str | None = None


class McpProxy:
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
        self._abandoned: OrderedDict[Key, None] = OrderedDict()
        """What the client asked and no longer waits for: the server may answer it, or not."""
        self._own: dict[Key, asyncio.Future[Message]] = {}
        """What the proxy itself asked the server."""
        self._changes = 1
        """How often the tools may have changed …"""
        self._listed = 0
        """… and up to which change they are known: as long as these differ, nothing is decided by what was said."""
        self._since: dict[Key, int] = {}
        """The change that each listing of the client is sure to know of."""
        self._listing: asyncio.Task[None] | None = None
        self._warned: set[str] = set()
        self._progress: dict[Key | None, tuple[int, float]] = {}
        """By the token of a call, how often and when it was last written down how far it is."""

    async def hear_client(self, message: Message | None, claimed: str | int | None = None) -> None:
        """Take one message of the client; `claimed` is the id of one that cannot be read."""
        if message is None or message.get("jsonrpc") != "2.0" or not message.keys() & _SUBSTANCE:
            known = message.get("id") if message is not None else claimed
            await self._fail(known, _INVALID, "expected one JSON-RPC message; batches are not taken")
        elif "method" in message and "id" in message:
            await self._hear_request(message)
        elif _is_mistakable(message.get("method", "")):
            self._warn(_MISTAKABLE)
            await self._fail(None, _INVALID, "some readers take this method for another")
        elif message.get("method") == "notifications/cancelled":
            await self._cancel(message)
        elif "method" in message and not str(message["method"]).startswith("notifications/"):
            # A server may obey what wants no answer: nobody would have decided it.
            self._warn("the client made a request without an id")
            await self._fail(None, _INVALID, "a request needs an id")
        else:
            await self._server.send(message)

    async def _hear_request(self, message: Message) -> None:
        key = _key(message["id"])
        in_use = (self._pending, self._deciding, self._own, self._abandoned)
        if key is None or any(key in each for each in in_use):
            await self._fail(message["id"], _INVALID, "the id of this request is none, or in use")
        elif len(self._pending) + len(self._deciding) >= MOST_PENDING:
            await self._fail(message["id"], _INTERNAL, "too many requests are under way")
        elif _is_mistakable(message["method"]):
            self._warn(_MISTAKABLE)
            await self._fail(message["id"], _INVALID, "some readers take this method for another")
        elif message["method"] == "tools/call":
            task = self._deciding[key] = asyncio.create_task(self._decide(key, message))
            task.add_done_callback(lambda _: self._deciding.pop(key, None))
        else:
            if message["method"] == "tools/list":
                self._begin_list(key, message)
            self._pending[key] = message
            await self._server.send(message)

    async def _decide(self, key: Key, message: Message) -> None:
        """Decide one call; whatever goes wrong with it, the client is told, and nothing runs."""
        try:
            await self._pass_call(key, message)
        except Exception as error:  # noqa: BLE001 - as it says
            self._pending.pop(key, None)
            await self._refuse(message["id"], f"it cannot be decided: {str(error) or type(error).__name__}")

    async def _pass_call(self, key: Key, message: Message) -> None:
        """Decide one call; what may not run comes back as a tool's error, with the reason."""
        params = message.get("params")
        name = params.get("name") if isinstance(params, dict) else None
        given = params.get("arguments") if isinstance(params, dict) else None
        given = {} if given is None else given
        if not isinstance(params, dict) or not isinstance(name, str) or not isinstance(given, dict):
            await self._fail(message["id"], _INVALID, "a call needs a name, and an object for its arguments")
            return
        tool, call_id = f"mcp__{self._name}__{name}", f"mcp-{message['id']}"
        objection = await self._relist(params.get("_meta")) or self._pins.objection(name)
        lookalike = find_lookalike(dict.fromkeys(params), _CALL_FIELDS) or find_lookalike(
            given, self._pins.fields(name)
        )
        if lookalike is not None:
            self._warn(f"a call of {tool} had two fields that some readers take for one")
            await self._fail(message["id"], _INVALID, f"some readers take {lookalike!r} for another field of this call")
            return
        shown = (self._changes, self._pins.mark(name))
        judgement, taken = await self._session.decide(tool, given, tool_call_id=call_id, heard=_objecting(objection))
        if not judgement.allowed:
            await self._refuse(message["id"], denial_text(tool, judgement))
            return
        try:
            await self._check_again(name, shown, params.get("_meta"))
            if objection is not None:
                self._pins.accept(name)
            run = self._pending[key] = {**message, "params": {**params, "arguments": taken}}
            await self._server.send(run)
        except asyncio.CancelledError:
            if key not in self._pending:  # else it was passed on, and ends as what was passed on does
                self._session.note_result(tool, call_id, error=AssentError("the call was cancelled"))
            raise
        except Exception as error:
            self._session.note_result(tool, call_id, error=error)
            raise

    async def _check_again(self, name: str, shown: tuple[int, str | None], meta: Any) -> None:
        """See to it that a tool still is what somebody was asked about, perhaps an hour ago."""
        changes, mark = shown
        unknown = self._changes != changes and await self._relist(meta) is not None
        if unknown or mark != self._pins.mark(name):
            raise AssentError(f"the tool {name} changed while it was asked about")

    async def _cancel(self, message: Message) -> None:
        """Withdraw a call that is still being decided; else tell the server, and wait for no answer any more."""
        params = message.get("params")
        key = _key(params.get("requestId")) if isinstance(params, dict) else None
        asked = self._pending.pop(key, None) if key is not None else None
        task = self._deciding.get(key) if key is not None else None
        if task is not None and asked is None:
            task.cancel()
            return
        if key is not None and asked is not None:
            self._abandon(key, asked)
        await self._server.send(message)

    def _abandon(self, key: Key, asked: Message) -> None:
        self._abandoned[key] = None
        if len(self._abandoned) > MOST_ABANDONED:
            self._abandoned.popitem(last=False)
        if asked["method"] == "tools/call":
            self._progress.pop(_progress_key(asked), None)
            self._session.note_result(*self._called(asked), error=AssentError("the client no longer waits for it"))

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
            self._changes += message["method"] == _LIST_CHANGED
            if message["method"] == _PROGRESS:
                self._note_progress(message.get("params"))
            await self._write(message)
            return
        key = _key(message.get("id"))
        own = self._own.pop(key, None) if key is not None else None
        if own is not None and not own.done():
            own.set_result(message)
            return
        asked = self._pending.pop(key, None) if key is not None else None
        if key is None or asked is None:
            if key not in self._abandoned:
                self._warn("the server answered what nobody asked, or twice")
            return
        if asked["method"] == "tools/list":
            message = self._list(key, message)
        elif asked["method"] == "tools/call":
            self._note(asked, message)
        await self._write(message)

    def _begin_list(self, key: Key, message: Message) -> None:
        params = message.get("params")
        if not isinstance(params, dict) or params.get("cursor") is None:
            self._pins.begin()
            self._since[key] = self._changes

    def _list(self, key: Key, message: Message) -> Message:
        """Show the model the tools as they were accepted; what is no list of them is an error."""
        since = self._since.pop(key, 0)
        result = message.get("result")
        if not isinstance(result, dict) or not isinstance(result.get("tools"), list):
            error = message.get("error") or {"code": _INTERNAL, "message": "the server does not list its tools"}
            return {"jsonrpc": "2.0", "id": message["id"], "error": error}
        more = result.get("nextCursor") is not None
        shown = self._pins.list(result["tools"], more=more)
        self._object(shown)
        if not more:
            self._listed = max(self._listed, since)
        kept = {name: value for name, value in result.items() if name.casefold() != "tools"}
        return {**message, "result": {**kept, "tools": shown}}

    async def _relist(self, meta: Any) -> str | None:
        """Learn what the tools are, if that may have changed; returns why it could not be learnt."""
        if self._listed >= self._changes:
            return None
        if self._listing is None or self._listing.done():
            self._listing = asyncio.create_task(self._list_all(meta))
        try:
            async with asyncio.timeout(LIST_SECONDS):
                await asyncio.shield(self._listing)
        except (TimeoutError, ServerGoneError) as error:
            return f"what the tools of this server are could not be learnt: {str(error) or 'it does not answer'}"
        return None

    async def _list_all(self, meta: Any) -> None:
        """List every tool; as many changes as were told of before it began are known afterwards."""
        change, tools, cursor = self._changes, [], None
        kept = {k: v for k, v in meta.items() if k.startswith(_META)} if isinstance(meta, dict) else {}
        for _ in range(MOST_PAGES):
            params = ({"_meta": kept} if kept else {}) | ({"cursor": cursor} if cursor is not None else {})
            result = await self._ask("tools/list", params)
            tools += result["tools"]
            cursor = result.get("nextCursor")
            if cursor is None:
                self._pins.list_all(tools)
                self._object(tools)
                self._listed = max(self._listed, change)
                return
        raise ServerGoneError("its list has no end")

    async def _ask(self, method: str, params: Message) -> Message:
        """Ask the server something of our own."""
        request_id = f"assent-{secrets.token_hex(8)}"
        key = (str.__name__, request_id)
        future = self._own[key] = asyncio.get_running_loop().create_future()
        try:
            await self._server.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
            answer: Message = await future
        finally:
            self._own.pop(key, None)
        result = answer.get("result")
        if not isinstance(result, dict) or not isinstance(result.get("tools"), list):
            raise ServerGoneError("it does not list them")
        return result

    def _object(self, tools: list[Any]) -> None:
        """Write down what is not as it was accepted."""
        names = [tool["name"] for tool in tools if isinstance(tool, dict) and isinstance(tool.get("name"), str)]
        for objection in filter(None, map(self._pins.objection, names)):
            self._warn(objection)

    def _warn(self, text: str) -> None:
        if text not in self._warned and len(self._warned) < MOST_WARNINGS:
            self._warned.add(text)
            self._session.warn(text)

    def _note_progress(self, params: Any) -> None:
        """Write down how far a call is: one that is under way, by the token that it gave, and not too often."""
        try:
            told = msgspec.convert(params, _Progress)
        except msgspec.ValidationError:
            return
        token = _key(told.token)
        asked = next((each for each in self._pending.values() if _progress_key(each) == token), None)
        if asked is None:
            return
        count, last = self._progress.get(token, (0, -PROGRESS_SECONDS))
        now = time.monotonic()
        if count < MOST_PROGRESS and now - last >= PROGRESS_SECONDS:
            self._progress[token] = (count + 1, now)
            self._session.note_progress(*self._called(asked), told.progress, total=told.total, message=told.message)

    def _called(self, asked: Message) -> tuple[str, str]:
        """Return what a call is on record as: the tool, and the id."""
        return f"mcp__{self._name}__{asked['params']['name']}", f"mcp-{asked['id']}"

    def _note(self, asked: Message, message: Message) -> None:
        result = message.get("result")
        failed = "error" in message or (isinstance(result, dict) and result.get("isError") is True)
        error = ServerGoneError("the tool failed") if failed else None
        self._progress.pop(_progress_key(asked), None)
        self._session.note_result(*self._called(asked), error=error)

    async def _give_up(self, why: str) -> None:
        """Answer everything that is still open."""
        for future in self._own.values():
            if not future.done():
                future.set_exception(ServerGoneError(why))
        deciding = dict(self._deciding)
        for task in deciding.values():
            task.cancel()
        await asyncio.gather(*deciding.values(), return_exceptions=True)
        for key in deciding.keys() - self._pending.keys():
            with contextlib.suppress(OSError):
                await self._refuse(key[1], why)
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


def _is_mistakable(method: Any) -> bool:
    """Tell whether a method is missing, or looks like one that the proxy handles itself."""
    if not isinstance(method, str) or not method.isascii():
        return True
    letters = "".join(filter(str.isalpha, method.casefold()))
    return ("toolscall" in letters or letters in _HELD) and method != _HELD.get(letters)


def find_lookalike(given: Any, fields: Iterable[str] = ()) -> str | None:
    """Find a field that a case-insensitive reader would take for another one, or for a known one."""
    if isinstance(given, list):
        return next(filter(None, map(find_lookalike, given)), None)
    if not isinstance(given, dict):
        return None
    known, spelled = frozenset(fields), {name.casefold(): name for name in (*given, *fields)}
    lookalike = next((name for name in given if name not in known and spelled[name.casefold()] != name), None)
    return lookalike if lookalike is not None else next(filter(None, map(find_lookalike, given.values())), None)


def _progress_key(asked: Message) -> Key | None:
    """Return the token by which a call wants to be told how far it is."""
    meta = asked["params"].get("_meta") if asked["method"] == "tools/call" else None
    return _key(meta.get("progressToken")) if isinstance(meta, dict) else None


def _objecting(objection: str | None) -> tuple[Opinion, ...]:
    """Make an objection an ask that no standing answer and no mode lifts."""
    if objection is None:
        return ()
    return (
        Opinion(verdict=ASK, source=Source.HOST_POLICY, policy="host-policy", reason=objection, firm=True, opens=True),
    )
