"""A change made in a thread, which nothing can end from outside: who gives it up waits until it is out of the way."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from typing import Any, TypeVar

from assent.runs.tools.files import Check, ToolError

T = TypeVar("T")

GIVEN_UP_SECONDS = 10.0
"""How long what was given up may take to notice, before nobody waits for it any more: then its disk hangs."""


class FileTask:
    """One change. It asks `check` before it alters anything; from the moment that it is given up, that says no."""

    def __init__(self, check: Check) -> None:
        self._allowed = check
        self._given_up = threading.Event()
        self._future: Future[Any] | None = None

    @property
    def is_over(self) -> bool:
        """Tell whether nothing more can come of it."""
        return self._future is None or self._future.done()

    @property
    def is_done(self) -> bool:
        """Tell whether it came about."""
        future = self._future
        return future is not None and future.done() and not future.cancelled() and future.exception() is None

    def check(self) -> None:
        """Raise `ToolError` if it was given up, or whatever says that it may not be any more."""
        if self._given_up.is_set():
            raise ToolError("it was given up; nothing was changed")
        self._allowed()

    async def do(self, threads: Executor, work: Callable[[], T], seconds: float) -> T:
        """Do it; raises `ToolError` if it fails, or takes longer than this.

        Who is cancelled meanwhile goes on only when it has come about, or cannot any more.
        """
        self._future = future = threads.submit(work)
        over = _sign(future)
        try:
            await asyncio.wait((over,), timeout=seconds)
            if not over.done():
                await self._give_up(future, over)
        except asyncio.CancelledError:
            await self._give_up(future, over)
            raise
        if not self.is_over:
            raise ToolError(f"the disk has not answered for {seconds:.0f} seconds; it may yet be done")
        try:
            return future.result()
        except CancelledError:
            raise ToolError(f"its turn did not come within {seconds:.0f} seconds") from None
        except OSError as error:
            raise ToolError(error.strerror or type(error).__name__) from None

    async def _give_up(self, future: Future[T], over: asyncio.Future[None]) -> None:
        self._given_up.set()
        loop = asyncio.get_running_loop()
        end = loop.time() + GIVEN_UP_SECONDS
        while not future.cancel() and not over.done() and (left := end - loop.time()) > 0:
            with contextlib.suppress(asyncio.CancelledError):  # it was given up once, and that is being seen to
                await asyncio.wait((over,), timeout=left)


def _sign(future: Future[Any]) -> asyncio.Future[None]:
    """Return what is set on the loop when a thread is done."""
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()

    def ring(_done: Future[Any]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has closed
            loop.call_soon_threadsafe(over.set_result, None)

    future.add_done_callback(ring)
    return over
