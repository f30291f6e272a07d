"""The recent decisions that let calls run, found by the call's id or by its content."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING

import msgspec

from assent.model import ToolCall
from assent.model.canonical_json import digest

if TYPE_CHECKING:
    from assent.decisions.ruling import Ruling
    from assent.model import Session

_MOST_KEPT = 8192


class Ruled(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that let a call run."""

    position: int
    digest: str
    approval: str | None = None
    person: bool = False
    """A person said yes to it."""
    at: float = 0.0
    confirmed: bool = False
    """It has also answered the agent's own question about the call."""
    keys: tuple[tuple[str, ...], ...] = ()
    """What it is found by; what will run comes last."""


class RecentDecisions:
    """The recent decisions that let calls run. Older ones are looked up in the log."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, ...], Ruled] = OrderedDict()

    def keep(self, call: ToolCall, session: Session, ruling: Ruling) -> None:
        """Remember a decision by the call's id, and by what will run."""
        run = _what_runs(ruling, call)
        if run is None:
            self.take(call, session)
            return
        approval = ruling.approval
        ruled = Ruled(
            position=ruling.position,
            digest=ruling.decision.digest,
            approval=None if approval is None else approval.id,
            person=approval is not None,
            at=time.monotonic(),
            keys=tuple(keys_of(run, session)),
        )
        for key in ruled.keys:
            self._kept.pop(key, None)
            self._kept[key] = ruled
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)

    def confirm(self, call: ToolCall, session: Session, *, within: float) -> Ruled | None:
        """Return the decision that let this very input run, if it is no older than so many seconds; each once."""
        keys, oldest = keys_of(call, session), time.monotonic() - within
        for ruled in map(self._kept.get, keys):
            if ruled is not None and ruled.keys[-1] == keys[-1] and ruled.at >= oldest and not ruled.confirmed:
                for key in self._held(ruled):
                    self._kept[key] = msgspec.structs.replace(ruled, confirmed=True)
                return ruled
        return None

    def take(self, call: ToolCall, session: Session) -> Ruled | None:
        """Return the decision that let this call run, for good: what runs again is decided again."""
        found = map(self._kept.get, keys_of(call, session))
        ruled = next((ruled for ruled in found if ruled is not None), None)
        for key in () if ruled is None else self._held(ruled):
            del self._kept[key]
        return ruled

    def _held(self, ruled: Ruled) -> list[tuple[str, ...]]:
        return [key for key in ruled.keys if self._kept.get(key) == ruled]


def _what_runs(ruling: Ruling, call: ToolCall) -> ToolCall | None:
    """Return the call that was let run, if any. What may run inside alone is known by the line that does so."""
    outcome = ruling.decision.decision
    if outcome == "allow" or (outcome == "sandboxed" and ruling.is_rewritten):
        return call if ruling.updated_input is None else msgspec.structs.replace(call, input=ruling.updated_input)
    if outcome == "sandboxed" and ruling.sandboxed_input is not None:
        return msgspec.structs.replace(call, input=ruling.sandboxed_input, call_id=None)
    return None


def keys_of(call: ToolCall, session: Session) -> list[tuple[str, ...]]:
    """Return the keys of a call: its id where it has one, then its tool and input."""
    whose = (session.user, session.agent, session.id)
    what = digest(["assent.outcome.v1", call.tool, call.input])
    by_call = [(*whose, "call", call.call_id)] if call.call_id is not None else []
    return [*by_call, (*whose, "what", what)]
