"""`WS /ws`: the run protocol, to prepare, start, follow, answer and stop runs."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

from assent.model import ForbiddenError, StoreError, encode
from assent.model.principal import Role
from assent.runs.protocol.client_messages import (
    ClientMessage,
    ContinueRun,
    GetAvailableModels,
    HubList,
    ListMcpServers,
    ListProviders,
    ListRuns,
    ListStrategies,
    PermissionDecision,
    Ping,
    PrepareRun,
    QuestionResponse,
    StartRun,
    SteerRun,
    StopRun,
    Subscribe,
    TrashClear,
    TrashList,
    Unsubscribe,
    UpdatePolicy,
    UserInput,
)
from assent.runs.protocol.messages import (
    AvailableModels,
    DaemonMessage,
    ErrorMessage,
    HubPackages,
    McpServerList,
    Pong,
    ProviderList,
    RunList,
    StrategyList,
    TrashClearResult,
    TrashListResult,
    stamp,
)
from assent.runs.protocol.parse import ProtocolError, parse_frame
from assent.runs.records import brief
from assent.server.state.listeners import Member
from assent.wire.refusal import Refusal

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

    from assent.model.principal import Principal
    from assent.server.daemon import Daemon

PATH = "/ws"
QUEUES = 16
"""A run sends far more messages than the permission socket: the queue is so many times the usual size …"""
LARGEST_QUEUE = 64 << 20
"""… and so many characters."""
MOST_ANSWERS = 64
"""How many answers of one client are taken at the same time."""


def admit(principal: Principal | None) -> Principal:
    """Refuse a principal that may not control runs, before the socket is accepted."""
    if principal is None:
        raise Refusal(401, "Unauthorized")
    if principal.role is Role.AGENT:
        raise Refusal(403, "Forbidden: an agent's token starts and answers nothing; use a user's")
    return principal


class RunSocket:
    """One client of the run protocol, from its handshake to its end."""

    def __init__(self, daemon: Daemon, principal: Principal, scope: Scope) -> None:
        self._daemon = daemon
        self._who = principal
        self._member = Member(principal.user, QUEUES * daemon.settings.queue, scope["state"]["abort"], LARGEST_QUEUE)
        self._answers: set[asyncio.Task[bool]] = set()

    async def talk(self, receive: Receive, send: Send) -> None:
        """Handle messages and send events, until either side disconnects."""
        closing = self._daemon.closing
        self._daemon.run_clients.add(self)
        work = [asyncio.create_task(self._send(send)), asyncio.create_task(self._listen(receive))]
        try:
            await asyncio.wait((*work, closing), return_when=asyncio.FIRST_COMPLETED)
            if closing.done():
                await send({"type": "websocket.close", "code": 1001, "reason": "Server shutting down"})
        finally:
            self._daemon.run_clients.discard(self)
            self._daemon.runs.leave(self._member)
            for task in work:
                task.cancel()
            await asyncio.gather(*work, *self._answers, return_exceptions=True)

    async def _send(self, send: Send) -> None:
        while True:
            await send({"type": "websocket.send", "text": await self._member.next()})

    async def _listen(self, receive: Receive) -> None:
        """Handle messages in order; answers to questions are handled concurrently, so that they share commits."""
        while (event := await receive())["type"] == "websocket.receive":
            message = self._read(event)
            if isinstance(message, PermissionDecision) and self._daemon.runs.is_here(message.run_id):
                await self._begin_answer(message)
            else:
                await self._end_answers()
                if not await self._hear(message):
                    return

    def _read(self, event: Message) -> ClientMessage | ProtocolError:
        try:
            self._daemon.rates.take(self._who.token)
            return parse_frame(_bytes_of(event))
        except ProtocolError as error:
            return error
        except Refusal as refusal:
            return ProtocolError("FORBIDDEN", refusal.message)

    async def _begin_answer(self, message: PermissionDecision) -> None:
        """Start to handle an answer concurrently; the answers of one run are applied in their order."""
        if len(self._answers) >= MOST_ANSWERS:
            await asyncio.wait(self._answers, return_when=asyncio.FIRST_COMPLETED)
        task = asyncio.create_task(self._hear(message))
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)

    async def _end_answers(self) -> None:
        if self._answers:
            await asyncio.wait(self._answers)

    async def _hear(self, message: ClientMessage | ProtocolError) -> bool:
        """Handle a message and queue the reply; false if the client no longer reads."""
        answer = await self._answer(message)
        return answer is None or self._member.push(encode(answer).decode())

    async def _answer(self, message: ClientMessage | ProtocolError) -> DaemonMessage | None:
        """Handle a message; an error becomes a reply, and the socket stays open."""
        if isinstance(message, ProtocolError):
            return _error(message, message.request_id)
        request_id = message.request_id
        try:
            return await self._obey(message)
        except ProtocolError as error:
            return _error(error, error.request_id or request_id)
        except ForbiddenError as error:
            return _error(ProtocolError("FORBIDDEN", str(error)), request_id)
        except StoreError:
            return _error(ProtocolError("INTERNAL_ERROR", "The store cannot be used; nothing was done"), request_id)
        except Exception as error:  # noqa: BLE001 - the last resort: the answer has no internals, and nothing is allowed
            self._daemon.journal.fault("run.socket.failed", error)
            return _error(ProtocolError("INTERNAL_ERROR", "Internal error"), request_id)

    async def _obey(self, message: ClientMessage) -> DaemonMessage | None:  # noqa: C901, PLR0912 - one case for each message
        runs, who, member = self._daemon.runs, self._who, self._member
        match message:
            case PrepareRun():
                await self._prepare(message)
            case StartRun():
                await runs.start(message.run_id, message.input, who)
            case StopRun():
                await runs.stop(message.run_id, who)
            case Subscribe():
                await runs.subscribe(message.run_id, who, member)
            case Unsubscribe():
                runs.unsubscribe(message.run_id, member)
            case PermissionDecision():
                self._daemon.note_answer(await runs.answer(message, who, member), who)
            case UpdatePolicy():
                await runs.update_policy(message, who)
            case UserInput():
                await runs.give_input(message.run_id, message.agent_name, message.text, who)
            case ListRuns():
                return RunList(ts=_now(), request_id=message.request_id, runs=await runs.list(who))
            case ListStrategies():
                return await self._list_strategies(message)
            case ContinueRun():
                await runs.steer(message.run_id, message.input, who)
            case SteerRun():
                await runs.steer(message.run_id, message.text, who)
            case Ping():
                return Pong(ts=_now(), request_id=message.request_id)
            case _:
                return _nothing(message)
        return None

    async def _list_strategies(self, message: ListStrategies) -> StrategyList:
        strategies, runs = await self._daemon.runs.list_strategies(), await self._daemon.runs.list(self._who)
        return StrategyList(
            ts=_now(), request_id=message.request_id, strategies=strategies, runs=tuple(map(brief, runs))
        )

    async def _prepare(self, message: PrepareRun) -> None:
        """Send the run's description, then subscribe the client, beginning with pending questions."""
        run = await self._daemon.runs.prepare(message, self._who)
        self._member.push(encode(run.introduce(message.request_id)).decode())
        await self._daemon.runs.listen(run, self._member)


def _nothing(message: ClientMessage) -> DaemonMessage:
    """Answer messages about features that this daemon does not have, with empty lists."""
    ts, request_id = _now(), message.request_id
    match message:
        case ListMcpServers():
            return McpServerList(ts=ts, request_id=request_id, servers=())
        case ListProviders():
            return ProviderList(ts=ts, request_id=request_id, providers=())
        case GetAvailableModels():
            return AvailableModels(ts=ts, request_id=request_id, models=())
        case HubList():
            return HubPackages(ts=ts, request_id=request_id, operation="list", available=(), installed=())
        case TrashList():
            return TrashListResult(ts=ts, request_id=request_id, workspaces=(), total_entries=0, total_bytes=0)
        case TrashClear():
            return TrashClearResult(ts=ts, request_id=request_id, cleared=0, bytes_freed=0)
        case QuestionResponse():
            missing = f"No pending question request {message.question_request_id} for run {message.run_id}"
            raise ProtocolError("NO_PENDING_QUESTION", missing)
        case _:
            raise ProtocolError("INTERNAL_ERROR", "Internal error")


def _bytes_of(event: Message) -> bytes:
    text = event.get("text")
    if text is not None:
        with contextlib.suppress(UnicodeError):
            return bytes(text, "utf-8")
        return b""
    data: bytes = event.get("bytes") or b""
    return data


def _error(error: ProtocolError, request_id: str | None) -> ErrorMessage:
    return ErrorMessage(ts=_now(), request_id=request_id, code=error.code, message=error.message)


def _now() -> str:
    return stamp(time.time())
