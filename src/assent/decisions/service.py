"""`Decisions`, the one way to a decision: it decides, records and, where policy says ask, asks and releases a call.

One call goes through these modules, in this order:

1. `evaluate`: policy, with the grants of the user, says allow, ask or deny.
2. `record`: an allow or a deny is written to the audit log, and becomes a `Ruling`.
3. `ask`: an ask joins the pending question about the same call, or opens one.
4. `release`: an answer is turned into a ruling. Policy is evaluated again, and the files that would run are compared
   with those that the person saw.

A ruling is returned only after its events are durable. A call that cannot be recorded is denied.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, TypeAlias

import msgspec

from assent.audit.log import Log
from assent.decisions.approvals import transitions
from assent.decisions.approvals.limits import PendingLimits, TicketQuota
from assent.decisions.approvals.pending import PendingCall
from assent.decisions.approvals.repository import Approvals, refuse_agents
from assent.decisions.ask import Asker
from assent.decisions.audit_events import evaluated
from assent.decisions.call_summary import summarise
from assent.decisions.errors import AdminNeededError, AlreadyAnsweredError, RefusedError
from assent.decisions.evaluate import Engines, Evaluator
from assent.decisions.grants.file_binding import bind
from assent.decisions.grants.from_answer import check_answer, make_grant
from assent.decisions.grants.reliance import leaves_run, places_of, relied_on
from assent.decisions.record import Recorder
from assent.decisions.release import Release
from assent.decisions.request import NO_HOST, DecisionRequest, HostContext
from assent.decisions.ruling import ChangedError, Ruling, StaleError
from assent.decisions.ticket_rows import find_waiting
from assent.decisions.tickets import Tickets
from assent.model import (
    ALLOW,
    ASK,
    DENY,
    Answer,
    Approval,
    Decision,
    NotFoundError,
    Principal,
    Role,
    Scope,
    Session,
    State,
    StoreError,
    Ticket,
    ToolCall,
)
from assent.sandbox.redeem.command_line import named_ticket
from assent.sandbox.reports import SandboxReport
from assent.store.store import Store

OnAsk: TypeAlias = Callable[[Approval], Awaitable[None]]
"""Called with a question that is durable, before the wait for its answer begins."""
Observe: TypeAlias = Literal["", "trial", "deferred"]
"""Record the decision and ask nobody: it is a trial, or the agent itself asks its user."""
EXPIRY = 1800.0
"""Seconds until a question without an answer expires, and a yes that no call has used."""
_MOST_TRIES = 5
"""How often a call is decided while the grants that it relies on keep changing."""


class Decisions:
    """Decides, records, asks and releases. A process has one."""

    def __init__(
        self,
        engines: Engines,
        store: Store,
        log: Log,
        approvals: Approvals,
        *,
        expiry: float = EXPIRY,
        home: str = "",
        limits: PendingLimits = PendingLimits(),  # noqa: B008 - it cannot change
    ) -> None:
        self._store = store
        self._log = log
        self._approvals = approvals
        self._expiry = expiry
        self._evaluator = evaluator = Evaluator(engines, store, approvals.active_grants)
        self._tickets = Tickets(evaluator, store, log, home=home, quota=TicketQuota(limits, find_waiting(store)))
        self._recorder = recorder = Recorder(store, log, self._tickets)
        self._release = release = Release(evaluator, recorder)
        self._asker = Asker(evaluator, recorder, release, log, approvals, expiry=expiry, limits=limits)

    def preview(self, call: ToolCall, session: Session) -> Decision:
        """Decide with the grants in force; record nothing and ask nobody."""
        return self._evaluator.evaluate(call, session)[1]

    async def decide(
        self,
        call: ToolCall,
        session: Session,
        *,
        wait: float = 0.0,
        on_ask: OnAsk | None = None,
        observe: Observe = "",
        prefix: str = "perm",
        host: HostContext = NO_HOST,
    ) -> Ruling:
        """Decide a call and record the decision durably. An ask opens a question, or joins the pending one.

        If the same call (same digest) was answered meanwhile, that answer is used here, once. With `wait`, the caller
        waits up to so many seconds for the answer, and `on_ask` is called with the question first; then the call is
        decided again with the answer. After a timeout the ruling is the ask, and the question stays pending.

        Never raises for a fault of the call or the store: that is a denial. Only `observe`, which lets nothing run,
        raises `StoreError`. `prefix` begins the question's id (`perm_…`, `hook_…`); `host` is what the program that
        makes the call adds to it.
        """
        if observe:
            return await self._observe(call, session, observe)
        request, end = DecisionRequest(call, session, prefix, host, wait > 0), time.monotonic() + wait
        while True:
            ruling = await self._decide_or_deny(request)
            if not wait or ruling.approval is None or ruling.decision.verdict is not ASK:
                return ruling
            approval = await self._await_answer(ruling.approval, end, on_ask)
            if approval is None:
                return ruling
            try:
                released = await self._release.conclude(request, approval, ruling.decision)
            except ChangedError as changed:
                released, request = None, msgspec.structs.replace(request, why_again=changed.why)
            except Exception as error:  # noqa: BLE001 - an approved call that cannot be released is denied
                return await self._recorder.refuse(call, session, error)
            if released is not None:
                return released

    async def answer(self, approval_id: str, answer: Answer, principal: Principal) -> Approval:
        """Answer a question, durably and for good, and wake its callers. A no counts even if it cannot be written yet.

        Raises `NotFoundError` (also if the principal may not see the question), `ForbiddenError` (for an agent's
        token, and as `AdminNeededError` for a call that leaves its run's workspace), `AlreadyAnsweredError`
        (`.approval` says how and by whom), `ContradictionError` (scope and verdict do not fit, or a pattern is not a
        rule), or `RefusedError` (policy denies the modified input; `.decision`).
        """
        refuse_agents(principal)
        check_answer(answer, self._store.wall_clock())
        approval = await self._approvals.get(approval_id)
        if approval is None or not principal.may_answer(approval.user):
            raise NotFoundError(f"there is no request `{approval_id}`")
        if approval.call is None or approval.decision is None:
            raise AlreadyAnsweredError(approval)
        decision = await self._decide_answered(approval.call, approval.decision, approval, answer)
        by_admin = principal.role is Role.ADMIN
        if answer.verdict is ALLOW and not by_admin:
            _require_admin_beyond_run(approval, decision)
        bound = decision.reading.bound if answer.verdict is ALLOW else ()
        answer = msgspec.structs.replace(answer, places=places_of(decision), bound=bound)
        by = principal.user
        lasts = answer.scope is not Scope.ONCE
        grant = await asyncio.to_thread(make_grant, approval, answer, by, outside=by_admin) if lasts else None
        try:
            return await self._store.commit(
                lambda cursor: transitions.answer_question(
                    cursor, self._log, approval_id, answer, by, grant=grant, expiry=self._expiry
                )
            )
        except StoreError:
            if answer.verdict is not DENY:
                raise
            return self._approvals.unsaved_denials.add(approval, answer, by, grant, self._expiry)

    async def cancel(self, approval_id: str, why: str) -> Approval:
        """Cancel a pending question; its `by` becomes `why`. Raises as `answer` does."""
        return await self._store.commit(
            lambda cursor: transitions.end_question(cursor, self._log, approval_id, State.CANCELLED, why)
        )

    async def redeem(
        self, ticket_id: str, words: Sequence[str], folder: str, principal: Principal
    ) -> tuple[Ticket, Decision]:
        """Use a ticket, once, to run exactly these words in this folder: return it with its decision.

        Raises `NotFoundError` (also for somebody else's ticket) or `TicketError`.
        """
        return await self._tickets.redeem(ticket_id, words, folder, principal)

    async def report(
        self, ticket_id: str | None, run: str, reports: Sequence[SandboxReport], principal: Principal
    ) -> None:
        """Record what happened in a sandbox, durably. With a ticket, its command must be running."""
        await self._tickets.report(ticket_id, run, reports, principal)

    async def find_ticket(self, ticket_id: str, principal: Principal) -> Ticket:
        """Return a ticket, or raise `NotFoundError`, also for somebody else's."""
        return await self._tickets.find(ticket_id, principal)

    def seal(self, ticket: Ticket, nonce: str, *, asks: bool) -> str:
        """Sign a ticket's boundary with the caller's nonce, which proves that this daemon issued it."""
        return self._tickets.seal(ticket, nonce, asks=asks)

    async def _observe(self, call: ToolCall, session: Session, observe: Observe) -> Ruling:
        decision = self.preview(call, session)
        summary = summarise(call, decision.reading)
        shown = f"trial: {summary}" if observe == "trial" else summary
        (position,) = await self._log.record([evaluated(call, session, decision, shown)])
        return Ruling(decision=decision, position=position)

    async def _decide_or_deny(self, request: DecisionRequest) -> Ruling:
        """Decide a call, again while the grants that it relies on change; deny it after any fault."""
        fault: Exception = StoreError("grants kept changing while the call was decided; make the same call again")
        for _ in range(_MOST_TRIES):
            try:
                return await self._decide_once(request)
            except StaleError as stale:
                request = msgspec.structs.replace(request, why_again=stale.why or request.why_again)
                with contextlib.suppress(StoreError):
                    await asyncio.to_thread(self._approvals.active_grants.reload)
            except Exception as error:  # noqa: BLE001 - a call that cannot be decided or recorded is denied
                fault = error
                break
        return await self._recorder.refuse(request.call, request.session, fault)

    async def _decide_once(self, request: DecisionRequest) -> Ruling:
        call, session, host = request.call, request.session, request.host
        ticket = named_ticket(call)
        rewritten = None if ticket is None else await self._tickets.decide_rewritten(ticket, call, session)
        if rewritten is not None:
            events = host.events_after(rewritten, call)
            return await self._recorder.record(call, session, rewritten, events=events, is_rewritten=True)
        consent, decision = await self._evaluator.decide(call, session, host.opinions)
        if decision.verdict is ALLOW:
            grant_ids = relied_on(decision) if consent.grants else ()
            return await self._recorder.record(call, session, decision, grant_ids, host.events_after(decision, call))
        if decision.verdict is ASK:
            return await self._asker.ask(PendingCall(request, decision))
        if decision.reading.destructive and not consent.destructive:
            return await self._asker.ask_if_enabled(request, consent, decision)
        return await self._recorder.record(call, session, decision)

    async def _await_answer(self, asked: Approval, end: float, on_ask: OnAsk | None) -> Approval | None:
        approval = None
        try:
            if on_ask is not None:
                await on_ask(asked)
            approval = await self._approvals.wait(asked.id, end - time.monotonic(), is_pending=True)
        finally:
            if approval is None:
                self._approvals.leave(asked.id)
        return approval

    async def _decide_answered(self, call: ToolCall, asked: Decision, approval: Approval, answer: Answer) -> Decision:
        """Return the decision that an answer is about: on the input as asked, or as the person changed it."""
        if answer.modified_input is None:
            return asked
        changed = msgspec.structs.replace(call, input=answer.modified_input)
        decision = self._evaluator.evaluate_approved(changed, approval.session, approval)
        if decision.verdict is not ALLOW:
            raise RefusedError(decision)
        return await asyncio.to_thread(bind, changed, approval.session, decision)


def _require_admin_beyond_run(approval: Approval, decision: Decision) -> None:
    """Raise `AdminNeededError` if a yes, to the call as asked or as changed, would let a run leave its workspace."""
    asked = approval.decision
    if leaves_run(decision, approval.session) or (asked is not None and leaves_run(asked, approval.session)):
        raise AdminNeededError(approval)
