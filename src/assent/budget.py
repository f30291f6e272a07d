"""How long reading and deciding one call may take, whatever it is.

What bounds the work is counted, so that a call means the same on every machine: commands, paths, patterns, names. This
is for what none of those counts foresaw. Who finds that it takes too long stops there and then, and the call is denied.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import TypeAlias

Clock: TypeAlias = Callable[[], float]
"""Tells how much processor time this thread has taken, in seconds."""

LIMIT = 0.05
"""Seconds for one call. What cannot be interrupted, such as the parser, comes on top of it."""
_EVERY = 16
"""Steps after which the clock is looked at, which itself takes a while: most calls are done by then."""


class TookTooLongError(Exception):
    """There is to be no more work for this call."""


class _Watch(threading.local):
    steps = _EVERY
    """Until the clock is looked at."""
    clock: Clock | None = None
    limit = LIMIT
    end = 0.0
    """When the time is up."""
    looked = False
    """The clock was looked at since it began."""
    paused = 0.0
    """When the interpreter began to look through all that it holds."""


_watch = _Watch()
_OLDEST = 2
"""What the interpreter calls everything, where it collects garbage."""


def start(clock: Clock | None, limit: float = LIMIT) -> None:
    """Begin to count for one call, in this thread; without a clock nothing is."""
    _watch.steps, _watch.clock, _watch.limit, _watch.looked = _EVERY, clock, limit, False
    if clock is not None:
        if _collecting not in gc.callbacks:
            gc.callbacks.append(_collecting)
        _watch.end = clock() + limit


def _collecting(phase: str, about: dict[str, int]) -> None:
    """Leave out what looking for garbage takes: how much a process holds is nothing that a call is to blame for."""
    if _watch.clock is None or about["generation"] != _OLDEST:
        return
    if phase == "start":
        _watch.paused = _watch.clock()
    else:
        _watch.end += _watch.clock() - _watch.paused


def stop() -> float:
    """End it, and return the seconds that are left of its time."""
    clock, _watch.clock = _watch.clock, None
    return _watch.limit if clock is None or not _watch.looked else max(0.0, _watch.end - clock())


def step(steps: int = 1) -> None:
    """Say that there is more to do: it may be once too often, and then raises `TookTooLongError`."""
    _watch.steps -= steps
    if _watch.steps < 0:
        check()


def loaded() -> None:
    """Say that something was made ready that a process needs once: no call is to blame for that, and it counts anew."""
    _watch.steps = _EVERY
    if _watch.clock is not None:
        _watch.end = _watch.clock() + _watch.limit


def check() -> None:
    """Look at the clock at once, before something that takes a while."""
    _watch.steps = _EVERY
    if _watch.clock is None:
        return
    _watch.looked = True
    if _watch.clock() > _watch.end:
        raise TookTooLongError("analysis exceeded 50 ms; split the command")
