"""`GET /api/refs/{ref}`: what an event refers to. Every ref on the wire leads somewhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from assent.audit.search import Query, Record, find, read_record
from assent.decisions.ticket_rows import find_ticket
from assent.model import Event
from assent.model.principal import Role
from assent.server.api.permissions import describe, may_see
from assent.server.http.messages import Request, reply
from assent.wire.refusal import Refusal
from assent.wire.runtime import Ref

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.model.principal import Principal
    from assent.server.daemon import Daemon

_EVENT = re.compile(r"evt_(\w{1,64})_(\d{1,18})(?:\.1)?")
_STOPPED = re.compile(r"evt_[0-9a-f]{24}")
_RULE = re.compile(r"(.{1,5000}) @ (managed|user|project|run)(?: (.{1,5000}?)(?::(\d+))?)?", re.DOTALL)
_LOOK_BACK = 1000
"""How many boundaries are looked through for an environment."""
_event = msgspec.json.Decoder(Event)


async def show_ref(daemon: Daemon, request: Request) -> Response:
    """Resolve a ref, if the reader may see what it leads to."""
    ref, who = request.path_params["ref"], request.who
    found = await resolve(daemon, who, ref)
    if found is None:
        raise Refusal(404, "Ref not found")
    return reply(found)


async def resolve(daemon: Daemon, who: Principal, ref: str) -> Ref | None:
    """Return what a ref stands for; None if there is no such thing, or not for this reader."""
    if match := _EVENT.fullmatch(ref):
        return await _find_event(daemon, who, ref, match[1], int(match[2]))
    if ref.startswith("environment:"):
        return await _find_environment(daemon, who, ref)
    if _STOPPED.fullmatch(ref):
        return await _find_stopped(daemon, who, ref)
    if ref.startswith("ticket:"):
        return await _find_ticket(daemon, who, ref)
    approval = await daemon.approvals.get(ref.removeprefix("input:"))
    if approval is not None and may_see(who, approval):
        if ref.startswith("input:"):
            about = {"actionId": approval.id, "digest": approval.digest, "summary": approval.summary}
            return Ref(ref, "input", {**about, "content": "deleted when it was used"})
        return Ref(ref, "action", msgspec.to_builtins(describe(approval)))
    if match := _RULE.fullmatch(ref):
        return _find_rule(daemon, ref, match)
    return None


def _find_rule(daemon: Daemon, ref: str, match: re.Match[str]) -> Ref:
    rule, layer, file, line = match.groups()
    policies = daemon.projects.policy_of().found.policies
    known = {r.ref for p in policies for r in (*p.allow, *p.ask, *p.deny)}
    value = {"rule": rule, "layer": layer, "file": file or "", "line": int(line or 0)}
    # A project's rules hold in its folder, which a ref does not name.
    in_force: bool | str = ref in known if layer in ("managed", "user") else "unknown"
    return Ref(ref, "rule", {**value, "inForce": in_force})


def _may_read(who: Principal, record: Record) -> bool:
    return who.role is Role.ADMIN or (record.user == who.user and who.role is Role.USER)


async def _find_event(daemon: Daemon, who: Principal, ref: str, writer: str, seq: int) -> Ref | None:
    # A record's position is never less than its number, and seldom much more.
    sql = "SELECT position FROM events WHERE position >= :seq AND writer = :writer AND seq = :seq"
    rows = await daemon.store.query(f"{sql} ORDER BY position LIMIT 1", {"writer": writer, "seq": seq})
    for (position,) in rows:
        found = await daemon.store.query(find(Query(), after=position - 1, limit=1))
        record = read_record(found[0])
        if _may_read(who, record):
            return Ref(ref, "event", msgspec.json.decode(record.body))
    return None


async def _find_environment(daemon: Daemon, who: Principal, ref: str) -> Ref | None:
    rows = await daemon.store.query(find(Query(type="sandbox.applied"), limit=_LOOK_BACK))
    for record in map(read_record, rows):
        profile = _event.decode(record.body).sandbox_profile
        if profile is not None and profile.environment_ref == ref and _may_read(who, record):
            return Ref(ref, "environment", {"names": profile.environment})
    return None


async def _find_stopped(daemon: Daemon, who: Principal, ref: str) -> Ref | None:
    """Find what a sandbox stopped: whoever set it up named it, before the log knew."""
    rows = await daemon.store.query(find(Query(type="sandbox.violation"), limit=_LOOK_BACK))
    for record in map(read_record, rows):
        if _event.decode(record.body).event_id == ref and _may_read(who, record):
            return Ref(ref, "event", msgspec.json.decode(record.body))
    return None


async def _find_ticket(daemon: Daemon, who: Principal, ref: str) -> Ref | None:
    ticket = await find_ticket(daemon.store, ref.removeprefix("ticket:"))
    if ticket is None or (who.role is not Role.ADMIN and who.user != ticket.session.user):
        return None
    times = {"expiresAt": ticket.expires_at, "usedAt": ticket.used_at, "endedAt": ticket.ended_at}
    stopped = [violation.words for violation in ticket.stopped]
    return Ref(ref, "ticket", {"digest": ticket.digest, "profile": ticket.boundary.name, **times, "stopped": stopped})
