"""What became of a call, joined to the decision that let it run: by its id, or else by what was called."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import msgspec

from assent.analysis.tools.names import find_tool
from assent.audit.search import Query, find, read_record
from assent.decisions.call_summary import summarise
from assent.model import Event, Reading, Tier, ToolCall
from assent.model.canonical_json import digest

if TYPE_CHECKING:
    from assent.agents.hooks.messages import HookCall, OutcomeReport
    from assent.decisions.ruling import Ruling
    from assent.model import Session
    from assent.server.daemon import Daemon
    from assent.server.hooks.judge import Judged

_MOST_KEPT = 8192
_LOOK_BACK = 200
"""How many decisions of a session are looked through for one that is not in memory."""
_SHORT = 400


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


class Rulings:
    """The decisions of late that let calls run. What is not here is looked up in the log."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, ...], Ruled] = OrderedDict()

    def keep(self, judged: Judged) -> None:
        """Remember a decision by the call's id, and by what will run."""
        ruling, call = judged.ruling, judged.call
        run = _what_runs(ruling, call)
        if run is None:
            self.take(call, judged.session)
            return
        approval = ruling.approval
        ruled = Ruled(
            position=ruling.position,
            digest=ruling.decision.digest,
            approval=None if approval is None else approval.id,
            person=approval is not None,
            at=time.monotonic(),
            keys=tuple(_keys(run, judged.session)),
        )
        for key in ruled.keys:
            self._kept.pop(key, None)
            self._kept[key] = ruled
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)

    def confirm(self, call: ToolCall, session: Session, *, within: float) -> Ruled | None:
        """Return the decision that let this very input run, if it is no older than so many seconds; each once."""
        keys, oldest = _keys(call, session), time.monotonic() - within
        for ruled in map(self._kept.get, keys):
            if ruled is not None and ruled.keys[-1] == keys[-1] and ruled.at >= oldest and not ruled.confirmed:
                for key in self._held(ruled):
                    self._kept[key] = msgspec.structs.replace(ruled, confirmed=True)
                return ruled
        return None

    def take(self, call: ToolCall, session: Session) -> Ruled | None:
        """Return the decision that let this call run, for good: what runs again is decided again."""
        found = map(self._kept.get, _keys(call, session))
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


def _keys(call: ToolCall, session: Session) -> list[tuple[str, ...]]:
    whose = (session.user, session.agent, session.id)
    what = digest(["assent.outcome.v1", call.tool, call.input])
    by_call = [(*whose, "call", call.call_id)] if call.call_id is not None else []
    return [*by_call, (*whose, "what", what)]


async def record_outcome(daemon: Daemon, call: ToolCall, session: Session, asked: HookCall) -> None:
    """Write down what became of a call. One that no decision is known for is written down as just that."""
    ruled = await find_ruled(daemon, call, session)
    if asked.report is not None:
        report = asked.report
        if report.duration_ms is None and ruled is not None and ruled.at:
            # Where the agent does not say how long it took, the time since it was told yes will do.
            report = msgspec.structs.replace(report, duration_ms=int((time.monotonic() - ruled.at) * 1000))
        await daemon.log.record([_event(call, session, report, ruled)])
    if ruled is None:
        daemon.journal.note("warning", "call.undecided", agent=session.agent, session=session.id, tool=call.tool[:80])


async def find_ruled(daemon: Daemon, call: ToolCall, session: Session) -> Ruled | None:
    """Return the decision that let a call run, for good; None if none is known."""
    return daemon.rulings.take(call, session) or await _look_up(daemon, call, session)


async def _look_up(daemon: Daemon, call: ToolCall, session: Session) -> Ruled | None:
    """Find the decision in the log: the daemon may have been started since."""
    wanted = Query(type="permission.evaluated", session=session.id, user=session.user, agent=session.agent)
    wanted = msgspec.structs.replace(wanted, verdict="allow")
    same = daemon.decisions.preview(call, session).digest
    for row in await daemon.store.query(find(wanted, limit=_LOOK_BACK)):
        record = read_record(row)
        if (call.call_id is not None and record.event.tool_call_id == call.call_id) or record.digest == same:
            approval = record.approval
            return Ruled(position=record.position, digest=record.digest, approval=approval, person=approval is not None)
    return None


def _event(call: ToolCall, session: Session, report: OutcomeReport, ruled: Ruled | None) -> Event:
    tool = find_tool(call.tool).name
    # Another hook beside ours may have changed the call after it was decided.
    same = ruled is None or not ruled.keys or _keys(call, session)[-1] in ruled.keys
    reading = Reading(tool=tool, operations=(), tier=Tier.SAFE, reason="")
    payload: dict[str, Any] = {
        "user": session.user,
        "agent": session.agent,
        "tool": tool,
        "summary": f"{summarise(call, reading)[:_SHORT]} · {_tell(report, ruled, same=same)}",
        "digest": "" if ruled is None else ruled.digest,
        "decision": None if ruled is None else ruled.position,
        "durationMs": report.duration_ms,
        "error": report.error,
    }
    return Event(
        type="tool.failed" if report.failed else "tool.result",
        event_id="",
        timestamp="",
        session_id=session.id,
        sequence=0,
        tool_call_id=call.call_id,
        action_id=None if ruled is None else ruled.approval,
        trace_id=None if call.trace is None else call.trace.trace_id,
        span_id=None if call.trace is None else call.trace.span_id,
        payload={name: value for name, value in payload.items() if value is not None},
    )


def _tell(report: OutcomeReport, ruled: Ruled | None, *, same: bool) -> str:
    """Say in a few words what became of it; the last thing anyone should read past is what was never decided."""
    took = "" if report.duration_ms is None else f" in {report.duration_ms} ms"
    why = f": {report.error[:_SHORT]}" if report.error else ""
    known = ", without a decision that is known" if ruled is None else "" if same else ", but NOT as it was decided"
    return f"{'failed' if report.failed else 'ran'}{took}{why}{known}"
