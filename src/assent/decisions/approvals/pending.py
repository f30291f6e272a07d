"""A call that needs a person's answer, and the question that is made of it."""

from __future__ import annotations

import msgspec

from assent.audit.entry import LogEntry
from assent.audit.masking import Mask
from assent.decisions.call_summary import secrets_of, summarise
from assent.decisions.request import DecisionRequest
from assent.model import ASK, Approval, Decision, Enablement, QuestionKind, State, visible


class PendingCall(msgspec.Struct, frozen=True):
    """A call that a person must decide."""

    request: DecisionRequest
    decision: Decision
    enablement: Enablement | None = None
    """What a person enabled for this one destructive call. Opening a question uses it up."""
    denial: Decision | None = None
    """The decision if there is neither a question about the call nor an answer to one; None: open a question."""
    proposal: str = ""
    """The pattern that a wider yes could name."""

    @property
    def kind(self) -> QuestionKind:
        """Tell a plain question from one that overrides an earlier refusal."""
        refused = any(o.verdict is ASK and "-deny-" in o.policy for o in self.decision.opinions)
        return "policy-deny-override" if refused and self.request.call.override else "ask"

    def make_question(self, approval_id: str, now: float, expiry: float, mask: Mask) -> Approval:
        """Return the question to a person, with secrets masked."""
        call, session, decision = self.request.call, self.request.session, self.decision
        expires = now + expiry if call.deadline is None else max(now, min(now + expiry, call.deadline))
        summary = summarise(call, decision.reading)
        veil = mask.veil([summary, decision.decision_reason], call.input, secrets_of(call))
        return Approval(
            id=approval_id,
            state=State.PENDING,
            user=session.user,
            agent=session.agent,
            session=session,
            call=call,
            call_id=call.call_id,
            tool=call.tool,
            digest=decision.digest,
            tier=decision.reading.tier,
            reason=visible(veil.text(decision.decision_reason)),
            summary=visible(veil.text(summary)),
            decision=msgspec.structs.replace(decision, proposal=self.proposal),
            kind=self.kind,
            created_at=now,
            expires_at=expires,
            caller_gone=not self.request.waiting,
        )


class AskResult(msgspec.Struct, frozen=True):
    """The outcome of asking: an answer that was already there (then there is no entry), or a recorded decision."""

    decision: Decision
    approval: Approval | None
    entry: LogEntry | None = None
