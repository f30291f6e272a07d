"""Connections of uvicorn that know their peer, bound their input, and can be aborted."""

from __future__ import annotations

import asyncio
import socket
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from assent.model import encode
from assent.server.http.listen import peer_uid
from assent.server.http.origin import Peer

if TYPE_CHECKING:
    from uvicorn._types import ASGIReceiveEvent
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

RUNS = "/ws"
LONGEST_RUN_FRAME = 4 << 20
SILENCE_SECONDS = 60.0
"""How long a connection may stay open without a request, or with half of one."""
LARGEST_HEAD = 64 << 10
"""How much may come of a request without any of its body."""
MOST_BEHIND = 8
"""How many requests may wait behind the one that is being answered: hardly anyone sends any, and each takes memory."""


class _TooManyError(Exception):
    """Stops parsing a connection with too many pipelined requests."""


class HttpConnection(HttpToolsProtocol):
    """An HTTP connection that knows its peer, bounds its input, and is closed when it is silent."""

    ask_only = False
    peer: Peer | None = None
    _begun = 0
    """How many requests began."""
    _open = False
    """One of them is not here whole."""
    _seen = 0
    """How many had begun when it was last looked at."""
    _headed = 0
    """How much came since the last of a body."""
    _running: RequestResponseCycle | None = None
    """The request that is being answered; behind it there may be others."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Find the peer; refuse another user on the Unix socket."""
        super().connection_made(transport)
        state: dict[str, Any] = {"abort": transport.abort}
        raw = transport.get_extra_info("socket")
        if raw is not None and raw.family == socket.AF_UNIX:
            state["peer"] = self.peer = Peer(peer_uid(raw), self.ask_only)
        self.app_state = state
        self.loop.call_later(SILENCE_SECONDS, self._look)
        if self.peer is not None and self.peer.is_somebody_else:
            self._refuse(HTTPStatus.FORBIDDEN, "Forbidden: this socket is its owner's alone")

    def connection_lost(self, exc: Exception | None) -> None:
        """Disconnect the request that is being answered, which may not be the last one received."""
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse received bytes; refuse a request head that is too long."""
        self._headed += len(data)
        super().data_received(data)
        if not self._open:
            self._headed = 0
        elif self._headed > LARGEST_HEAD and not self.transport.is_closing():
            if self._is_busy():
                self.transport.close()
            else:
                status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
                self._refuse(status, f"The head of the request is longer than {LARGEST_HEAD} bytes")

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        """Answer before there is a request for the application, and close the connection."""
        body = encode({"error": message})
        headers = (
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            (b"x-content-type-options", b"nosniff"),
            (b"cache-control", b"no-store"),
            *self.server_state.default_headers,
            (b"connection", b"close"),
        )
        lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode(), *(b"%b: %b" % pair for pair in headers)]
        self.transport.write(b"\r\n".join((*lines, b"", body)))
        self.transport.close()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body; its reader bounds the whole."""
        self._headed = 0
        super().on_body(body)

    def on_message_begin(self) -> None:
        """Count a request; stop at too many pipelined ones."""
        if len(self.pipeline) >= MOST_BEHIND:
            raise _TooManyError
        self._begun += 1
        self._open = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Note the request that is being answered: this one, unless it waits behind another."""
        super().on_headers_complete()
        if not self.pipeline:
            self._running = self.cycle

    def on_message_complete(self) -> None:
        """Note that the request is complete."""
        self._open = False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Continue with the next pipelined request, if any."""
        if self.pipeline:
            self._running = self.pipeline[-1][0]
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse an invalid request, but not in place of an answer that is still due."""
        if self._is_busy():
            self.transport.close()
        else:
            super().send_400_response(msg)

    def handle_websocket_upgrade(self) -> None:
        """Upgrade to a WebSocket, unless an answer is still due on this connection: it would be lost."""
        if self._is_busy():
            self.transport.close()
        else:
            super().handle_websocket_upgrade()

    def _is_busy(self) -> bool:
        return self._has_begun() and not self.cycle.response_complete

    def _look(self) -> None:
        # A complete request, or a WebSocket that took this connection over, is left alone.
        if self.transport.is_closing() or self.transport.get_protocol() is not self:
            return
        is_stuck = self._open and not self.pipeline and self._begun == self._seen
        if is_stuck or not self._has_begun():
            self.transport.abort()
            return
        self._seen = self._begun
        self.loop.call_later(SILENCE_SECONDS, self._look)

    def _has_begun(self) -> bool:
        begun: object = self.cycle
        return begun is not None


class AskConnection(HttpConnection):
    """A connection to the ask-only Unix socket."""

    ask_only = True


class SocketConnection(WebSocketsSansIOProtocol):
    """A WebSocket that is aborted when the peer does not answer a ping: its buffer would never drain."""

    def handle_connect(self, event: Request) -> None:
        """Accept longer frames on the run socket, so that its protocol can refuse them with a message."""
        if event.path.partition("?")[0] == RUNS:
            self.conn.max_message_size = LONGEST_RUN_FRAME
        super().handle_connect(event)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock of the last received byte."""
        self._heard_at = self.loop.time()
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Parse received bytes, and note that the peer is alive."""
        self._heard_at = self.loop.time()
        super().data_received(data)

    async def receive(self) -> ASGIReceiveEvent:
        """Return the next message; while it is handled, a pong behind it waits, so the clock restarts here."""
        message = await super().receive()
        self._heard_at = self.loop.time()
        return message

    def keepalive_timeout(self) -> None:
        """Abort a connection whose peer does not answer."""
        left = self._heard_at + (self.ping_timeout or 0.0) - self.loop.time()
        if left > 0:
            self.pong_timer = self.loop.call_later(left, self.keepalive_timeout)
            return
        super().keepalive_timeout()
        self.transport.abort()
