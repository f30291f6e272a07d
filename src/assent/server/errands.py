"""Requests that came before, by their heads, and how one is answered that need not be taken apart again.

Hooks ask the same way each time: the same path, the same token, the same few headers. What such a head means was found
out when it came first, by the parser and at the door. Who its token belongs to is looked up each time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import HEADER_VALUE_RE, STATUS_LINE

from assent.server.messages import Message, Reply

if TYPE_CHECKING:
    from assent.server.app import App, Knock
    from assent.server.connections import HttpConnection
    from assent.server.doors import Peer
    from assent.server.messages import Scope

_log = logging.getLogger(__name__)

MOST_HEADS = 1024
LONGEST_HEAD = 4096
HOOK_HEADERS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
"""For answers that no browser shows."""
_PLAIN = b"".join(b"%b: %b\r\n" % pair for pair in HOOK_HEADERS)
_TELLING = frozenset({b"transfer-encoding", b"connection", b"keep-alive", b"upgrade", b"expect", b"te", b"trailer"})
"""Headers that say more about the request than what is in it."""


class Heads:
    """The heads of hooks' questions, letter by letter, with the length of the body that they promise."""

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[int, Knock]] = {}

    def find(self, head: bytes, length: int) -> Knock | None:
        """Return what a head means, if it came before and its body is here whole, with nothing behind it."""
        known = self._known.get(head)
        return known[1] if known is not None and known[0] == length else None

    def learn(self, head: bytes, length: int, scope: Scope, app: App) -> None:
        """Remember a head that was just taken apart as the only request in what came."""
        headers = dict(scope["headers"])
        if len(head) > LONGEST_HEAD or scope["http_version"] != "1.1" or scope["method"] != "POST":
            return
        if not _TELLING.isdisjoint(headers) or headers.get(b"content-length") != b"%d" % length:
            return
        knock = app.know(scope)
        if knock is None:
            return
        if len(self._known) >= MOST_HEADS:
            self._known.clear()
        self._known[head] = (length, knock)


class Errand:
    """A question whose head is known, on its way, with as much of a request as uvicorn asks about."""

    __slots__ = ("_connection", "_left", "body", "disconnected", "keep_alive", "knock", "response_complete")

    def __init__(self, connection: HttpConnection, knock: Knock, body: bytes) -> None:
        self._connection = connection
        self.knock = knock
        self.body = body
        self.response_complete = False
        self.disconnected = False
        self.keep_alive = True
        self._left: asyncio.Future[None] | None = None

    @property
    def peer(self) -> Peer | None:
        """Return who is at the other end, where that is known."""
        return self._connection.peer

    @property
    def message_event(self) -> Errand:
        """Return what is set when the caller hangs up."""
        return self

    def set(self) -> None:
        """Note that something happened."""
        if self._left is not None and not self._left.done():
            self._left.set_result(None)

    async def receive(self) -> Message:
        """Wait until the caller hangs up: there is nothing else to come."""
        if not (self.disconnected or self.response_complete):
            self._left = self._left or asyncio.get_running_loop().create_future()
            await asyncio.shield(self._left)
        return {"type": "http.disconnect"}

    def follow(self, work: Coroutine[Any, Any, Reply | None]) -> None:
        """Answer with what some work comes to, once it does; with nothing if it is None."""
        self._connection.spawn(self._follow(work))

    async def _follow(self, work: Coroutine[Any, Any, Reply | None]) -> None:
        try:
            answer = await work
            await self._drain()
        except BaseException:
            self.drop()
            raise
        if answer is not None:
            self._send(answer)

    def answer(self, answer: Reply) -> None:
        """Send an answer, at once where the caller reads; what goes wrong with it ends this connection alone."""
        if self._connection.flow.write_paused:
            self.follow(_given(answer))
        else:
            self._send(answer)

    def drop(self) -> None:
        """Hang up on who has no answer yet: no answer is no yes, and better than none for ever."""
        if not self.response_complete:
            self._connection.transport.close()

    async def _drain(self) -> None:
        if self._connection.flow.write_paused and not self.disconnected:
            await self._connection.flow.drain()

    def _send(self, answer: Reply) -> None:
        connection = self._connection
        if self.disconnected or connection.transport.is_closing():
            return
        try:
            default = connection.server_state.default_headers
            connection.transport.write(wire(answer, default, close=not self.keep_alive))
            self.response_complete = True
            if not self.keep_alive:
                connection.transport.close()
            connection.rest()
        except Exception:  # noqa: BLE001 - whoever asked gets no answer, and no answer is no yes
            connection.transport.close()
            _log.exception("an answer could not be sent")


async def _given(answer: Reply) -> Reply:
    return answer


def wire(answer: Reply, default: list[tuple[bytes, bytes]], *, close: bool) -> bytes:
    """Write down an answer that no browser shows, as it is sent."""
    pairs = (*default, *answer.headers) if answer.headers else default
    more = b"".join([b"%b: %b\r\n" % _checked(pair) for pair in pairs])
    end = b"connection: close\r\n\r\n" if close else b"\r\n"
    status = STATUS_LINE[answer.status]
    head = b"%bcontent-type: %b\r\ncontent-length: %d\r\n" % (status, answer.kind, len(answer.body))
    return b"".join((head, _PLAIN, more, end, answer.body))


def _checked(pair: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    if HEADER_VALUE_RE.search(pair[1]):
        raise ValueError(f"the header {pair[0].decode()} can not be sent")
    return pair
