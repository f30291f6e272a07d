"""Following the log: every record after a place, once, in order, and then those that come."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

from assent.audit.log import Log
from assent.audit.search import Query, Record, find, read_record
from assent.store.store import Store

LOOK_SECONDS = 1.0
"""How often to look for what other processes wrote; what this one writes is seen at once."""
_PAGE = 200


async def follow(store: Store, log: Log, query: Query, after: int = 0) -> AsyncGenerator[tuple[Record, ...]]:
    """Give the records that a query finds after a position, some at a time, and go on for ever.

    Positions become visible in their order, so nothing can appear before a place that was passed.
    """
    news, loop = asyncio.Event(), asyncio.get_running_loop()

    def ring() -> None:
        with contextlib.suppress(RuntimeError):  # the loop has closed
            loop.call_soon_threadsafe(news.set)

    stop = log.listen(ring)
    try:
        while True:
            news.clear()
            end = await last_position(store)
            while after < end:
                found = tuple(map(read_record, await store.query(find(query, after=after, limit=_PAGE))))
                last = found[-1].position if found else 0
                after = last if len(found) == _PAGE else max(end, last)
                if found:
                    yield found
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), LOOK_SECONDS)
    finally:
        stop()


async def last_position(store: Store) -> int:
    """Return where the log ends."""
    return int((await store.query("SELECT coalesce(max(position), 0) FROM events"))[0][0])
