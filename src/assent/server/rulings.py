"""A ruling → what its caller is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assent.agents.hook import HookAnswer
from assent.model import State

if TYPE_CHECKING:
    from assent.gate import Ruling

_HEADINGS = {State.REJECTED: "Rejected", State.EXPIRED: "Expired", State.CANCELLED: "Cancelled"}


def answer_of(ruling: Ruling, *, waited: bool = False) -> HookAnswer:
    """Say whether the call may run now, and if not, why, or what it waits for."""
    decision = ruling.decision
    outcome = decision.decision
    allow = outcome == "allow"
    return HookAnswer(
        allow=allow,
        reason=_reason(ruling, waited=waited),
        tier=decision.reading.tier,
        request_id=ruling.approval.id if outcome == "ask" and ruling.approval is not None else None,
        updated_input=ruling.updated_input if allow else None,
        feedback=_feedback(ruling),
    )


def _reason(ruling: Ruling, *, waited: bool) -> str:
    decision, approval = ruling.decision, ruling.approval
    reason = decision.decision_reason
    match decision.decision:
        case "allow":
            return reason
        case "ask":
            later = f"; waiting for approval {approval.id}; repeat the same call" if waited and approval else ""
            return f"Queued for approval: {reason}{later}"
        case "sandboxed" | "unavailable":
            name = decision.boundary.name if decision.boundary is not None else ""
            return f"Blocked: it may only run inside the sandbox profile {name}: {reason}"
        case "deny":
            return f"{_heading(ruling)}: {reason}"


def _heading(ruling: Ruling) -> str:
    state = ruling.approval.state if ruling.approval is not None else State.PENDING
    return _HEADINGS.get(state, "Blocked")


def _feedback(ruling: Ruling) -> str | None:
    approval = ruling.approval
    return approval.answer.feedback if approval is not None and approval.answer is not None else None
