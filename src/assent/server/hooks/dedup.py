"""One call that two hooks announce, because an agent is connected for its user and for the project: one decision."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from assent.server.hooks.judge import place

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from assent.agents.hooks.messages import HookAnswer, HookCall
    from assent.server.daemon import Daemon
    from assent.server.http.messages import Request


async def answer_once(
    daemon: Daemon, request: Request, asked: HookCall, decide: Callable[[], Awaitable[HookAnswer]]
) -> HookAnswer:
    """Decide a call, or join the decision on the same call that another token of the same agent brought.

    A token never joins its own announcement: what it announces twice is two calls. Where the two tokens give a call
    different rights, or another workspace, the calls differ, and each is decided.
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
    first = daemon.announced_calls.join(key, request.who.token)
    if first is not None:
        answer = await daemon.hold(request, _wait_for(first.answer))
        if answer is not None:
            return answer
    return await daemon.announced_calls.lead(key, request.who.token, decide)


async def _wait_for(answer: asyncio.Future[HookAnswer | None]) -> HookAnswer | None:
    return await asyncio.shield(answer)
