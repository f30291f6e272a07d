"""Evaluate policy with everything that people said: grants, a yes to this call, and what a sandbox stopped before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import msgspec

from assent.decisions.grants.active_grants import ActiveGrants
from assent.decisions.grants.from_answer import matches_files
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
"""Find the decider of a call: by its working directory, without disk access for a remote session, or by its run."""


class Evaluator(msgspec.Struct, frozen=True):
    """Evaluates policy for a call, with the grants and enablements of its user."""

    engines: Engines
    store: Store
    active_grants: ActiveGrants

    def consent(self, session: Session) -> Consent:
        """Return the grants and enablements that may apply to a session's calls."""
        return self.active_grants.consent(session, self.store.wall_clock())

    def evaluate(
        self, call: ToolCall, session: Session, consent: Consent | None = None, opinions: Sequence[Opinion] = ()
    ) -> tuple[Consent, Decision]:
        """Decide with the grants that apply, without those that were given for other programs or paths."""
        engine = self.engines(call, session)
        consent = self.consent(session) if consent is None else consent
        while True:
            decision = engine.decide(call, session, consent, heard=opinions)
            if not consent.grants:
                return consent, decision
            relied = relied_on(decision) if decision.verdict is ALLOW else ()
            fitting = tuple(g for g in consent.grants if g.id not in relied or matches_files(g, decision, session))
            if len(fitting) == len(consent.grants):
                return consent, decision
            consent = msgspec.structs.replace(consent, grants=fitting)

    async def decide(
        self, call: ToolCall, session: Session, opinions: Sequence[Opinion] = ()
    ) -> tuple[Consent, Decision]:
        """Decide a call. If its sandbox stopped it lately, decide it as a call that would run outside."""
        consent, decision = self.evaluate(call, session, opinions=opinions)
        stopped = await self._find_stopped(decision)
        if not stopped:
            return consent, decision
        return self.evaluate(call, session, msgspec.structs.replace(consent, stopped=stopped), opinions)

    def evaluate_approved(
        self,
        call: ToolCall,
        session: Session,
        approval: Approval,
        opinions: Sequence[Opinion] = (),
        stopped: str = "",
    ) -> Decision:
        """Evaluate policy again, with the person's yes. A yes to a destructive call also enables it."""
        consent = self.consent(session)
        destructive = consent.destructive or approval.tier is Tier.DESTRUCTIVE
        consent = msgspec.structs.replace(consent, yes=True, destructive=destructive, stopped=stopped)
        decision = self.engines(call, session).decide(call, session, consent, heard=opinions)
        scope = None if approval.answer is None else approval.answer.scope
        return msgspec.structs.replace(decision, approval_action_id=approval.id, scope=scope)

    async def release(
        self, call: ToolCall, session: Session, approval: Approval, opinions: Sequence[Opinion] = ()
    ) -> Decision:
        """Evaluate an approved call: inside its sandbox, or outside if the sandbox stopped it lately."""
        decision = self.evaluate_approved(call, session, approval, opinions)
        stopped = await self._find_stopped(decision)
        return self.evaluate_approved(call, session, approval, opinions, stopped) if stopped else decision

    def redecide(self, ticket: Ticket) -> Decision | None:
        """Evaluate policy again for a ticket's call; None unless the decision is still the ticket's."""
        if ticket.call is None:
            return None
        approved = ticket.approval is not None
        consent = msgspec.structs.replace(self.consent(ticket.session), yes=approved, destructive=approved)
        decision = self.evaluate(ticket.call, ticket.session, consent)[1]
        return decision if decision.decision == "sandboxed" and decision.digest == ticket.digest else None

    async def _find_stopped(self, decision: Decision) -> str:
        """Return what the sandbox stopped the last time, if the mode asks about that; otherwise nothing."""
        if decision.boundary is None or decision.mode is not Mode.ON_FAILURE:
            return ""
        found = await find_stopped(self.store, decision.digest)
        return found[0].words + (f", and {len(found) - 1} more" if len(found) > 1 else "") if found else ""
