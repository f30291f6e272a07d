"""Evaluating policy by what people said: standing answers, a yes to this very call, and what a sandbox stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import msgspec

from assent.decisions.grants.active_grants import Standing
from assent.decisions.grants.from_answer import binds
from assent.decisions.grants.reliance import relied_on
from assent.decisions.ticket_rows import find_stopped
from assent.model import ALLOW, Approval, Consent, Decision, Mode, Opinion, Session, Ticket, Tier, ToolCall
from assent.store.store import Store


class Decider(Protocol):
    """What decides a call: an engine, or an engine with the guards of a run."""

    def decide(
        self, call: ToolCall, session: Session, consent: Consent = ..., /, *, heard: Sequence[Opinion] = ()
    ) -> Decision:
        """Decide one call. Never raises: a fault is a denial."""


Engines: TypeAlias = Callable[[ToolCall, Session], Decider]
"""Finds what decides a call: by its folder, without a disk where the session is remote, or by its run."""


class Evaluator(msgspec.Struct, frozen=True):
    """Evaluates policy for a call, by everything that people have said."""

    engines: Engines
    store: Store
    standing: Standing

    def consent(self, session: Session) -> Consent:
        """Return what people said that may bear on a session's calls."""
        return self.standing.consent(session, self.store.wall_clock())

    def evaluate(
        self, call: ToolCall, session: Session, consent: Consent | None = None, heard: Sequence[Opinion] = ()
    ) -> tuple[Consent, Decision]:
        """Decide by what people said, leaving out every grant that was given for other programs or places."""
        engine = self.engines(call, session)
        consent = self.consent(session) if consent is None else consent
        while True:
            decision = engine.decide(call, session, consent, heard=heard)
            if not consent.grants:
                return consent, decision
            relied = relied_on(decision) if decision.verdict is ALLOW else ()
            kept = tuple(g for g in consent.grants if g.id not in relied or binds(g, decision, session))
            if len(kept) == len(consent.grants):
                return consent, decision
            consent = msgspec.structs.replace(consent, grants=kept)

    async def decide(self, call: ToolCall, session: Session, heard: Sequence[Opinion] = ()) -> tuple[Consent, Decision]:
        """Decide a call; one that its sandbox stopped a while ago as one that would run outside."""
        consent, decision = self.evaluate(call, session, heard=heard)
        stopped = await self._find_stopped(decision)
        return self.evaluate(call, session, _with(consent, stopped), heard) if stopped else (consent, decision)

    def evaluate_approved(
        self,
        call: ToolCall,
        session: Session,
        approval: Approval,
        heard: Sequence[Opinion] = (),
        stopped: str = "",
    ) -> Decision:
        """Evaluate policy once more, with the person's yes. Who saw a destructive call has enabled it by saying yes."""
        consent = self.consent(session)
        seen = consent.destructive or approval.tier is Tier.DESTRUCTIVE
        consent = msgspec.structs.replace(consent, yes=True, destructive=seen, stopped=stopped)
        decision = self.engines(call, session).decide(call, session, consent, heard=heard)
        scope = None if approval.answer is None else approval.answer.scope
        return msgspec.structs.replace(decision, approval_action_id=approval.id, scope=scope)

    async def release(
        self, call: ToolCall, session: Session, approval: Approval, heard: Sequence[Opinion] = ()
    ) -> Decision:
        """Do so for the call that the question was about: inside its sandbox, or outside where it was stopped there."""
        decision = self.evaluate_approved(call, session, approval, heard)
        stopped = await self._find_stopped(decision)
        return self.evaluate_approved(call, session, approval, heard, stopped) if stopped else decision

    def holds(self, ticket: Ticket) -> Decision | None:
        """Evaluate policy once more for a ticket's call; None unless it still is what the ticket says."""
        if ticket.call is None:
            return None
        approved = ticket.approval is not None
        consent = msgspec.structs.replace(self.consent(ticket.session), yes=approved, destructive=approved)
        decision = self.evaluate(ticket.call, ticket.session, consent)[1]
        return decision if decision.decision == "sandboxed" and decision.digest == ticket.digest else None

    async def _find_stopped(self, decision: Decision) -> str:
        """Say what a sandbox stopped, where the mode asks about that."""
        if decision.boundary is None or decision.mode is not Mode.ON_FAILURE:
            return ""
        found = await find_stopped(self.store, decision.digest)
        return found[0].words + (f", and {len(found) - 1} more" if len(found) > 1 else "") if found else ""


def _with(consent: Consent, stopped: str) -> Consent:
    return msgspec.structs.replace(consent, stopped=stopped)
