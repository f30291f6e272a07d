"""Ask a person about a call: use the answer that is already there, join the pending question, or open one."""

from __future__ import annotations

import asyncio

import msgspec

from assent.audit.entry import LogEntry
from assent.audit.log import Log
from assent.decisions.approvals import transitions
from assent.decisions.approvals.limits import PendingLimits, find_excess
from assent.decisions.approvals.pending import AskResult, PendingCall
from assent.decisions.approvals.repository import Approvals
from assent.decisions.errors import ContradictionError
from assent.decisions.evaluate import Evaluator
from assent.decisions.grants.active_grants import check_run, use_enablement
from assent.decisions.grants.file_binding import bind
from assent.decisions.grants.from_answer import read_pattern
from assent.decisions.grants.reliance import deny_over_limit, explain_repeat
from assent.decisions.record import Recorder
from assent.decisions.release import Release
from assent.decisions.request import DecisionRequest
from assent.decisions.ruling import Ruling, StaleError
from assent.model import ALLOW, ASK, Approval, Consent, Decision, Grant, Scope
from assent.policy.rules.propose import propose
from assent.store.cursor import Cursor


class Asker:
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

    async def ask_if_enabled(self, request: DecisionRequest, consent: Consent, denial: Decision) -> Ruling:
        """Ask about a denied destructive call that a person enabled or was asked about; otherwise record the denial."""
        call, session = request.call, request.session
        enabled = msgspec.structs.replace(consent, destructive=True)
        decision = self._evaluator.evaluate(call, session, enabled, request.host.opinions)[1]
        if decision.verdict is not ASK:
            return await self._recorder.record(call, session, denial)
        enablement = self._approvals.active_grants.enablement_of(decision.digest, session, self._store.wall_clock())
        return await self.ask(PendingCall(request, decision, enablement, denial if enablement is None else None))

    async def ask(self, pending: PendingCall) -> Ruling:
        """Use the answer that is already there for this call; otherwise join the pending question, or open one."""
        request = pending.request
        approval_id = transitions.new_id(request.prefix, self._store.wall_clock())
        decision = await asyncio.to_thread(bind, request.call, request.session, pending.decision)
        decision = explain_repeat(decision, request.why_again) if request.why_again else decision
        pending = msgspec.structs.replace(pending, decision=decision, proposal=self._propose(request, decision))
        asked: list[Approval] = []

        def work(cursor: Cursor) -> AskResult:
            result = self._ask_in_transaction(cursor, approval_id, pending)
            asked.extend(() if result.approval is None else (result.approval,))
            return result

        try:
            result = await self._store.commit(work)
        except asyncio.CancelledError:
            self._approvals.leave_after_commit(asked)
            raise
        if result.entry is not None:
            return Ruling(decision=result.decision, approval=result.approval, position=result.entry.position)
        ruling = await self._release.conclude(request, result.approval, decision)
        if ruling is None:
            raise StaleError
        return ruling

    def _propose(self, request: DecisionRequest, decision: Decision) -> str:
        """Return the pattern that a wider yes to a call could name; empty unless it covers the same call next time."""
        pattern = propose(decision.reading)
        if not pattern:
            return ""
        try:
            rule = read_pattern(pattern, decision.reading.tool)
        except ContradictionError:
            return ""
        consent = Consent(grants=(Grant(id="proposal", verdict=ALLOW, rule=rule, scope=Scope.ALWAYS),))
        engine = self._evaluator.engines(request.call, request.session)
        return pattern if engine.decide(request.call, request.session, consent).verdict is ALLOW else ""

    def _ask_in_transaction(self, cursor: Cursor, approval_id: str, pending: PendingCall) -> AskResult:
        decision, call = pending.decision, pending.request.call
        check_run(cursor, pending.request.session)
        settled = transitions.find_settled(cursor, decision.digest, pending.kind, call.call_id)
        if settled is not None:
            return AskResult(decision, settled)
        approval = transitions.find_pending(cursor, decision.digest, pending.kind, call.call_id)
        if approval is None and pending.denial is not None:
            return AskResult(pending.denial, None, self._append(cursor, pending, pending.denial))
        is_new = approval is None
        if approval is None:
            approval = pending.make_question(approval_id, cursor.now, self._expiry, self._log.mask)
            if (excess := find_excess(cursor, self._limits, approval)) is not None:
                denial = deny_over_limit(decision, excess)
                return AskResult(denial, None, self._append(cursor, pending, denial))
        decision = msgspec.structs.replace(decision, approval_action_id=approval.id, expires_at=approval.expires_at)
        entry = self._append(cursor, pending, decision)
        if is_new:
            if pending.enablement is not None and not use_enablement(cursor, pending.enablement):
                raise StaleError
            transitions.open_question(cursor, self._log, approval)
        elif pending.request.waiting:
            transitions.mark_caller(cursor, approval.id, gone=False)
        return AskResult(decision, approval, entry)

    def _append(self, cursor: Cursor, pending: PendingCall, decision: Decision) -> LogEntry:
        entry = self._recorder.make_entry(pending.request.call, pending.request.session, decision)
        cursor.defer(self._log, entry)
        return entry
