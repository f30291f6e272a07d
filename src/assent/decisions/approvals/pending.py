"""A call on its way to a person, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from assent.audit.entry import LogEntry
from assent.audit.masking import Mask
from assent.decisions.call_summary import secrets_of, summarise
from assent.model import (
    ASK,
    Approval,
    Decision,
    Enablement,
    Event,
    Opinion,
    QuestionKind,
    Session,
    State,
    ToolCall,
    visible,
)

Then: TypeAlias = Callable[[ToolCall], tuple[Event | LogEntry, ...]]


class Aside(msgspec.Struct, frozen=True):
    """What a host says along with a call."""

    heard: tuple[Opinion, ...] = ()
    """What a tool's own check or a hook said about this very input; none of it can loosen."""
    then: Then = lambda _: ()
    """Says of the call that runs, which a person may have changed, what is written right after its allow, in the same
    transaction: that it runs."""
    unbound: bool = False
    """Whoever runs it can set up no boundary: where one is demanded nothing runs, and `then` is not written."""

    def after(self, decision: Decision, call: ToolCall) -> tuple[Event | LogEntry, ...]:
        """Return what follows a decision to let a call run."""
        runs = decision.available and not (self.unbound and decision.boundary is not None)
        return self.then(call) if runs else ()


NOTHING_ASIDE = Aside()


class PendingCall(msgspec.Struct, frozen=True):
    """A call that a person must decide."""

    call: ToolCall
    session: Session
    decision: Decision
    prefix: str
    waiting: bool
    aside: Aside = NOTHING_ASIDE
    enablement: Enablement | None = None
    again: str = ""
    """Why an earlier yes to the same call no longer counts."""
    proposal: str = ""
    """What a wider yes could name."""
    denial: Decision | None = None
    """What holds unless a question about the call, or its answer, is there."""

    @property
    def kind(self) -> QuestionKind:
        """Tell a plain question from one that is to override an earlier refusal."""
        refused = any(o.verdict is ASK and "-deny-" in o.policy for o in self.decision.opinions)
        return "policy-deny-override" if refused and self.call.override else "ask"

    def make_question(self, approval_id: str, now: float, expiry: float, mask: Mask) -> Approval:
        """Draw up the question to a person."""
        call, session, decision = self.call, self.session, self.decision
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
            tool=self.call.tool,
            digest=decision.digest,
            tier=decision.reading.tier,
            reason=visible(veil.text(decision.decision_reason)),
            summary=visible(veil.text(summary)),
            decision=msgspec.structs.replace(decision, proposal=self.proposal),
            kind=self.kind,
            created_at=now,
            expires_at=expires,
            caller_gone=not self.waiting,
        )


class Put(msgspec.Struct, frozen=True):
    """What became of a question: settled before (no entry), or recorded."""

    decision: Decision
    approval: Approval | None
    entry: LogEntry | None = None
