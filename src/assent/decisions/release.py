"""Turn an answer into a ruling: evaluate policy again, and check that what would run is what was asked about."""

from __future__ import annotations

import asyncio

import msgspec

from assent.decisions.approvals import transitions
from assent.decisions.evaluate import Evaluator
from assent.decisions.grants.file_binding import bind, find_unreadable
from assent.decisions.grants.reliance import (
    deny_by_outcome,
    deny_original,
    deny_unasked,
    deny_unreadable,
    find_difference,
)
from assent.decisions.record import Recorder
from assent.decisions.request import DecisionRequest
from assent.decisions.ruling import ChangedError, Ruling
from assent.model import ALLOW, DENY, Approval, Decision, Session, State, ToolCall


class Release:
    """Turns the outcome of a question into a ruling."""

    def __init__(self, evaluator: Evaluator, recorder: Recorder) -> None:
        self._evaluator = evaluator
        self._recorder = recorder
        self._store = evaluator.store

    async def conclude(self, request: DecisionRequest, approval: Approval | None, asked: Decision) -> Ruling | None:
        """Return the ruling for an outcome; None if another call used the yes, or the yes is for another boundary.

        Raises `ChangedError` if something else would run than what the person saw.
        """
        call, session, host = request.call, request.session, request.host
        if approval is None or approval.state is not State.APPROVED:
            return await self._deny(call, session, approval, asked)
        changed = None if approval.answer is None else approval.answer.modified_input
        run = call if changed is None else msgspec.structs.replace(call, input=changed)
        # The host's opinions are about the input that was asked about, and not about another.
        opinions = host.opinions if changed is None else ()
        decision = await self._evaluator.release(run, session, approval, opinions)
        if decision.verdict is not ALLOW:
            return await self._recorder.record(run, session, deny_unasked(decision))
        if changed is None and decision.digest != approval.digest:
            return None
        decision = await self._check_bound(run, session, approval, decision)
        if decision.verdict is not ALLOW:
            return await self._deny(run, session, approval, decision)
        if changed is not None and decision.boundary is None and not call.rewritable:
            denial = deny_original(asked, approval)
            return await self._recorder.record_move(call, session, approval, denial, (run, decision.digest))
        if changed is not None:
            decision = msgspec.structs.replace(decision, updated_input_ref=f"input:{approval.id}")
        return await self._recorder.record_release(run, session, approval, decision, host.events_after(decision, run))

    async def _check_bound(self, run: ToolCall, session: Session, approval: Approval, decision: Decision) -> Decision:
        """Return the decision, as a denial if its files cannot be checked; raise `ChangedError` if they changed."""
        decision = await asyncio.to_thread(bind, run, session, decision)
        unreadable = find_unreadable(decision.reading.bound)
        if unreadable is not None:
            return deny_unreadable(decision, unreadable)
        difference = find_difference(approval.answer, decision)
        if difference is not None:
            await self._store.commit(lambda cursor: transitions.use_answer(cursor, approval))
            raise ChangedError(difference)
        return decision

    async def _deny(self, call: ToolCall, session: Session, approval: Approval | None, decision: Decision) -> Ruling:
        """Record the denial of a call that was not approved, or that cannot be checked. This uses the answer up."""
        denial = decision if decision.verdict is DENY else deny_by_outcome(decision, approval)
        return await self._recorder.record_refusal(call, session, approval, denial)
