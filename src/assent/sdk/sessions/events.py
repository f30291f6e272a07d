"""The events of a session, in order: a follower receives each once, and notices when some are gone."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

MOST_KEPT = 10_000
"""How many events of a session can be read again."""


class Feed:
    """The events of one session. Their ids name this feed too: those of another one say nothing here."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._mark = secrets.token_hex(4)
        self._events: deque[tuple[int, dict[str, Any]]] = deque(maxlen=most)
        self._last = 0
        self._lock = threading.Lock()
        self._followers: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}

    @property
    def last(self) -> str:
        """Return the id of the last event."""
        return f"{self._mark}-{self._last}"

    @property
    def is_followed(self) -> bool:
        """Tell whether anybody reads it now."""
        return bool(self._followers)

    def put(self, kind: str, **fields: Any) -> None:
        """Add an event, from any thread; what is None is left out."""
        event = {"type": kind, **fields}
        if None in fields.values():
            event = {name: value for name, value in event.items() if value is not None}
        with self._lock:
            self._last += 1
            self._events.append((self._last, event))
            followers = tuple(self._followers.items()) if self._followers else ()
        for news, loop in followers:
            try:
                loop.call_soon_threadsafe(news.set)
            except RuntimeError:  # its loop has closed
                self._followers.pop(news, None)

    async def follow(self, after: str | None = None) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        """Go through the events after one, then through those that come. An id of another feed is the beginning."""
        seen = self._place(after)
        news = asyncio.Event()
        self._followers[news] = asyncio.get_running_loop()
        try:
            while True:
                news.clear()
                with self._lock:
                    fresh = [(number, event) for number, event in self._events if number > seen]
                if seen and fresh and (lost := fresh[0][0] - seen - 1):
                    told = f"{lost} events of this session came too fast for this reader, and are no longer kept"
                    yield f"{self._mark}-{fresh[0][0] - 1}", {"type": "error", "message": told}
                for number, event in fresh:
                    seen = number
                    yield f"{self._mark}-{number}", event
                if not fresh:
                    await news.wait()
        finally:
            self._followers.pop(news, None)

    def _place(self, after: str | None) -> int:
        mark, _, number = (after or "").partition("-")
        return int(number) if mark == self._mark and number.isascii() and number.isdigit() else 0
