"""What was decided and stopped, counted by the hour. The log only grows, so that nothing in it is counted twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from assent.audit.follow import last_position

if TYPE_CHECKING:
    from assent.store.store import Store

HOUR = 3600
STEP = 50_000
"""How many records are counted at once."""
_COUNT = """
SELECT {hour}, user_id, CASE WHEN type = 'sandbox.violation' THEN 'violation' ELSE verdict END, count(*), min(at)
FROM events WHERE position > :after AND position <= :upto
    AND (type = 'sandbox.violation' OR (type = 'permission.evaluated' AND source <> 'person'))
GROUP BY 1, 2, 3
"""
_HOURS = {"sqlite": "CAST(at / 3600.0 AS INTEGER)", "postgresql": "floor(at / 3600.0)"}


class HourlyCounts:
    """Counts of one log, each record looked at once, as far back as anybody wanted to see."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sql = _COUNT.replace("{hour}", _HOURS[store.address.engine])
        self._counts: Counter[tuple[int, str, str]] = Counter()
        self._first = self._last = -1
        self._oldest = float("inf")
        self._turn = asyncio.Lock()

    async def count(self, since: float, user: str | None) -> Counter[tuple[int, str]]:
        """Return how often each verdict was given since a time, and how much was stopped, by hours since 1970.

        `since` is the beginning of an hour. What a person's answer released was counted when it was asked about.
        """
        async with self._turn:
            await self._cover(since)
        found: Counter[tuple[int, str]] = Counter()
        for (hour, whose, what), count in self._counts.items():
            if hour * HOUR >= since and user in (None, whose):
                found[hour, what] += count
        return found

    async def _cover(self, since: float) -> None:
        end = await last_position(self._store)
        if self._first < 0:
            self._first = self._last = end
        while self._last < end:
            upto = min(end, self._last + STEP)
            await self._add(self._last, upto)
            self._last = upto
        while self._first > 0 and self._oldest >= since:
            after = max(0, self._first - STEP)
            self._oldest = min(self._oldest, await self._add(after, self._first))
            self._first = after

    async def _add(self, after: int, upto: int) -> float:
        """Count some records, and return when the oldest of them was written."""
        between = {"after": after, "upto": upto}
        rows = await self._store.query(self._sql, between)
        for hour, user, what, count, _ in rows:
            self._counts[int(hour), user, what] += count
        return min((row[4] for row in rows), default=float("inf"))
