"""What a decision relies on (grants, paths, files), and the denials that follow from an outcome."""

from __future__ import annotations

import msgspec

from assent.decisions.grants.file_binding import find_change
from assent.model import ASK, DENY, Answer, Approval, Decision, Opinion, Session, Source, State, digest
from assent.policy.open_asks import SAID_YES


def relied_on(decision: Decision) -> tuple[str, ...]:
    """Return the ids of the grants without which a decision would have been stricter."""
    named = {o.overruled for o in decision.opinions if o.overruled is not None}
    return tuple(sorted(name.removeprefix("grant ") for name in named if name.startswith("grant ")))


def places_of(decision: Decision) -> str:
    """Return a hash of the resolved paths of a call: an answer holds for these paths only.

    A shell command has none: a person answers its text, and its sandbox limits its paths.
    """
    if decision.reading.tool == "Bash":
        return ""
    return digest(["assent.places.v1", [(o.kind, o.resource, o.target) for o in decision.reading.operations]])


_BEYOND_RUN = ("run-workspace", "control-plane")


def leaves_run(decision: Decision, session: Session) -> bool:
    """Tell whether a call of a run asks for more than the run's sandbox lets commands do.

    That is: to use paths outside its workspace, or to write files that decide later what runs.
    """
    if not session.run:
        return False
    asks = [o for o in decision.opinions if o.verdict is ASK and o.overruled in (None, SAID_YES)]
    return any(o.policy in _BEYOND_RUN or (o.source is Source.PATH_POLICY and not session.confined) for o in asks)


def find_difference(answer: Answer | None, decision: Decision) -> str | None:
    """Return how a call differs from the approved one; None if it does not."""
    if answer is None or answer.places != places_of(decision):
        return "a path in it leads elsewhere"
    return find_change(answer.bound, decision.reading.bound)


def explain_repeat(decision: Decision, why: str) -> Decision:
    """Begin the reason of a question with why it is asked again."""
    reason = f"since the last approval, {why}; {decision.decision_reason}"
    return msgspec.structs.replace(decision, decision_reason=reason)


def deny_by_outcome(decision: Decision, approval: Approval | None) -> Decision:
    """Deny a call because of how its question ended: refused, cancelled or expired."""
    return _deny(decision, *_outcome(approval), approval=approval)


def deny_original(decision: Decision, approval: Approval) -> Decision:
    """Deny a call as it was asked about, because a person allowed a changed form of it."""
    reason = f"{approval.by} allowed a changed form of this call, and not this one"
    return _deny(decision, Source.PERSON, reason, approval=approval)


def deny_unreadable(decision: Decision, reason: str) -> Decision:
    """Deny an approved call whose files cannot be compared with those that were approved."""
    return _deny(decision, Source.ERROR, reason)


def deny_over_limit(decision: Decision, reason: str) -> Decision:
    """Deny a call because its agent already has too much pending."""
    return _deny(decision, Source.ERROR, reason, policy="limits")


def deny_unasked(decision: Decision) -> Decision:
    """Turn an ask that nobody will be asked into a denial."""
    return decision if decision.verdict is DENY else msgspec.structs.replace(decision, verdict=DENY)


def _deny(
    decision: Decision, source: Source, reason: str, *, policy: str = "person", approval: Approval | None = None
) -> Decision:
    opinion = Opinion(verdict=DENY, source=source, policy=policy, reason=reason)
    return msgspec.structs.replace(
        decision,
        verdict=DENY,
        decision_source=source,
        decision_reason=reason,
        approval_action_id=decision.approval_action_id if approval is None else approval.id,
        opinions=(*decision.opinions, opinion),
    )


def _outcome(approval: Approval | None) -> tuple[Source, str]:
    if approval is None or approval.state is State.CANCELLED:
        return Source.ERROR, f"request cancelled: {'' if approval is None else approval.by}"
    if approval.state is State.EXPIRED:
        return Source.EXPIRY, "nobody answered in time"
    feedback = approval.answer.feedback if approval.answer is not None else None
    return Source.PERSON, feedback or f"refused by {approval.by}"
