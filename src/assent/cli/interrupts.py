"""Work that is interrupted when somebody says so, and not only when something else happens too."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_until_done(work: Coroutine[Any, Any, T]) -> T:
    """Run some work to its end; an interrupt cancels it, and is raised as `KeyboardInterrupt` once it has ended."""
    return asyncio.run(_heed(work))


async def _heed(work: Coroutine[Any, Any, T]) -> T:
    # Python notes a signal and heeds it at its next step. One that comes as the loop goes to sleep would wait for
    # whatever wakes the loop next, unless the loop itself is told of signals.
    heed = signal.getsignal(signal.SIGINT)
    if callable(heed) and heed is not signal.default_int_handler:  # else it is ignored, or nobody's to hear here
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, heed, signal.SIGINT, None)
    return await work
