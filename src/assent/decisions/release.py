"""From an answer to a ruling: policy is evaluated once more, and what would run is held against what was asked."""

from __future__ import annotations

import asyncio

import msgspec

from assent.decisions.approvals import transitions
from assent.decisions.approvals.pending import Aside
from assent.decisions.evaluate import Evaluator
from assent.decisions.grants.file_binding import bind, find_unseen
from assent.decisions.grants.reliance import find_difference, refuse_changed, refuse_unseen, strict, turn_down
from assent.decisions.record import Recorder
from assent.decisions.ruling import ChangedError, Ruling
from assent.model import ALLOW, DENY, Approval, Decision, Session, State, ToolCall


class Release:
    """Turns the outcome of a question into a ruling."""

    def __init__(self, evaluator: Evaluator, recorder: Recorder) -> None:
        self._evaluator = evaluator
        self._recorder = recorder
        self._store = evaluator.store

    async def conclude(
        self, call: ToolCall, session: Session, approval: Approval | None, asked: Decision, aside: Aside
    ) -> Ruling | None:
        """Turn an outcome into a ruling; None if the yes was used by another call, or is for another boundary."""
        if approval is None or approval.state is not State.APPROVED:
            return await self._turn_down(call, session, approval, asked)
        changed = None if approval.answer is None else approval.answer.modified_input
        run = call if changed is None else msgspec.structs.replace(call, input=changed)
        # What was said about the input that was asked about says nothing about another.
        heard = aside.heard if changed is None else ()
        decision = await self._evaluator.release(run, session, approval, heard)
        if decision.verdict is not ALLOW:
            return await self._recorder.record(run, session, strict(decision))
        if changed is None and decision.digest != approval.digest:
            return None
        decision = await self._check_bound(run, session, approval, decision)
        if decision.verdict is not ALLOW:
            return await self._turn_down(run, session, approval, decision)
        if changed is not None and decision.boundary is None and not call.rewritable:
            denial = refuse_changed(asked, approval)
            return await self._recorder.record_move(call, session, approval, denial, (run, decision.digest))
        decision = decision if changed is None else _with_input(decision, approval)
        return await self._recorder.record_release(run, session, approval, decision, aside.after(decision, run))

    async def _check_bound(self, run: ToolCall, session: Session, approval: Approval, decision: Decision) -> Decision:
        """Return the decision, as a denial where it can not be checked; raise if what would run is something else."""
        decision = await asyncio.to_thread(bind, run, session, decision)
        unseen = find_unseen(decision.reading.bound)
        if unseen is not None:
            return refuse_unseen(decision, unseen)
        difference = find_difference(approval.answer, decision)
        if difference is not None:
            await self._store.commit(lambda cursor: transitions.use_answer(cursor, approval))
            raise ChangedError(difference)
        return decision

    async def _turn_down(
        self, call: ToolCall, session: Session, approval: Approval | None, decision: Decision
    ) -> Ruling:
        """Deny what was not approved, or what nobody can tell to be what was; either way the answer is used up."""
        denial = decision if decision.verdict is DENY else turn_down(decision, approval)
        return await self._recorder.record_refusal(call, session, approval, denial)


def _with_input(decision: Decision, approval: Approval) -> Decision:
    return msgspec.structs.replace(decision, updated_input_ref=f"input:{approval.id}")
