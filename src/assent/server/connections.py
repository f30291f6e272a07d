"""Connections as uvicorn has them, knowing who is at the other end and able to be cut off."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from uvicorn._types import ASGIReceiveEvent
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from assent.server.doors import Peer
from assent.server.listening import peer_uid

RUNS = "/ws"
LONGEST_RUN_FRAME = 4 << 20
SILENCE_SECONDS = 60.0
"""How long a connection may stay open without a request."""


class HttpConnection(HttpToolsProtocol):
    """A connection that says who is at its other end, and is closed if nothing comes over it."""

    ask_only = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Find out who called."""
        super().connection_made(transport)
        state: dict[str, Any] = {"abort": transport.abort}
        raw = transport.get_extra_info("socket")
        if raw is not None and raw.family == socket.AF_UNIX:
            state["peer"] = Peer(peer_uid(raw), self.ask_only)
        self.app_state = state
        self.loop.call_later(SILENCE_SECONDS, self._give_up)

    def _give_up(self) -> None:
        # A request under way, or a socket that took this connection over, is left alone.
        if not self._has_begun() and self.transport.get_protocol() is self:
            self.transport.abort()

    def _has_begun(self) -> bool:
        begun: object = self.cycle
        return begun is not None


class AskConnection(HttpConnection):
    """A connection to the socket that is for asking alone."""

    ask_only = True


class SocketConnection(WebSocketsSansIOProtocol):
    """A WebSocket that is cut off when it does not even answer a ping: its buffer would never drain."""

    def handle_connect(self, event: Request) -> None:
        """Let a client of the run protocol send a frame that is too long, and hear that it is."""
        if event.path.partition("?")[0] == RUNS:
            self.conn.max_message_size = LONGEST_RUN_FRAME
        super().handle_connect(event)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to listen."""
        self._heard_at = self.loop.time()
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Take in what comes: whoever sends something is there."""
        self._heard_at = self.loop.time()
        super().data_received(data)

    async def receive(self) -> ASGIReceiveEvent:
        """Take the next message: until it was obeyed, what came behind it, an answer to a ping too, had to wait."""
        message = await super().receive()
        self._heard_at = self.loop.time()
        return message

    def keepalive_timeout(self) -> None:
        """Give up on a peer that is not there."""
        left = self._heard_at + (self.ping_timeout or 0.0) - self.loop.time()
        if left > 0:
            self.pong_timer = self.loop.call_later(left, self.keepalive_timeout)
            return
        super().keepalive_timeout()
        self.transport.abort()
