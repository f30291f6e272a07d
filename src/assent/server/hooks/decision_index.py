"""Outcomes of calls, joined to the decision that let each run: by the call's id, else by its tool and input."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from assent.analysis.tools.names import find_tool
from assent.audit.search import Query, find, read_record
from assent.decisions.call_summary import summarise
from assent.model import Event, Reading, Tier, ToolCall
from assent.server.state.recent_decisions import Ruled, keys_of

if TYPE_CHECKING:
    from assent.agents.hooks.messages import HookCall, OutcomeReport
    from assent.model import Session
    from assent.server.daemon import Daemon

_LOOK_BACK = 200
"""How many decisions of a session are looked through for one that is not in memory."""
_SHORT = 400


async def record_outcome(daemon: Daemon, call: ToolCall, session: Session, asked: HookCall) -> None:
    """Record the outcome of a call, also of one without a known decision."""
    ruled = await find_ruled(daemon, call, session)
    if asked.report is not None:
        report = asked.report
        if report.duration_ms is None and ruled is not None and ruled.at:
            # Without a duration from the agent, the time since the allow is used.
            report = msgspec.structs.replace(report, duration_ms=int((time.monotonic() - ruled.at) * 1000))
        await daemon.log.record([_event(call, session, report, ruled)])
    if ruled is None:
        daemon.journal.note("warning", "call.undecided", agent=session.agent, session=session.id, tool=call.tool[:80])


async def find_ruled(daemon: Daemon, call: ToolCall, session: Session) -> Ruled | None:
    """Return the decision that let a call run, and forget it; None if none is known."""
    return daemon.recent_decisions.take(call, session) or await _look_up(daemon, call, session)


async def _look_up(daemon: Daemon, call: ToolCall, session: Session) -> Ruled | None:
    """Find the decision in the log: the daemon may have been restarted since."""
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
    # Another hook may have changed the call after it was decided.
    same = ruled is None or not ruled.keys or keys_of(call, session)[-1] in ruled.keys
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
    """Describe the outcome in a few words, and at the end whether the call was decided."""
    took = "" if report.duration_ms is None else f" in {report.duration_ms} ms"
    why = f": {report.error[:_SHORT]}" if report.error else ""
    known = ", without a decision that is known" if ruled is None else "" if same else ", but NOT as it was decided"
    return f"{'failed' if report.failed else 'ran'}{took}{why}{known}"
