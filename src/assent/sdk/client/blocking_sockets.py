"""The daemon's WebSockets for synchronous code: each has an event loop in its own thread."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterable, AsyncIterator, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, Protocol, Self, TypeVar

from assent.runs.protocol.messages import DaemonMessage
from assent.sdk.client.inbox import InboxWords, Notice
from assent.sdk.client.requests import ApiRequest, Waits
from assent.sdk.client.runs import RunOrders

M = TypeVar("M")
T = TypeVar("T")
M_co = TypeVar("M_co", covariant=True)


class Awaited(AsyncIterable[M_co], Protocol[M_co]):
    """An async socket: send requests, and iterate over received messages."""

    async def send(self, request: Any, /) -> Any:
        """Send a request, and return its result."""


class Blocking(Waits, Generic[M]):
    """A socket for any thread: iterate over received messages; a method blocks until it is done."""

    def __init__(self, loop: asyncio.AbstractEventLoop, socket: Awaited[M]) -> None:
        self._loop = loop
        self._socket = socket

    @classmethod
    @contextlib.contextmanager
    def open(cls, opening: AbstractAsyncContextManager[Awaited[M]]) -> Iterator[Self]:
        """Open a socket, and close it at the end; raises as opening it does."""
        with _running_loop() as loop:
            socket = _wait(loop, opening.__aenter__())
            try:
                yield cls(loop, socket)
            finally:
                _wait(loop, opening.__aexit__(None, None, None))

    def send(self, request: ApiRequest[T]) -> T:
        """Send a request, and return its result."""
        given: T = _wait(self._loop, self._socket.send(request))
        return given

    def __iter__(self) -> Iterator[M]:
        heard = aiter(self._socket)
        while found := _wait(self._loop, _next(heard)):
            yield found[0]


class BlockingRuns(RunOrders, Blocking[DaemonMessage]):
    """The socket of the run protocol."""


class BlockingInbox(InboxWords, Blocking[Notice]):
    """The permission socket: receives questions, and sends answers."""


@contextlib.contextmanager
def _running_loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="assent-socket", daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _wait(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    future = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        return future.result()
    except BaseException:  # also what interrupts the waiting
        future.cancel()
        raise


async def _next(heard: AsyncIterator[M]) -> tuple[M] | None:
    try:
        return (await anext(heard),)
    except StopAsyncIteration:
        return None
