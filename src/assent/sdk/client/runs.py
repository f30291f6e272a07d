"""A client of the run protocol: prepare and start runs, follow their events, answer their questions."""

# Paths are strings here, as in `assent.model`.
# ruff: noqa: PTH118

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any, Literal, TypeVar, Union

import msgspec
from websockets.asyncio.client import ClientConnection, connect, unix_connect
from websockets.exceptions import WebSocketException

from assent.model import AssentError
from assent.platform.daemon_address import SOCKET_NAME, short_name
from assent.runs.protocol.client_messages import (
    ClientMessage,
    Decision,
    ListRuns,
    ListStrategies,
    PermissionDecision,
    Ping,
    PrepareRun,
    StartRun,
    StopRun,
    Subscribe,
    Unsubscribe,
    UpdatePolicy,
    UserInput,
)
from assent.runs.protocol.messages import (
    DAEMON_MESSAGES,
    DaemonMessage,
    ErrorMessage,
    Pong,
    RequestPermission,
    RunList,
    RunPrepared,
    RunSummary,
    StrategyList,
    StrategySummary,
)
from assent.sdk.client.clients import UnreachableError, find_endpoint
from assent.sdk.client.requests import ApiRequest, Endpoint, IsAwaited

LARGEST_MESSAGE = 16 << 20
_REPLIES = (RunPrepared, RunList, StrategyList, Pong, ErrorMessage)
_DECODER: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Union[DAEMON_MESSAGES])  # noqa: UP007 - made of a list

T = TypeVar("T")


class RunProtocolError(AssentError):
    """The daemon refused a message; `code` is the protocol's."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class RunRequest(ApiRequest[T]):
    """A message of the protocol, and the type of its reply."""

    def __init__(
        self,
        message: ClientMessage,
        reply: type[DaemonMessage] = Pong,
        give: Callable[[Any], Any] | None = None,
    ) -> None:
        self.message = message
        self.reply = reply
        self.give: Callable[[Any], Any] = give or (lambda found: None if reply is Pong else found)

    @property
    def is_silent(self) -> bool:
        """Tell whether the message has no reply but an error; a ping sent after it shows that there was none."""
        return self.reply is Pong and not isinstance(self.message, Ping)


class RunOrders:
    """The messages of the protocol."""

    @Endpoint
    @staticmethod
    def prepare(
        strategy_path: str | None = None,
        *,
        run_id: str | None = None,
        cwd: str | None = None,
        interactive: bool = True,
        profile: str | None = None,
    ) -> RunRequest[RunPrepared]:
        """Prepare a run of a strategy, or attach to a run by its id."""
        message = PrepareRun(
            run_id=run_id, strategy_path=strategy_path, cwd=cwd, interactive=interactive, profile=profile
        )
        return RunRequest(message, RunPrepared)

    @Endpoint
    @staticmethod
    def start(run_id: str, text: str | None = None) -> RunRequest[None]:
        """Start a run."""
        return RunRequest(StartRun(run_id=run_id, input=text))

    @Endpoint
    @staticmethod
    def stop(run_id: str) -> RunRequest[None]:
        """Stop a run."""
        return RunRequest(StopRun(run_id=run_id))

    @Endpoint
    @staticmethod
    def subscribe(run_id: str) -> RunRequest[None]:
        """Subscribe to a run, beginning with its pending questions."""
        return RunRequest(Subscribe(run_id=run_id))

    @Endpoint
    @staticmethod
    def unsubscribe(run_id: str) -> RunRequest[None]:
        """Unsubscribe from a run."""
        return RunRequest(Unsubscribe(run_id=run_id))

    @Endpoint
    @staticmethod
    def decide(question: RequestPermission, decision: Decision) -> RunRequest[None]:
        """Answer a question."""
        wanted = question.request_id or ""
        return RunRequest(PermissionDecision(run_id=question.run_id, permission_request_id=wanted, decision=decision))

    @Endpoint
    @staticmethod
    def update_policy(
        run_id: str,
        mode: Literal["read", "write"],
        *,
        tool: str | None = None,
        allow: tuple[str, ...] = (),
        deny: tuple[str, ...] = (),
        default: Literal["allow", "deny", "ask"] | None = None,
    ) -> RunRequest[None]:
        """Add to the path policy of a tool, or of all of them."""
        return RunRequest(UpdatePolicy(run_id=run_id, mode=mode, tool=tool, allow=allow, deny=deny, default=default))

    @Endpoint
    @staticmethod
    def give_input(run_id: str, agent: str, text: str) -> RunRequest[None]:
        """Write a line to the program of a run."""
        return RunRequest(UserInput(run_id=run_id, agent_name=agent, text=text))

    @Endpoint
    @staticmethod
    def list_runs() -> RunRequest[tuple[RunSummary, ...]]:
        """Return the visible runs, the newest first."""
        return RunRequest(ListRuns(), RunList, lambda reply: reply.runs)

    @Endpoint
    @staticmethod
    def list_strategies() -> RunRequest[tuple[StrategySummary, ...]]:
        """Return the strategies in the library."""
        return RunRequest(ListStrategies(), StrategyList, lambda reply: reply.strategies)

    @Endpoint
    @staticmethod
    def ping() -> RunRequest[None]:
        """Send a ping and wait for its answer."""
        return RunRequest(Ping())


class RunClient(RunOrders, IsAwaited):
    """A connection. Iterate over it for the events of every run that it prepared or subscribed to.

    Every method returns once the daemon has handled the message, and raises `RunProtocolError` if it refused.
    """

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._ids = itertools.count(1)
        self._waiting: dict[str, asyncio.Future[DaemonMessage]] = {}
        self._news: asyncio.Queue[DaemonMessage | None] = asyncio.Queue()
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    @contextlib.asynccontextmanager
    async def open(
        cls, *, url: str = "", home: str = "", token: str = "", environ: Mapping[str, str] = os.environ
    ) -> AsyncIterator[RunClient]:
        """Connect to the daemon of this user, or to the one at an address; raises `UnreachableError`."""
        if not url and not home:
            where = find_endpoint(environ)
            url, home, token = where.url, where.home, token or where.token
        try:
            socket = await connect_socket("/ws", url=url, home=home, token=token)
        except (OSError, WebSocketException) as error:
            raise UnreachableError(f"the daemon cannot be reached: {error}") from None
        client = cls(socket)
        try:
            yield client
        finally:
            await socket.close()
            await client._listening

    async def __aiter__(self) -> AsyncIterator[DaemonMessage]:
        while (message := await self._news.get()) is not None:
            yield message

    async def send(self, order: RunRequest[T]) -> T:
        """Send a message, and return the result in its reply."""
        with self._expecting() as (request_id, reply), self._expecting() as (ping_id, pong):
            await self._send(order.message, request_id)
            if order.is_silent:
                await self._send(Ping(), ping_id)
                await asyncio.wait((reply, pong), return_when=asyncio.FIRST_COMPLETED)
                answer = reply.result() if reply.done() else pong.result()
            else:
                answer = await reply
        if not isinstance(answer, order.reply):
            raise _problem(answer)
        given: T = order.give(answer)
        return given

    @contextlib.contextmanager
    def _expecting(self) -> Iterator[tuple[str, asyncio.Future[DaemonMessage]]]:
        request_id = f"c{next(self._ids)}"
        future: asyncio.Future[DaemonMessage] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = future
        try:
            yield request_id, future
        finally:
            del self._waiting[request_id]
            if not future.cancel() and not future.cancelled():
                future.exception()  # whatever it was has been raised already, or nobody waits for it

    async def _send(self, message: ClientMessage, request_id: str) -> None:
        data = msgspec.json.encode(msgspec.structs.replace(message, request_id=request_id))
        try:
            await self._socket.send(data.decode())
        except WebSocketException:
            raise UnreachableError("the daemon has gone") from None

    async def _listen(self) -> None:
        with contextlib.suppress(WebSocketException):
            async for data in self._socket:
                with contextlib.suppress(msgspec.MsgspecError):  # a newer daemon may say more
                    self._take(_DECODER.decode(data))
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(UnreachableError("the daemon has gone"))
        self._news.put_nowait(None)

    def _take(self, message: DaemonMessage) -> None:
        waiting = self._waiting.get(message.request_id or "") if isinstance(message, _REPLIES) else None
        if waiting is not None and not waiting.done():
            waiting.set_result(message)
        elif not isinstance(message, Pong):
            self._news.put_nowait(message)


async def connect_socket(path: str, *, url: str, home: str, token: str) -> ClientConnection:
    """Open a socket of the daemon's, at its address or in its home; raises as `websockets` does."""
    headers = {"Authorization": f"Bearer {token}"}
    more: dict[str, Any] = {"additional_headers": headers, "max_size": LARGEST_MESSAGE, "compression": None}
    if url:
        return await connect(url.replace("http", "ws", 1).rstrip("/") + path, proxy=None, **more)
    with short_name(home) as folder:
        return await unix_connect(os.path.join(folder, SOCKET_NAME), f"ws://localhost{path}", **more)


def _problem(answer: DaemonMessage) -> RunProtocolError:
    if isinstance(answer, ErrorMessage):
        return RunProtocolError(answer.code, answer.message)
    return RunProtocolError("INTERNAL_ERROR", "the daemon gave another answer than was asked for")
