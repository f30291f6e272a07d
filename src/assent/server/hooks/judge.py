"""Decide a hook's call, and wait for a person where the caller waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from assent.agents.hooks.messages import HookAnswer
from assent.decisions.ruling import Ruling
from assent.model import NotFoundError, Session, ToolCall
from assent.server.hooks.answers import answer_of
from assent.server.hooks.calls import place_call
from assent.server.http.messages import read_seconds
from assent.wire.refusal import Refusal

if TYPE_CHECKING:
    from assent.agents.hooks.messages import HookCall
    from assent.server.daemon import Daemon
    from assent.server.http.messages import Request


class Judged(msgspec.Struct, frozen=True):
    """A hook's call and its ruling."""

    call: ToolCall
    session: Session
    ruling: Ruling
    waited: bool = False

    @property
    def answer(self) -> HookAnswer:
        """Return the answer for the caller."""
        return answer_of(self.ruling, waited=self.waited)


def place(daemon: Daemon, request: Request, asked: HookCall) -> tuple[ToolCall, Session]:
    """Return a hook's call with its session."""
    call, session = place_call(
        asked, request.who, daemon.projects, session_workspaces=daemon.session_workspaces, headers=request.fields
    )
    try:
        return daemon.runs.place(request.who, call, session)
    except NotFoundError as error:
        raise Refusal(403, f"Forbidden: {error}") from None


async def judge(daemon: Daemon, request: Request, asked: HookCall) -> Judged:
    """Decide a hook's call, and wait for a person as long as the caller said."""
    call, session = place(daemon, request, asked)
    wait = read_seconds(request.query, "wait", high=daemon.settings.wait) if request.scope["query_string"] else 0.0
    if not wait:
        ruling = await daemon.decisions.decide(call, session, prefix="hook")
    else:
        ruling = await daemon.settle(request, call, session, wait)
    daemon.metrics.count_decision(ruling.decision, session.user)
    return Judged(call, session, ruling, waited=wait > 0)
