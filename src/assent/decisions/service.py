"""The one way to a decision: a call is decided, recorded and, where a person must say, asked about and released.

A ruling leaves only after its events are durable. What can not be written is a denial that says so.
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
from assent.decisions.approvals.limits import PendingLimits, Room
from assent.decisions.approvals.pending import NOTHING_ASIDE, Aside, PendingCall
from assent.decisions.approvals.repository import Approvals, refuse_agents
from assent.decisions.ask import Asking
from assent.decisions.audit_events import evaluated
from assent.decisions.call_summary import summarise
from assent.decisions.errors import AdminNeededError, AlreadyAnsweredError, RefusedError
from assent.decisions.evaluate import Engines, Evaluator
from assent.decisions.grants.file_binding import bind
from assent.decisions.grants.from_answer import check_answer, make_grant
from assent.decisions.grants.reliance import leaves_run, places_of, relied_on
from assent.decisions.record import Recorder
from assent.decisions.release import Release
from assent.decisions.ruling import ChangedError, Ruling, StaleError
from assent.decisions.ticket_rows import find_waiting
from assent.decisions.tickets import Tickets
from assent.model import (
    ALLOW,
    ASK,
    DENY,
    Answer,
    Approval,
    Consent,
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
"""Is told of a question once it lasts, and before its answer is waited for."""
Observe: TypeAlias = Literal["", "trial", "deferred"]
"""Ask nobody, and record the decision alone: as a trial, or because the agent itself puts the question."""
EXPIRY = 1800.0
"""How long a question waits for its answer, and an unused yes for its call, in seconds."""
_MOST_TRIES = 5


class Decisions:
    """Decides, records, asks and releases. One for a process."""

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
        self._evaluator = evaluator = Evaluator(engines, store, approvals.standing)
        self._tickets = Tickets(evaluator, store, log, home=home, room=Room(limits, find_waiting(store)))
        self._recorder = recorder = Recorder(store, log, self._tickets)
        self._release = release = Release(evaluator, recorder)
        self._asking = Asking(evaluator, recorder, release, log, approvals, expiry=expiry, limits=limits)

    def preview(self, call: ToolCall, session: Session) -> Decision:
        """Decide without a record and without a question; what people said before counts."""
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
        aside: Aside = NOTHING_ASIDE,
    ) -> Ruling:
        """Decide a call and record it durably; an ask opens a question, or joins the one that is pending.

        An answer given meanwhile to the same call (same digest) is used here, once. With `wait`, an ask is waited
        for up to so many seconds, and `on_ask` is told of the question before: then the call is decided again by
        the answer. When the time is up the ruling is the ask, and the question stays pending without its caller.

        Never raises for anything that is wrong with the call or the store: that is a denial. Only `observe`, which
        lets nothing run, raises `StoreError`. `prefix` begins the question's id (`perm_…`, `hook_…`); `aside` is
        what a host says along with the call.
        """
        if observe:
            return await self._observe(call, session, observe)
        end, again = time.monotonic() + wait, ""
        while True:
            ruling = await self._try(call, session, prefix, aside, waiting=wait > 0, again=again)
            if not wait or ruling.approval is None or ruling.decision.verdict is not ASK:
                return ruling
            approval = await self._await_answer(ruling.approval, end, on_ask)
            if approval is None:
                return ruling
            try:
                settled = await self._release.conclude(call, session, approval, ruling.decision, aside)
            except ChangedError as changed:
                settled, again = None, changed.why
            except Exception as error:  # noqa: BLE001 - as in `_try`
                return await self._recorder.refuse(call, session, error)
            if settled is not None:
                return settled

    async def answer(self, approval_id: str, answer: Answer, principal: Principal) -> Approval:
        """Answer a question for good, durably, and wake whoever waits. A no counts also where it cannot be written yet.

        Raises `NotFoundError` (also for what the principal may not see), `ForbiddenError` (an agent's token; for what
        leaves a run's workspace `AdminNeededError`), `AlreadyAnsweredError` (`.approval` says how and by whom),
        `ContradictionError` (a bad pair of scope and verdict, a pattern that is no rule), or `RefusedError`
        (`.decision`: policy denies the modified input).
        """
        refuse_agents(principal)
        check_answer(answer, self._store.wall_clock())
        approval = await self._approvals.get(approval_id)
        if approval is None or not principal.may_answer(approval.user):
            raise NotFoundError(f"there is no request `{approval_id}`")
        if approval.call is None or approval.decision is None:
            raise AlreadyAnsweredError(approval)
        seen = await self._see(approval.call, approval.decision, approval, answer)
        by_admin = principal.role is Role.ADMIN
        if answer.verdict is ALLOW and not by_admin:
            _refuse_beyond(approval, seen)
        bound = seen.reading.bound if answer.verdict is ALLOW else ()
        answer = msgspec.structs.replace(answer, places=places_of(seen), bound=bound)
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
            return self._approvals.refusals.keep(approval, answer, by, grant, self._expiry)

    async def cancel(self, approval_id: str, why: str) -> Approval:
        """Withdraw a pending question; `why` is kept as `by`. Raises as `answer` does."""
        return await self._store.commit(
            lambda cursor: transitions.end_question(cursor, self._log, approval_id, State.CANCELLED, why)
        )

    async def redeem(
        self, ticket_id: str, words: Sequence[str], folder: str, principal: Principal
    ) -> tuple[Ticket, Decision]:
        """Trade a ticket in, once, for the boundary of exactly these words in this folder.

        Raises `NotFoundError` (also for what is somebody else's) or `TicketError`.
        """
        return await self._tickets.redeem(ticket_id, words, folder, principal)

    async def report(
        self, ticket_id: str | None, run: str, reports: Sequence[SandboxReport], principal: Principal
    ) -> None:
        """Record what happened in a sandbox, durably. What belongs to a ticket must be under way by it."""
        await self._tickets.report(ticket_id, run, reports, principal)

    async def find_ticket(self, ticket_id: str, principal: Principal) -> Ticket:
        """Return a ticket, or raise `NotFoundError`, also for what is somebody else's."""
        return await self._tickets.find(ticket_id, principal)

    def seal(self, ticket: Ticket, nonce: str, *, asks: bool) -> str:
        """Sign a boundary for whoever asked for it with this nonce, so that they know whose it is."""
        return self._tickets.seal(ticket, nonce, asks=asks)

    async def _observe(self, call: ToolCall, session: Session, observe: Observe) -> Ruling:
        decision = self.preview(call, session)
        summary = summarise(call, decision.reading)
        shown = f"trial: {summary}" if observe == "trial" else summary
        (position,) = await self._log.record([evaluated(call, session, decision, shown)])
        return Ruling(decision=decision, position=position)

    async def _try(
        self, call: ToolCall, session: Session, prefix: str, aside: Aside, *, waiting: bool, again: str
    ) -> Ruling:
        """Decide a call, and again where what people said changed meanwhile; whatever goes wrong is a denial."""
        fault: Exception = StoreError("what people said kept changing while it was decided")
        for _ in range(_MOST_TRIES):
            try:
                return await self._decide(call, session, prefix, aside, waiting=waiting, again=again)
            except StaleError as stale:
                again = stale.why or again
                with contextlib.suppress(StoreError):
                    await asyncio.to_thread(self._approvals.standing.reload)
            except Exception as error:  # noqa: BLE001 - whatever it is, an undecided or unrecorded call is denied
                fault = error
                break
        return await self._recorder.refuse(call, session, fault)

    async def _decide(
        self, call: ToolCall, session: Session, prefix: str, aside: Aside, *, waiting: bool, again: str
    ) -> Ruling:
        named = named_ticket(call)
        honoured = None if named is None else await self._tickets.honour(named, call, session)
        if honoured is not None:
            return await self._recorder.record(call, session, honoured, (), aside.after(honoured, call), held=True)
        consent, decision = await self._evaluator.decide(call, session, aside.heard)
        if decision.verdict is ALLOW:
            relied = relied_on(decision) if consent.grants else ()
            return await self._recorder.record(call, session, decision, relied, aside.after(decision, call))
        case = PendingCall(call, session, decision, prefix, waiting, aside, again=again)
        if decision.verdict is ASK:
            return await self._asking.ask(case)
        if _may_be_enabled(consent, decision):
            return await self._asking.reconsider(consent, case)
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

    async def _see(self, call: ToolCall, asked: Decision, approval: Approval, answer: Answer) -> Decision:
        """Return the decision that an answer is about: of the input as asked, or as the person changed it."""
        if answer.modified_input is None:
            return asked
        run = msgspec.structs.replace(call, input=answer.modified_input)
        decision = self._evaluator.evaluate_approved(run, approval.session, approval)
        if decision.verdict is not ALLOW:
            raise RefusedError(decision)
        return await asyncio.to_thread(bind, run, approval.session, decision)


def _refuse_beyond(approval: Approval, seen: Decision) -> None:
    """Raise `AdminNeededError` where a yes, as it was asked for or as changed, would let a run leave its workspace."""
    asked = approval.decision
    if leaves_run(seen, approval.session) or (asked is not None and leaves_run(asked, approval.session)):
        raise AdminNeededError(approval)


def _may_be_enabled(consent: Consent, denial: Decision) -> bool:
    """Tell whether a person's answer to this one call could make more than a denial of it."""
    return denial.reading.destructive and not consent.destructive
