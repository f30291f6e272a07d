"""`GET /api/runtime/permission_state`: what holds now. What is not known is `unknown`, never guessed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal

import msgspec

from assent.audit.search import Query, find, read_record
from assent.model import ASK, DENY, Event, Grant, Verdict
from assent.model.principal import Role
from assent.sandbox.linux.mechanisms import probe
from assent.sandbox.trial_run import find_fault
from assent.server.api.permissions import may_see
from assent.server.http.messages import Request, reply
from assent.wire.runtime import LayerFact, PendingAction, PermissionState, RuleFact, SandboxState
from assent.wire.timestamps import millis

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.model import Approval, Policy
    from assent.model.principal import Principal
    from assent.server.daemon import Daemon

_event = msgspec.json.Decoder(Event)


async def show_state(daemon: Daemon, request: Request) -> Response:
    """Show what holds, for a session or a folder."""
    query, who = request.query, request.who
    session = query.get("sessionId") or None
    project = daemon.projects.policy_of(query.get("cwd", "") if who.role is not Role.AGENT or not who.remote else "")
    merged = project.engine.merged
    state = PermissionState(
        mode=merged.modes[0],
        modes=tuple(merged.modes),
        interactive=await _is_interactive(daemon, who, session, declared=merged.interactive),
        policy_version=merged.version,
        policy_sources=merged.sources,
        layers=tuple(_layer(policy) for policy in project.found.policies),
        rules=tuple(rule for policy in project.found.policies for rule in _rules(policy)),
        pending_actions=await _pending(daemon, who, session),
        grants=await _grants(daemon, who, session),
        sandbox=await asyncio.to_thread(_sandbox),
        fault=project.fault,
    )
    return reply(state)


def _layer(policy: Policy) -> LayerFact:
    return LayerFact(policy.layer.value, policy.file, policy.mode, policy.trusted, policy.version)


def _rules(policy: Policy) -> list[RuleFact]:
    lists = ((DENY, policy.deny), (ASK, policy.ask), (Verdict.ALLOW, policy.allow))
    return [RuleFact(rule.text, effect, rule.ref, rule.reason) for effect, rules in lists for rule in rules]


async def _is_interactive(
    daemon: Daemon, who: Principal, session: str | None, *, declared: bool
) -> bool | Literal["unknown"]:
    """Tell whether somebody can be asked: what was declared for the session's last decision, or by the token."""
    if not declared or who.interactive is False:
        return False
    if who.role is Role.AGENT and session is None:
        return True
    if session is None:
        return "unknown"
    wanted = Query(type="permission.evaluated", session=session, user=_user_of(who))
    rows = await daemon.store.query(find(wanted, limit=1))
    decision = _event.decode(read_record(rows[0]).body).permission_decision if rows else None
    return "unknown" if decision is None else decision.interactive


def _user_of(who: Principal) -> str | None:
    return None if who.role is Role.ADMIN else who.user


async def _pending(daemon: Daemon, who: Principal, session: str | None) -> tuple[PendingAction, ...]:
    found: list[PendingAction] = []
    cursor: str | None = None
    while True:
        page, cursor = await daemon.approvals.list(user=_user_of(who), limit=1000, cursor=cursor)
        found += [_action(a) for a in page if session in (None, a.session.id) and may_see(who, a)]
        if cursor is None:
            return tuple(found)


def _action(approval: Approval) -> PendingAction:
    expires = millis(approval.expires_at)
    return PendingAction(approval.id, approval.session.id, approval.call_id, approval.tool, approval.reason, expires)


async def _grants(daemon: Daemon, who: Principal, session: str | None) -> tuple[Grant, ...]:
    if who.role is Role.AGENT:
        return ()
    found = await daemon.approvals.grants(user=_user_of(who))
    return tuple(g for g in found if session is None or g.session in (None, session))


def _sandbox() -> SandboxState:
    machine = probe()
    mechanisms = msgspec.to_builtins(machine.mechanisms())
    if machine.missing or machine.bubblewrap is None:
        return SandboxState("unavailable", mechanisms, machine.missing)
    if (fault := find_fault(())) is not None:
        return SandboxState("unavailable", mechanisms, (fault,))
    return SandboxState("available", mechanisms)
