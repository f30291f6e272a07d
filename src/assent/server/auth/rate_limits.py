"""Rate limits: a token bucket for each name."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from assent.wire.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_BUCKETS = 10_000


class Rates:
    """Limits requests per name. A burst of two seconds' worth is accepted."""

    def __init__(self, rate: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, name: str) -> None:
        """Count one request, or refuse it with the time to wait."""
        if not self._rate:
            return
        now = self._clock()
        left, since = self._buckets.get(name, (2.0 * self._rate, now))
        left = min(left + (now - since) * self._rate, 2.0 * self._rate)
        if left < 1:
            raise Refusal(429, "Too many requests", retry_after=1)
        if name not in self._buckets and len(self._buckets) >= MOST_BUCKETS:
            del self._buckets[next(iter(self._buckets))]
        self._buckets[name] = (left - 1, now)
