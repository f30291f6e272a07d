"""Run asyncio work so that Ctrl-C interrupts it at once."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_until_done(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine; Ctrl-C cancels it and raises `KeyboardInterrupt` once it has ended."""
    return asyncio.run(_with_signal_handler(work))


async def _with_signal_handler(work: Coroutine[Any, Any, T]) -> T:
    # Python handles a signal at its next bytecode. One that arrives as the loop goes to sleep would wait for the next
    # event, unless the loop itself handles signals.
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler) and handler is not signal.default_int_handler:  # else it is ignored, or not handled in Python
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, handler, signal.SIGINT, None)
    return await work
