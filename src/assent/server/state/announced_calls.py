"""Calls that a hook has announced, so that a second hook for the same call gets the same answer."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from assent.agents.hooks.messages import HookAnswer
from assent.model import Mode, Session

Key: TypeAlias = tuple[str, Mode | None, bool, bool, str | None, str, Session]

_STILL_THE_SAME = 10.0
"""For how many seconds after its answer a call can be announced by the other hook."""
_MOST_KEPT = 4096


class Announced:
    """A call that one hook has announced."""

    def __init__(self, token: str) -> None:
        self.tokens = {token}
        self.answer: asyncio.Future[HookAnswer | None] = asyncio.get_running_loop().create_future()
        self.until = float("inf")


class AnnouncedCalls:
    """Recent calls, by their session and content."""

    def __init__(self) -> None:
        self._announced: OrderedDict[Key, Announced] = OrderedDict()

    def join(self, key: Key, token: str) -> Announced | None:
        """Return the same call as another token announced it, if that is recent enough to be the same call."""
        first = self._announced.get(key)
        if first is None or token in first.tokens or time.monotonic() > first.until:
            return None
        first.tokens.add(token)
        return first

    async def lead(self, key: Key, token: str, decide: Callable[[], Awaitable[HookAnswer]]) -> HookAnswer:
        """Announce a call, decide it, and give the answer to whoever joined."""
        mine = self._announced[key] = Announced(token)
        self._announced.move_to_end(key)
        while len(self._announced) > _MOST_KEPT:
            self._announced.popitem(last=False)
        answer: HookAnswer | None = None
        try:
            answer = await decide()
            return answer
        finally:
            mine.until = time.monotonic() + _STILL_THE_SAME
            if not mine.answer.done():
                mine.answer.set_result(answer)
            if answer is None and self._announced.get(key) is mine:
                del self._announced[key]
