"""`GET /api/runtime/evidence/{sessionId}`: all that is on record of a session, to be checked without the daemon."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from assent.audit.entry import format_time
from assent.audit.evidence_bundle import FORMAT, gather_chain, sign_bundle
from assent.audit.search import Query, Record, find, read_record
from assent.model import Event
from assent.model.principal import Role
from assent.server.http.messages import Request, reply
from assent.server.runtime.refs import resolve
from assent.server.runtime.stream import Narrator
from assent.wire.refusal import Refusal

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.model.principal import Principal
    from assent.server.daemon import Daemon
    from assent.wire.runtime_events import Envelope

MOST_RECORDS = 20_000
_event = msgspec.json.Decoder(Event)
_FAMILIES = ("permission", "sandbox", "process", "tool", "action", "hook")


async def export_evidence(daemon: Daemon, request: Request) -> Response:
    """Export a session, signed."""
    session, who = request.path_params["sessionId"], request.who
    records = await _find(daemon, who, session)
    if not records:
        raise Refusal(404, "There is nothing on record of that session")
    evidence_id = f"evidence_{session}_{records[-1].position}"
    await daemon.log.record([_exported(evidence_id, session, records[-1], who)])
    await daemon.log.seal()
    if daemon.log.fault is not None:
        raise Refusal(409, f"Nothing is exported as evidence: {daemon.log.fault}; run `assent audit verify`")
    narrator = Narrator(daemon.store, daemon.log.writer)
    timeline = [told.envelope for told in await narrator.tell(records)]
    bundle = {
        "format": FORMAT,
        "evidenceId": evidence_id,
        "sessionId": session,
        "runtime": {"runtimeId": daemon.log.writer, "version": daemon.version},
        "exportedAt": format_time(time.time()),
        "exportedBy": who.user,
        "summary": _summarise(records, timeline),
        "status": _statuses(records, timeline),
        "timeline": timeline,
        "toolCalls": _tool_calls(timeline),
        "failures": [e.event_id for e in timeline if e.type.endswith((".failed", ".error", ".violation"))],
        "refs": await _resolve_all(daemon, who, timeline),
        "chain": await gather_chain(daemon.store, records),
    }
    return reply(sign_bundle(daemon.log, bundle))


def _exported(evidence_id: str, session: str, last: Record, who: Principal) -> Event:
    """Say that somebody took a copy of all that is on record of a session."""
    payload = {"user": last.user, "agent": last.agent, "summary": f"exported for {who.user}", "by": who.user}
    event = Event(type="evidence.changed", event_id="", timestamp="", session_id=session, sequence=0)
    return msgspec.structs.replace(event, evidence_id=evidence_id, thread_id=session, payload=payload)


async def _find(daemon: Daemon, who: Principal, session: str) -> tuple[Record, ...]:
    query = Query(session=session, user=None if who.role is Role.ADMIN else who.user)
    rows = await daemon.store.query(find(query, after=0, limit=MOST_RECORDS + 1))
    if len(rows) > MOST_RECORDS:
        raise Refusal(413, f"The session has more than {MOST_RECORDS} records; use `assent audit export`")
    return tuple(map(read_record, rows))


def _summarise(records: tuple[Record, ...], timeline: list[Envelope]) -> dict[str, Any]:
    decided = Counter(
        e.permission_decision.decision for e in timeline if e.type == "permission.evaluated" and e.permission_decision
    )
    return {
        "records": len(records),
        "events": len(timeline),
        "first": format_time(records[0].at),
        "last": format_time(records[-1].at),
        "users": sorted({r.user for r in records}),
        "agents": sorted({r.agent for r in records}),
        "types": dict(Counter(e.type for e in timeline)),
        "decisions": dict(decided),
    }


def _statuses(records: tuple[Record, ...], timeline: list[Envelope]) -> dict[str, str]:
    """Say of each family of events whether it is here, was not needed, or cannot be tied to its call."""
    # An envelope of a tool always names a call, if need be one that was made up: only the record tells.
    loose = any(r.type.startswith("tool.") and not _event.decode(r.body).tool_call_id for r in records)
    statuses = {}
    for family in _FAMILIES:
        there = any(e.type.startswith(f"{family}.") for e in timeline)
        statuses[family] = "exported" if there else "not_applicable"
    statuses |= {"tool": "missing_correlation"} if loose else {}
    if statuses["sandbox"] == "not_applicable":
        statuses["sandbox"] = _missing_sandbox(timeline)
    return statuses | {"transcript": "unsupported"}


def _missing_sandbox(timeline: list[Envelope]) -> str:
    """Say why there is nothing of a sandbox: it was not told of, cannot be had, or was not due."""
    decided = {e.permission_decision.decision for e in timeline if e.permission_decision is not None}
    if "sandboxed" in decided:
        return "missing_correlation"
    return "unsupported" if "unavailable" in decided else "not_applicable"


def _tool_calls(timeline: list[Envelope]) -> list[dict[str, Any]]:
    """Gather what belongs to each call."""
    calls: dict[str, dict[str, Any]] = {}
    for event in timeline:
        if event.tool_call_id is None:
            continue
        call = calls.setdefault(
            event.tool_call_id, {"toolCallId": event.tool_call_id, "events": [], "status": "decided"}
        )
        call["events"].append(event.event_id)
        call["toolName"] = event.payload.get("tool") or call.get("toolName", "")
        if event.type == "permission.evaluated" and event.permission_decision is not None:
            call["decision"] = event.permission_decision.decision
        if event.type in ("tool.started", "tool.result", "tool.failed"):
            call["status"] = event.type.partition(".")[2]
    return list(calls.values())


async def _resolve_all(daemon: Daemon, who: Principal, timeline: list[Envelope]) -> dict[str, Any]:
    refs = dict.fromkeys(ref for event in timeline for ref in event.refs.all)
    found = {ref: await resolve(daemon, who, ref) for ref in refs}
    return {ref: msgspec.to_builtins(value) if value is not None else None for ref, value in found.items()}
