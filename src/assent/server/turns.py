"""Questions of one turn of the loop: decided one after the other, recorded in one write, answered together.

Most calls need no more than a decision and its record, and whoever waits for one costs as much as deciding it. What
needs more (a person, a sandbox, a run) goes on by itself from what was decided here.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import msgspec

from assent.server.rulefiles import StillReadingError

if TYPE_CHECKING:
    from assent.gate import Ruling, Weighed
    from assent.model import Session, ToolCall
    from assent.server.app import App
    from assent.server.daemon import Daemon
    from assent.server.errands import Errand
    from assent.server.messages import Reply
    from assent.server.routes import AtOnce

_log = logging.getLogger(__name__)

GATHERING = 0.004
"""While some are being written down, who comes is gathered: until that is done, or for so many seconds …"""
MOST = 48
"""… or until there are so many, which is what one turn decides."""


class _Asked(msgspec.Struct, frozen=True, gc=False):
    """A question that was let in."""

    errand: Errand
    route: AtOnce
    call: ToolCall
    session: Session


class Turns:
    """Collects what comes in one turn of the loop."""

    def __init__(self, daemon: Daemon, app: App) -> None:
        self._daemon = daemon
        self._app = app
        self._errands: list[Errand] = []
        self._recording: set[asyncio.Task[None]] = set()
        self._gathering: asyncio.TimerHandle | None = None

    def take(self, errand: Errand) -> None:
        """Decide a question when all that has come is here."""
        self._errands.append(errand)
        count = len(self._errands)
        if count == 1 and self._recording:
            self._gathering = asyncio.get_running_loop().call_later(GATHERING, self._go)
        elif count == 1 or (count >= MOST and self._gathering is not None):
            self._go()

    def _go(self) -> None:
        """Decide next: not at once, since the turn may not be over in which the disk was last looked at."""
        if self._gathering is not None:
            self._gathering.cancel()
            self._gathering = None
        asyncio.get_running_loop().call_soon(self._decide)

    def _go_on_from(self, recorded: asyncio.Task[None]) -> None:
        """Decide who came meanwhile: what all of them need, such as a look at the disk or a commit, is done once."""
        self._recording.discard(recorded)
        if self._gathering is not None:
            self._go()

    def _decide(self) -> None:
        errands, self._errands = self._errands[:MOST], self._errands[MOST:]
        try:
            self._deal_with(errands)
        except BaseException:
            _drop(errands)
            raise
        finally:
            if self._errands:
                self._go()  # behind the end of this turn: who comes till then is not to hear what the disk said in it

    def _deal_with(self, errands: list[Errand]) -> None:
        """Take all questions one step further before the next step: what is at hand is soonest used again."""
        asked = [let_in for errand in errands if (let_in := self._read(errand)) is not None]
        found = self._daemon.gate.weigh([(each.call, each.session) for each in asked])
        weighed = list(zip(asked, found, strict=True))
        settled = [pair for pair in weighed if pair[1].settled]
        for each, open_still in weighed:
            if not open_still.settled:
                each.errand.follow(self._go_on(each, open_still))
        if settled:
            task = asyncio.get_running_loop().create_task(self._record(settled))
            self._recording.add(task)
            task.add_done_callback(self._go_on_from)

    def _read(self, errand: Errand) -> _Asked | None:
        """Find out what is asked; None if nothing is, or not rightly, which is answered."""
        route = errand.knock.route.at_once
        if route is None or errand.disconnected:
            return None
        try:
            request = self._app.admit(errand)
            return _Asked(errand, route, *route.read(self._daemon, request))
        except StillReadingError:
            errand.follow(self._app.answer(errand))
            return None
        except Exception as error:  # noqa: BLE001 - as for every request: no internals leave, and nothing is allowed
            self._refuse(errand, error)
            return None

    async def _go_on(self, asked: _Asked, weighed: Weighed) -> Reply:
        try:
            return self._write(asked, await self._daemon.gate.decide_weighed(weighed, prefix="hook"))
        except Exception as error:  # noqa: BLE001 - as above
            return self._app.fail(error, asked.errand.knock)

    async def _record(self, settled: list[tuple[_Asked, Weighed]]) -> None:
        try:
            rulings = await self._daemon.gate.record_all([weighed for _, weighed in settled])
            for (asked, _), ruling in zip(settled, rulings, strict=True):
                self._answer(asked, ruling)
        except BaseException:
            _drop([asked.errand for asked, _ in settled])
            raise

    def _answer(self, asked: _Asked, ruling: Ruling) -> None:
        try:
            answer = self._write(asked, ruling)
        except Exception as error:  # noqa: BLE001 - as above
            self._refuse(asked.errand, error)
        else:
            asked.errand.answer(answer)

    def _write(self, asked: _Asked, ruling: Ruling) -> Reply:
        self._daemon.metrics.count_decision(ruling.decision)
        return asked.route.write(ruling)

    def _refuse(self, errand: Errand, error: Exception) -> None:
        """Say no to one; where not even that can be done, hang up, and let the others have their answers."""
        try:
            answer = self._app.fail(error, errand.knock)
        except Exception:  # noqa: BLE001 - as it says
            errand.drop()
            _log.exception("a question could not be refused")
        else:
            errand.answer(answer)


def _drop(errands: list[Errand]) -> None:
    for errand in errands:
        errand.drop()
