"""Asking a person about a call: use the answer that waits for it, join the pending question, or open one."""

from __future__ import annotations

import asyncio

import msgspec

from assent.audit.entry import LogEntry
from assent.audit.log import Log
from assent.decisions.approvals import transitions
from assent.decisions.approvals.limits import PendingLimits, find_excess
from assent.decisions.approvals.pending import PendingCall, Put
from assent.decisions.approvals.repository import Approvals
from assent.decisions.errors import ContradictionError
from assent.decisions.evaluate import Evaluator
from assent.decisions.grants.active_grants import check_run, use_enablement
from assent.decisions.grants.file_binding import bind
from assent.decisions.grants.from_answer import read_pattern
from assent.decisions.grants.reliance import ask_again, refuse_unasked
from assent.decisions.record import Recorder
from assent.decisions.release import Release
from assent.decisions.ruling import Ruling, StaleError
from assent.model import ALLOW, ASK, Approval, Consent, Decision, Grant, Scope, Session, ToolCall
from assent.policy.rules.propose import propose
from assent.store.cursor import Cursor


class Asking:
    """Opens questions, within limits, and joins those that are pending."""

    def __init__(
        self,
        evaluator: Evaluator,
        recorder: Recorder,
        release: Release,
        log: Log,
        approvals: Approvals,
        *,
        expiry: float,
        limits: PendingLimits,
    ) -> None:
        self._evaluator = evaluator
        self._recorder = recorder
        self._release = release
        self._store = evaluator.store
        self._log = log
        self._approvals = approvals
        self._expiry = expiry
        self._limits = limits

    async def reconsider(self, consent: Consent, case: PendingCall) -> Ruling:
        """Look whether a person enabled, or already answered, this one destructive call; else it stays denied."""
        call, session, denial = case.call, case.session, case.decision
        widened = msgspec.structs.replace(consent, destructive=True)
        opened = self._evaluator.evaluate(call, session, widened, case.aside.heard)[1]
        if opened.verdict is not ASK:
            return await self._recorder.record(call, session, denial)
        enablement = self._approvals.standing.enablement_of(opened.digest, session, self._store.wall_clock())
        return await self.ask(
            msgspec.structs.replace(
                case, decision=opened, enablement=enablement, denial=denial if enablement is None else None
            )
        )

    async def ask(self, case: PendingCall) -> Ruling:
        """Use the answer that waits for this call; else join the pending question, or open one."""
        approval_id = transitions.new_id(case.prefix, self._store.wall_clock())
        decision = await asyncio.to_thread(bind, case.call, case.session, case.decision)
        decision = ask_again(decision, case.again) if case.again else decision
        proposal = self._propose(case.call, case.session, decision)
        case = msgspec.structs.replace(case, decision=decision, proposal=proposal)
        asked: list[Approval] = []

        def work(cursor: Cursor) -> Put:
            put = self._put_question(cursor, approval_id, case)
            asked.extend(() if put.approval is None else (put.approval,))
            return put

        try:
            put = await self._store.commit(work)
        except asyncio.CancelledError:
            self._approvals.leave_later(asked)
            raise
        if put.entry is not None:
            return Ruling(decision=put.decision, approval=put.approval, position=put.entry.position)
        ruling = await self._release.conclude(case.call, case.session, put.approval, case.decision, case.aside)
        if ruling is None:
            raise StaleError
        return ruling

    def _propose(self, call: ToolCall, session: Session, decision: Decision) -> str:
        """Return the pattern that a wider yes to a call could name; empty unless it surely covers the repeat."""
        pattern = propose(decision.reading)
        if not pattern:
            return ""
        try:
            rule = read_pattern(pattern, decision.reading.tool)
        except ContradictionError:
            return ""
        grant = Grant(id="proposal", verdict=ALLOW, rule=rule, scope=Scope.ALWAYS)
        trial = Consent(grants=(grant,))
        decided = self._evaluator.engines(call, session).decide(call, session, trial)
        return pattern if decided.verdict is ALLOW else ""

    def _put_question(self, cursor: Cursor, approval_id: str, case: PendingCall) -> Put:
        decision, call = case.decision, case.call
        check_run(cursor, case.session)
        settled = transitions.find_settled(cursor, decision.digest, case.kind, call.call_id)
        if settled is not None:
            return Put(decision, settled)
        approval = transitions.find_pending(cursor, decision.digest, case.kind, call.call_id)
        if approval is None and case.denial is not None:
            return Put(case.denial, None, self._append(cursor, case, case.denial))
        is_new = approval is None
        if approval is None:
            approval = case.make_question(approval_id, cursor.now, self._expiry, self._log.mask)
            if (excess := find_excess(cursor, self._limits, approval)) is not None:
                denial = refuse_unasked(decision, excess)
                return Put(denial, None, self._append(cursor, case, denial))
        decision = msgspec.structs.replace(decision, approval_action_id=approval.id, expires_at=approval.expires_at)
        entry = self._append(cursor, case, decision)
        if is_new:
            if case.enablement is not None and not use_enablement(cursor, case.enablement):
                raise StaleError
            transitions.open_question(cursor, self._log, approval)
        elif case.waiting:
            transitions.mark_caller(cursor, approval.id, gone=False)
        return Put(decision, approval, entry)

    def _append(self, cursor: Cursor, case: PendingCall, decision: Decision) -> LogEntry:
        entry = self._recorder.make(case.call, case.session, decision)
        cursor.defer(self._log, entry)
        return entry
