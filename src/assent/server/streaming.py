"""Sending a stream: until its reader hangs up, the daemon stops, or who reads may no longer see it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from assent.server.sse import BEAT_SECONDS

if TYPE_CHECKING:
    from assent.server.daemon import Daemon
    from assent.server.messages import Request, Send, Stream


class Streaming:
    """One stream to one reader."""

    def __init__(self, daemon: Daemon, request: Request, stream: Stream) -> None:
        self._daemon = daemon
        self._request = request
        self._stream = stream

    async def send(self, send: Send, headers: tuple[tuple[bytes, bytes], ...]) -> None:
        """Send everything, at the speed of the reader, and a sign of life where nothing comes."""
        started = [(b"content-type", self._stream.kind), (b"x-accel-buffering", b"no"), *self._stream.headers, *headers]
        await send({"type": "http.response.start", "status": 200, "headers": started})
        if self._request.method != "HEAD":
            with contextlib.suppress(OSError):
                await self._send_pieces(send)
        await send({"type": "http.response.body", "body": b""})

    async def _send_pieces(self, send: Send) -> None:
        with self._daemon.visits.stay(self._request.principal) as ended:
            await self._send_until(send, (self._daemon.closing, ended))

    async def _send_until(self, send: Send, ends: tuple[asyncio.Future[None], ...]) -> None:
        pieces = self._stream.pieces
        leaving = asyncio.ensure_future(self._request.left())
        waiting: asyncio.Future[bytes] = asyncio.ensure_future(anext(pieces))
        try:
            while True:
                events: tuple[asyncio.Future[Any], ...] = (waiting, leaving, *ends)
                await asyncio.wait(events, timeout=BEAT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                if leaving.done() or any(end.done() for end in ends) or not self._is_welcome():
                    return
                piece = self._stream.alive
                if waiting.done():
                    piece = waiting.result()
                    waiting = asyncio.ensure_future(anext(pieces))
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        except StopAsyncIteration:
            return
        finally:
            for task in (leaving, waiting):
                task.cancel()
            await asyncio.gather(leaving, waiting, return_exceptions=True)
            await pieces.aclose()

    def _is_welcome(self) -> bool:
        """Tell whether the token that opened the stream is still good."""
        who = self._request.principal
        return who is None or self._daemon.keys.is_good(who)
