"""What a decision rests on, and what an outcome makes of it."""

from __future__ import annotations

import msgspec

from assent.decisions.grants.file_binding import find_change
from assent.model import ASK, DENY, Answer, Approval, Decision, Opinion, Session, Source, State, digest
from assent.policy.open_asks import SAID_YES


def relied_on(decision: Decision) -> tuple[str, ...]:
    """Return the ids of the grants without which a decision would have been stricter."""
    named = {o.overruled for o in decision.opinions if o.overruled is not None}
    return tuple(sorted(name.removeprefix("grant ") for name in named if name.startswith("grant ")))


def turn_down(decision: Decision, approval: Approval | None) -> Decision:
    """Turn an ask into the denial that its outcome is."""
    source, reason = _outcome(approval)
    opinion = Opinion(verdict=DENY, source=source, policy="person", reason=reason)
    return msgspec.structs.replace(
        decision,
        verdict=DENY,
        decision_source=source,
        decision_reason=reason,
        approval_action_id=None if approval is None else approval.id,
        opinions=(*decision.opinions, opinion),
    )


def places_of(decision: Decision) -> str:
    """Return a hash of where the paths of a call lead: what a person says of it is for no other places.

    A line of shell is asked about as a line: where its paths lead is its sandbox's business.
    """
    if decision.reading.tool == "Bash":
        return ""
    return digest(["assent.places.v1", [(o.kind, o.resource, o.target) for o in decision.reading.operations]])


_BEYOND = ("run-workspace", "control-plane")


def leaves_run(decision: Decision, session: Session) -> bool:
    """Tell whether a call of a run would do what its sandbox keeps commands from, by an ask that was put.

    That is: touch what lies outside its workspace, or write what decides later what runs.
    """
    if not session.run:
        return False
    asks = [o for o in decision.opinions if o.verdict is ASK and o.overruled in (None, SAID_YES)]
    return any(o.policy in _BEYOND or (o.source is Source.PATH_POLICY and not session.confined) for o in asks)


def find_difference(answer: Answer | None, decision: Decision) -> str | None:
    """Say in what a call differs from the one that was said yes to; None if in nothing."""
    if answer is None or answer.places != places_of(decision):
        return "a path in it leads elsewhere"
    return find_change(answer.bound, decision.reading.bound)


def refuse_unseen(decision: Decision, reason: str) -> Decision:
    """Turn an allow into the denial of a call of which nobody can tell whether it still is what was approved."""
    opinion = Opinion(verdict=DENY, source=Source.ERROR, policy="person", reason=reason)
    return msgspec.structs.replace(
        decision,
        verdict=DENY,
        decision_source=Source.ERROR,
        decision_reason=reason,
        opinions=(*decision.opinions, opinion),
    )


def refuse_changed(decision: Decision, approval: Approval) -> Decision:
    """Turn an ask into the denial of a call of which a person allowed a changed form."""
    reason = f"{approval.by} allowed a changed form of this call, and not this one"
    opinion = Opinion(verdict=DENY, source=Source.PERSON, policy="person", reason=reason)
    return msgspec.structs.replace(
        decision,
        verdict=DENY,
        decision_source=Source.PERSON,
        decision_reason=reason,
        approval_action_id=approval.id,
        opinions=(*decision.opinions, opinion),
    )


def refuse_unasked(decision: Decision, reason: str) -> Decision:
    """Turn an ask into the denial of a call that nobody can be asked about now."""
    opinion = Opinion(verdict=DENY, source=Source.ERROR, policy="limits", reason=reason)
    return msgspec.structs.replace(
        decision,
        verdict=DENY,
        decision_source=Source.ERROR,
        decision_reason=reason,
        opinions=(*decision.opinions, opinion),
    )


def ask_again(decision: Decision, why: str) -> Decision:
    """Say in a question why it is put once more."""
    reason = f"since the last approval, {why}; {decision.decision_reason}"
    return msgspec.structs.replace(decision, decision_reason=reason)


def _outcome(approval: Approval | None) -> tuple[Source, str]:
    if approval is None or approval.state is State.CANCELLED:
        return Source.ERROR, f"the question was withdrawn: {'' if approval is None else approval.by}"
    if approval.state is State.EXPIRED:
        return Source.EXPIRY, "nobody answered in time"
    feedback = approval.answer.feedback if approval.answer is not None else None
    return Source.PERSON, feedback or f"refused by {approval.by}"


def strict(decision: Decision) -> Decision:
    """Leave no ask that nobody will be asked."""
    return decision if decision.verdict is DENY else msgspec.structs.replace(decision, verdict=DENY)
