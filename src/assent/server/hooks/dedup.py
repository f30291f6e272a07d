"""One call that two hooks announce, because an agent is wired up for its user and for the project: one decision."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from assent.agents.hooks.messages import HookAnswer
from assent.model import Mode, Session
from assent.server.hooks.judge import place

if TYPE_CHECKING:
    from assent.agents.hooks.messages import HookCall
    from assent.server.daemon import Daemon
    from assent.server.http.messages import Request

Key: TypeAlias = tuple[str, Mode | None, bool, bool, str | None, str, Session]

_STILL_THE_SAME = 10.0
"""For how many seconds after its answer a call can be announced by the other hook."""
_MOST_KEPT = 4096


class _Announced:
    """A call that one hook has announced."""

    def __init__(self, token: str) -> None:
        self.tokens = {token}
        self.answer: asyncio.Future[HookAnswer | None] = asyncio.get_running_loop().create_future()
        self.until = float("inf")


class Twins:
    """The calls of late, by who makes them and what they are."""

    def __init__(self) -> None:
        self._announced: OrderedDict[Key, _Announced] = OrderedDict()

    async def answer(
        self, daemon: Daemon, request: Request, asked: HookCall, decide: Callable[[], Awaitable[HookAnswer]]
    ) -> HookAnswer:
        """Decide a call, or join the decision on the same call that another token of the same agent brought.

        The same token never joins itself: what it announces twice is two calls. Where the two tokens give a call
        different rights, or another workspace, it is not the same one, and each is decided.
        """
        call, session = place(daemon, request, asked)
        key = (
            asked.event,
            asked.reported,
            "observe" in request.query,
            call.rewritable,
            call.call_id,
            call.digest,
            session,
        )
        first = self._join(key, request.who.token)
        if first is not None:
            answer = await daemon.hold(request, _heard(first))
            if answer is not None:
                return answer
        return await self._lead(key, request.who.token, decide)

    def _join(self, key: Key, token: str) -> _Announced | None:
        first = self._announced.get(key)
        if first is None or token in first.tokens or time.monotonic() > first.until:
            return None
        first.tokens.add(token)
        return first

    async def _lead(self, key: Key, token: str, decide: Callable[[], Awaitable[HookAnswer]]) -> HookAnswer:
        mine = self._announced[key] = _Announced(token)
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


async def _heard(first: _Announced) -> HookAnswer | None:
    return await asyncio.shield(first.answer)
