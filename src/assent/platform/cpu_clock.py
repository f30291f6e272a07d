"""How much processor time this thread has taken, told often and cheaply.

The kernel's own answer takes longer than much of what is measured by it. Between two of them, no more can have been
taken than passed on the wall, so that is added: what is told is off by a few milliseconds at most.
"""

from __future__ import annotations

import threading
import time

EXACT = 0.004
"""Seconds after which the kernel is asked again."""


class _Asked(threading.local):
    at = float("-inf")
    spent = 0.0


_asked = _Asked()


def processor_time() -> float:
    """Return the seconds of processor time that this thread has taken, or up to `EXACT` more."""
    now = time.perf_counter()
    passed = now - _asked.at
    if passed < EXACT:
        return _asked.spent + passed
    _asked.at, _asked.spent = now, time.thread_time()
    return _asked.spent
