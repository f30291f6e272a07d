"""A client of `WS /ws/permissions`: questions as they are asked, and how each ended."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlencode

import msgspec
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import WebSocketException

from assent.sdk.client.clients import ApiError, UnreachableError
from assent.sdk.client.requests import ApiRequest, Endpoint, IsAwaited
from assent.sdk.client.runs import connect_socket

if TYPE_CHECKING:
    from assent.sdk.client.clients import AsyncClient


class Notice(msgspec.Struct, frozen=True):
    """A received message: `connected`, `permission_request`, `decision_ack`, `heartbeat`, `pong` or `error`."""

    type: str
    data: dict[str, Any] = {}


_REFUSALS = {4001: 400, 4401: 401, 4403: 403}
_DECODER = msgspec.json.Decoder(Notice)


class Saying(ApiRequest[None]):
    """A message to send."""

    def __init__(self, kind: str, **data: Any) -> None:
        self.type = kind
        self.data = {name: value for name, value in data.items() if value is not None}


class InboxWords:
    """The messages that can be sent."""

    @Endpoint
    @staticmethod
    def decide(
        request_id: str, decision: Literal["approve", "reject"], *, feedback: str | None = None
    ) -> ApiRequest[None]:
        """Answer a question; every listener receives a `decision_ack`."""
        return Saying("decision", requestId=request_id, decision=decision, feedback=feedback)

    @Endpoint
    @staticmethod
    def ping() -> ApiRequest[None]:
        """Send a ping; the daemon answers with a `pong`."""
        return Saying("ping")


class Inbox(InboxWords, IsAwaited):
    """A connection. Iterate over it for messages, beginning with pending questions."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def __aiter__(self) -> AsyncIterator[Notice]:
        try:
            async for message in self._socket:
                yield _DECODER.decode(message)
        except (WebSocketException, msgspec.MsgspecError) as error:
            if self._socket.close_code in _REFUSALS:
                raise ApiError(_REFUSALS[self._socket.close_code], self._socket.close_reason or "refused") from None
            raise UnreachableError(f"the stream was cut off: {error}") from None

    async def send(self, said: Saying) -> None:
        """Send a message, or raise `UnreachableError`."""
        try:
            await self._socket.send(msgspec.json.encode({"type": said.type, "data": said.data}).decode())
        except WebSocketException:
            raise UnreachableError("the daemon has gone") from None


@contextlib.asynccontextmanager
async def open_inbox(
    client: AsyncClient, user: str | None, *, everyone: bool, url: str, home: str, token: str
) -> AsyncIterator[Inbox]:
    """Connect as a user, or as whoever the token says; raises `UnreachableError` or `ApiError`."""
    query = {"userId": user or (await client.who()).user_id} | ({"everyone": "true"} if everyone else {})
    try:
        path = "/ws/permissions?" + urlencode(query)
        socket = await connect_socket(path, url=url, home=home, token=token)
    except (OSError, WebSocketException) as error:
        raise UnreachableError(f"the daemon cannot be reached: {error}") from None
    try:
        yield Inbox(socket)
    finally:
        await socket.close()
