"""Connections as uvicorn has them, knowing who is at the other end, what came before, and able to be cut off."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, cast

from uvicorn._types import ASGIReceiveEvent
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from assent.server.doors import Peer
from assent.server.errands import Errand, Heads, wire
from assent.server.listening import peer_uid
from assent.server.messages import reply

if TYPE_CHECKING:
    from assent.server.app import App, Knock
    from assent.server.messages import Scope

RUNS = "/ws"
LONGEST_RUN_FRAME = 4 << 20
SILENCE_SECONDS = 60.0
"""How long a connection may stay open without a request, or with half of one."""
LARGEST_HEAD = 64 << 10
"""How much may come of a request without any of its body."""
MOST_BEHIND = 8
"""How many requests may wait behind the one that is being answered: hardly anyone sends any, and each takes memory."""
_BLANK = b"\r\n\r\n"


class _TooManyError(Exception):
    """Ends the reading of what came."""


class HttpConnection(HttpToolsProtocol):
    """A connection that says who is at its other end, and is closed if nothing comes over it.

    A hook asks with the same head again and again. One that was taken apart before, letter by letter the same, with
    a body as long as it says and nothing behind it, is answered without being taken apart again.
    """

    ask_only = False
    _heads: Heads
    peer: Peer | None = None
    _begun = 0
    """How many requests began."""
    _open = False
    """One of them is not here whole."""
    _seen = 0
    """How many had begun when it was last looked at."""
    _headed = 0
    """How much came since the last of a body."""
    _rested: float | None = None
    """Since when nothing was asked, after a question whose head was known."""
    _running: RequestResponseCycle | Errand | None = None
    """The request that is being answered; behind it there may be others."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Find out who called."""
        super().connection_made(transport)
        state: dict[str, Any] = {"abort": transport.abort}
        raw = transport.get_extra_info("socket")
        if raw is not None and raw.family == socket.AF_UNIX:
            state["peer"] = self.peer = Peer(peer_uid(raw), self.ask_only)
        self.app_state = state
        self._heads = cast("App", self.app).heads[self.peer is not None]
        self.loop.call_later(SILENCE_SECONDS, self._look)
        if self.peer is not None and self.peer.is_somebody_else:
            answer = reply({"error": "Forbidden: this socket is its owner's alone"}, 403)
            transport.write(wire(answer, self.server_state.default_headers, close=True))
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the request that is being answered, which may not be the last one that came."""
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take in what comes."""
        end = data.find(_BLANK) + len(_BLANK)
        if self._open or self._is_busy() or end < len(_BLANK):
            self._feed(data)
            return
        head, length = data[:end], len(data) - end
        known = self._heads.find(head, length)
        if known is not None:
            self._run(known, data[end:])
            return
        begun = self._begun
        self._feed(data)
        if self._begun == begun + 1 and not self._open:
            self._heads.learn(head, length, cast("Scope", self.scope), cast("App", self.app))

    def _feed(self, data: bytes) -> None:
        self._headed += len(data)
        super().data_received(data)
        if not self._open:
            self._headed = 0
        elif self._headed > LARGEST_HEAD and not self.transport.is_closing():
            if not self._is_busy():
                answer = reply({"error": f"The head of the request is longer than {LARGEST_HEAD} bytes"}, 431)
                self.transport.write(wire(answer, self.server_state.default_headers, close=True))
            self.transport.close()

    def on_body(self, body: bytes) -> None:
        """Take in a part of a body: it is bounded where it is read."""
        self._headed = 0
        super().on_body(body)

    def on_message_begin(self) -> None:
        """Count a request; whoever sends ever more without waiting for answers is cut off."""
        if len(self.pipeline) >= MOST_BEHIND:
            raise _TooManyError
        self._begun += 1
        self._open = True
        super().on_message_begin()

    def on_message_complete(self) -> None:
        """Know that it is here whole."""
        self._open = False
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request; but not in the place of an answer that is still due."""
        if self._is_busy():
            self.transport.close()
        else:
            super().send_400_response(msg)

    def handle_websocket_upgrade(self) -> None:
        """Become a WebSocket, unless somebody still waits for an answer over this connection: that would be lost."""
        if self._is_busy():
            self.transport.close()
        else:
            super().handle_websocket_upgrade()

    def _run(self, known: Knock, body: bytes) -> None:
        self._unset_keepalive_if_required()
        self._rested = None
        errand = self._running = Errand(self, known, body)
        self.cycle = cast("Any", errand)
        cast("App", self.app).take(errand)

    def rest(self) -> None:
        """Go on after an answer as uvicorn does, but without a timer for each: who asks often seldom rests for long."""
        if self.pipeline or self.transport.is_closing():
            self.on_response_complete()
            return
        self.server_state.total_requests += 1
        self.flow.resume_reading()
        self._rested = self.loop.time()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Do some work for this connection, which the daemon waits for before it stops."""
        task = self.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def _is_busy(self) -> bool:
        return self._has_begun() and not self.cycle.response_complete

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        self._rested = None
        super()._start_asgi_task(cycle, app)

    def _look(self) -> None:
        # A request that is here whole, or a socket that took this connection over, is left alone.
        if self.transport.is_closing() or self.transport.get_protocol() is not self:
            return
        is_stuck = self._open and not self.pipeline and self._begun == self._seen
        rested = self._rested is not None and self.loop.time() - self._rested >= self.timeout_keep_alive
        if is_stuck or not self._has_begun() or (rested and not self._open and not self._is_busy()):
            self.transport.abort()
            return
        self._seen = self._begun
        self.loop.call_later(SILENCE_SECONDS, self._look)

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
