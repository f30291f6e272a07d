"""Turn a ruling into the answer for a hook."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import msgspec

from assent.agents.hooks.messages import HookAnswer
from assent.analysis.tools.names import find_tool
from assent.model import State
from assent.policy.guard import command_text
from assent.sandbox.redeem.command_line import find_line
from assent.wire.tier_prefix import with_tier

if TYPE_CHECKING:
    from assent.decisions.ruling import Ruling

_HEADINGS = {State.REJECTED: "Rejected", State.EXPIRED: "Expired", State.CANCELLED: "Cancelled"}


def answer_of(ruling: Ruling, *, waited: bool = False, tiered: bool = False) -> HookAnswer:
    """Return whether the call may run now, and if not, why, or what it waits for. `tiered`: name the tier first."""
    decision = ruling.decision
    outcome = decision.decision
    allow = outcome == "allow" or (outcome == "sandboxed" and ruling.is_rewritten)
    return HookAnswer(
        allow=allow,
        reason=_reason(ruling, waited=waited, tiered=tiered),
        tier=decision.reading.tier,
        request_id=ruling.approval.id if outcome == "ask" and ruling.approval is not None else None,
        updated_input=ruling.updated_input if allow else None,
        instead=ruling.sandboxed_input,
        feedback=_feedback(ruling),
    )


def _reason(ruling: Ruling, *, waited: bool, tiered: bool) -> str:
    decision, approval = ruling.decision, ruling.approval
    reason = with_tier(decision.decision_reason, decision) if tiered else decision.decision_reason
    match decision.decision:
        case "allow":
            return reason
        case "ask":
            later = f"; waiting for approval {approval.id}; repeat the same call" if waited and approval else ""
            return f"Queued for approval: {reason}{later}"
        case "sandboxed" if ruling.is_rewritten:
            return reason
        case "sandboxed" | "unavailable":
            name = decision.boundary.name if decision.boundary is not None else ""
            lacking = "" if decision.available else ", which cannot be set up here"
            return f"Blocked: it may only run inside the sandbox profile {name}{lacking}: {reason}{_way_in(ruling)}"
        case "deny":
            return f"{_heading(ruling)}: {reason}{tell_change(ruling)}"


def _way_in(ruling: Ruling) -> str:
    """Return the command that the model can run instead."""
    line = None if ruling.ticket is None else find_line(ruling.ticket.call) if ruling.ticket.call else None
    given = None if line is None or ruling.sandboxed_input is None else ruling.sandboxed_input[line.field]
    return "" if given is None else f". Run this instead: {given if isinstance(given, str) else shlex.join(given)}"


def tell_change(ruling: Ruling) -> str:
    """Describe the changed call that a person allowed, for a caller that does not run a changed input itself."""
    changed = ruling.changed_call
    if changed is None:
        return ""
    line = command_text(changed) if find_tool(changed.tool).shape == "command" else ""
    if not line:
        return f". Make this call instead: {msgspec.json.encode(changed.input).decode()}"
    return f". Run this instead: {line}"


def _heading(ruling: Ruling) -> str:
    state = ruling.approval.state if ruling.approval is not None else State.PENDING
    return _HEADINGS.get(state, "Blocked")


def _feedback(ruling: Ruling) -> str | None:
    approval = ruling.approval
    return approval.answer.feedback if approval is not None and approval.answer is not None else None
