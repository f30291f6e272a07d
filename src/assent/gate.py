"""What every dialect calls: a call is decided, recorded and, where a person must say, asked about.

A ruling leaves only after its events are durable. What can not be written is a denial that says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeAlias

import msgspec

from assent.approvals import questions
from assent.approvals.book import Approvals, refuse_agents
from assent.approvals.errors import AlreadyAnsweredError, RefusedError
from assent.approvals.events import evaluated
from assent.approvals.grants import binds, check_answer, make_grant, own_programs
from assent.approvals.outcome import leads_elsewhere, refuse_moved, relied_on, strict, turn_down
from assent.approvals.standing import are_standing, use_enablement
from assent.approvals.summary import summarise
from assent.audit.entry import Entry
from assent.audit.log import Log
from assent.audit.masking import Mask
from assent.engine import Engine
from assent.model import (
    ALLOW,
    ASK,
    Answer,
    Approval,
    Consent,
    Decision,
    Enablement,
    Event,
    NotFoundError,
    Opinion,
    Principal,
    QuestionKind,
    Session,
    State,
    StoreError,
    Tier,
    ToolCall,
    visible,
)
from assent.store import Cursor, Store


class Decider(Protocol):
    """What decides a call: an engine, or an engine with the guards of a run."""

    def decide(
        self, call: ToolCall, session: Session, consent: Consent = ..., /, *, heard: Sequence[Opinion] = ()
    ) -> Decision:
        """Decide one call. Never raises: a fault is a denial."""


Engines: TypeAlias = Callable[[ToolCall, Session], Decider]
"""Finds what decides a call: by its folder, without a disk where the session is remote, or by its run."""
OnAsk: TypeAlias = Callable[[Approval], Awaitable[None]]
"""Is told of a question once it lasts, and before its answer is waited for."""
EXPIRY = 1800.0
"""How long a question waits for its answer, and an unused yes for its call, in seconds."""
_MOST_TRIES = 5
_MOST_KEPT = 1024
_LARGEST_KEPT = 16 * 1024


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that is on record."""

    decision: Decision
    """Where its verdict is ask, `approval` is the question, and `approval_action_id` its id."""
    approval: Approval | None = None
    """The question that is pending, or the one whose answer made this decision."""
    updated_input: dict[str, Any] | None = None
    """What to run instead of the call's own input, if a person changed it."""
    position: int = 0
    """Where in the log its (last) event is; 0 if it could not be written, and then it is a deny."""


class Aside(msgspec.Struct, frozen=True):
    """What a host says along with a call."""

    heard: tuple[Opinion, ...] = ()
    """What a tool's own check or a hook said about this very input; none of it can loosen."""
    then: tuple[Event, ...] = ()
    """Written right after an allow, in the same transaction: that it runs."""


_NOTHING_ASIDE = Aside()


class _StaleError(Exception):
    """What a decision relied on has changed since."""


class Gate:
    """Decides, records, asks and releases. One for a process."""

    def __init__(
        self, engines: Engines, store: Store, log: Log, approvals: Approvals, *, expiry: float = EXPIRY
    ) -> None:
        self._engines = engines
        self._store = store
        self._log = log
        self._approvals = approvals
        self._standing = approvals.standing
        self._expiry = expiry
        self._last_resort = Engine()
        self._prepared: dict[int, _Prepared] = {}

    async def decide(
        self,
        call: ToolCall,
        session: Session,
        *,
        prefix: str = "perm",
        waiting: bool = False,
        aside: Aside = _NOTHING_ASIDE,
    ) -> Ruling:
        """Decide a call and record it durably; an ask opens a question, or joins the one that is pending.

        An answer given meanwhile to the same call (same digest) is used here, once. Never raises for anything
        that is wrong with the call or the store: that is a denial. `prefix` begins the question's id
        (`perm_…`, `hook_…`); `waiting` says that the caller stays for the answer.
        """
        fault: Exception = StoreError("what people said kept changing while it was decided")
        for _ in range(_MOST_TRIES):
            try:
                return await self._decide(call, session, prefix, aside, waiting=waiting)
            except _StaleError:
                with contextlib.suppress(StoreError):
                    await asyncio.to_thread(self._standing.reload)
            except Exception as error:  # noqa: BLE001 - whatever it is, an undecided or unrecorded call is denied
                fault = error
                break
        return await self._refuse(call, session, fault)

    async def settle(
        self,
        call: ToolCall,
        session: Session,
        wait: float,
        *,
        prefix: str = "perm",
        aside: Aside = _NOTHING_ASIDE,
        on_ask: OnAsk | None = None,
    ) -> Ruling:
        """Decide; where a person must say, wait for up to `wait` seconds, then decide again by the answer.

        When the time is up the ruling is the ask, and the question stays pending without its caller. `on_ask` is
        told of the question before the wait.
        """
        end = time.monotonic() + wait
        while True:
            ruling = await self.decide(call, session, prefix=prefix, waiting=wait > 0, aside=aside)
            if ruling.approval is None or ruling.decision.verdict is not ASK:
                return ruling
            if on_ask is not None:
                await on_ask(ruling.approval)
            approval = await self._await_answer(ruling.approval.id, end - time.monotonic())
            if approval is None:
                return ruling
            try:
                settled = await self._conclude(call, session, approval, ruling.decision, aside)
            except Exception as error:  # noqa: BLE001 - as in `decide`
                return await self._refuse(call, session, error)
            if settled is not None:
                return settled

    async def answer(self, approval_id: str, answer: Answer, principal: Principal) -> Approval:
        """Answer a question for good, durably, and wake whoever waits.

        Raises `NotFoundError` (also for what the principal may not see), `ForbiddenError` (an agent's token),
        `AlreadyAnsweredError` (`.approval` says how and by whom), `ContradictionError` (a bad pair of scope and
        verdict, a pattern that is no rule), or `RefusedError` (`.decision`: policy denies the modified input).
        """
        refuse_agents(principal)
        check_answer(answer, self._store.wall_clock())
        approval = await self._approvals.get(approval_id)
        if approval is None or not principal.may_answer(approval.user):
            raise NotFoundError(f"there is no request `{approval_id}`")
        if approval.state is not State.PENDING:
            raise AlreadyAnsweredError(approval)
        if answer.modified_input is not None:
            self._check_modified(approval, answer.modified_input)
        by = principal.user
        grant = await asyncio.to_thread(make_grant, approval, answer, by)
        return await self._store.commit(
            lambda cursor: questions.answer_question(
                cursor, self._log, approval_id, answer, by, grant=grant, expiry=self._expiry
            )
        )

    async def cancel(self, approval_id: str, why: str) -> Approval:
        """Withdraw a pending question; `why` is kept as `by`. Raises as `answer` does."""
        return await self._store.commit(
            lambda cursor: questions.end_question(cursor, self._log, approval_id, State.CANCELLED, why)
        )

    def preview(self, call: ToolCall, session: Session) -> Decision:
        """Decide without a record and without a question; what people said before counts."""
        return self._weigh(self._engines(call, session), call, session)[1]

    async def observe(self, call: ToolCall, session: Session, *, as_trial: bool = False) -> Decision:
        """Decide and record, and ask nobody: for a trial, or where the agent itself puts the question."""
        decision = self.preview(call, session)
        summary = summarise(call, decision.reading)
        await self.record([evaluated(call, session, decision, f"trial: {summary}" if as_trial else summary)])
        return decision

    async def record(self, events: Sequence[Event]) -> tuple[int, ...]:
        """Append events and return their positions once they are durable; raises `StoreError` if they are not."""
        return await self._log.record(events)

    def _consent(self, session: Session) -> Consent:
        return self._standing.consent(session, self._store.wall_clock())

    def _weigh(
        self, engine: Decider, call: ToolCall, session: Session, heard: Sequence[Opinion] = ()
    ) -> tuple[Consent, Decision]:
        """Decide by what people said, leaving out every grant that was given for other programs than would run now."""
        consent = self._consent(session)
        while True:
            decision = engine.decide(call, session, consent, heard=heard)
            relied = relied_on(decision) if consent.grants and decision.verdict is ALLOW else ()
            programs = own_programs(decision, session) if relied else ()
            kept = tuple(g for g in consent.grants if g.id not in relied or binds(g, programs))
            if not programs or len(kept) == len(consent.grants):
                return consent, decision
            consent = msgspec.structs.replace(consent, grants=kept)

    async def _decide(self, call: ToolCall, session: Session, prefix: str, aside: Aside, *, waiting: bool) -> Ruling:
        engine = self._engines(call, session)
        consent, decision = self._weigh(engine, call, session, aside.heard)
        verdict = decision.verdict
        if verdict is ALLOW:
            relied = relied_on(decision) if consent.grants else ()
            return await self._record(call, session, decision, relied, aside.then)
        if verdict is ASK:
            return await self._ask(_Case(call, session, decision, prefix, waiting, aside))
        if decision.reading.destructive and not consent.destructive:
            case = _Case(call, session, decision, prefix, waiting, aside)
            return await self._reconsider(engine, consent, case)
        return await self._record(call, session, decision, ())

    async def _record(
        self,
        call: ToolCall,
        session: Session,
        decision: Decision,
        relied: Sequence[str],
        then: Sequence[Event] = (),
    ) -> Ruling:
        """Write one decision down; an allow by grants only if they still hold in that very transaction."""
        entry = self._prepare(call, session, decision)
        more = [self._log.prepare(event) for event in then] if decision.available else ()

        def work(cursor: Cursor) -> None:
            if relied and not are_standing(cursor, relied):
                raise _StaleError
            self._log.append(cursor, (entry, *more))

        await self._store.commit(work)
        return Ruling(decision=decision, position=entry.position)

    def _prepare(self, call: ToolCall, session: Session, decision: Decision) -> Entry:
        """Make a decision's record. One that an engine remembered, for a call that came again, is made once."""
        kept = self._prepared.get(id(decision))
        if kept is not None and kept.decision is decision and kept.call == call and kept.session == session:
            return Entry(kept.columns)
        entry = self._log.prepare(evaluated(call, session, decision, summarise(call, decision.reading)))
        if len(entry.columns[-1]) <= _LARGEST_KEPT:
            if len(self._prepared) >= _MOST_KEPT:
                self._prepared.clear()
            self._prepared[id(decision)] = _Prepared(decision, call, session, entry.columns)
        return entry

    async def _reconsider(self, engine: Decider, consent: Consent, case: _Case) -> Ruling:
        """Look whether a person enabled, or already answered, this one destructive call; else it stays denied."""
        call, session, denial = case.call, case.session, case.decision
        widened = msgspec.structs.replace(consent, destructive=True)
        opened = engine.decide(call, session, widened, heard=case.aside.heard)
        if opened.verdict is not ASK:
            return await self._record(call, session, denial, ())
        enablement = self._standing.enablement_of(opened.digest, session, self._store.wall_clock())
        return await self._ask(
            msgspec.structs.replace(
                case, decision=opened, enablement=enablement, denial=denial if enablement is None else None
            )
        )

    async def _ask(self, case: _Case) -> Ruling:
        """Use the answer that waits for this call; else join the pending question, or open one."""
        approval_id = questions.new_id(case.prefix, self._store.wall_clock())
        put = await self._store.commit(lambda cursor: self._put_question(cursor, approval_id, case))
        if put.entry is not None:
            return Ruling(decision=put.decision, approval=put.approval, position=put.entry.position)
        ruling = await self._conclude(case.call, case.session, put.approval, case.decision, case.aside)
        if ruling is None:
            raise _StaleError
        return ruling

    def _put_question(self, cursor: Cursor, approval_id: str, case: _Case) -> _Put:
        decision, call = case.decision, case.call
        settled = questions.find_settled(cursor, decision.digest, case.kind, call.call_id)
        if settled is not None:
            return _Put(decision, settled)
        if case.denial is not None:
            return _Put(case.denial, None, self._append(cursor, case, case.denial))
        approval = questions.find_pending(cursor, decision.digest, case.kind, call.call_id)
        is_new = approval is None
        if approval is None:
            approval = case.make_question(approval_id, cursor.now, self._expiry, self._log.mask)
        decision = msgspec.structs.replace(decision, approval_action_id=approval.id, expires_at=approval.expires_at)
        entry = self._append(cursor, case, decision)
        if is_new:
            if case.enablement is not None and not use_enablement(cursor, case.enablement):
                raise _StaleError
            questions.open_question(cursor, self._log, approval)
        elif case.waiting:
            questions.mark_caller(cursor, approval.id, gone=False)
        return _Put(decision, approval, entry)

    def _append(self, cursor: Cursor, case: _Case, decision: Decision) -> Entry:
        summary = summarise(case.call, decision.reading)
        entry = self._log.prepare(evaluated(case.call, case.session, decision, summary))
        cursor.defer(self._log, entry)
        return entry

    async def _await_answer(self, approval_id: str, seconds: float) -> Approval | None:
        approval = None
        try:
            approval = await self._approvals.wait(approval_id, seconds, is_pending=True)
        finally:
            if approval is None:
                self._approvals.leave(approval_id)
        return approval

    async def _conclude(
        self, call: ToolCall, session: Session, approval: Approval | None, decision: Decision, aside: Aside
    ) -> Ruling | None:
        """Turn an outcome into a ruling; None if the yes was used by another call, or is for another boundary."""
        if approval is None or approval.state is not State.APPROVED:
            return await self._turn_down(call, session, approval, decision)
        answer = approval.answer
        changed = None if answer is None else answer.modified_input
        run = call if changed is None else msgspec.structs.replace(call, input=changed)
        # What was said about the input that was asked about says nothing about another.
        asked, decision = decision, self._decide_again(run, session, approval, aside.heard if changed is None else ())
        if decision.verdict is not ALLOW:
            return await self._record(run, session, strict(decision), ())
        if changed is None and leads_elsewhere(asked, decision):
            return await self._turn_down(call, session, approval, decision, moved=True)
        if changed is None and decision.digest != approval.digest:
            return None
        if changed is not None:
            decision = msgspec.structs.replace(decision, updated_input_ref=f"input:{approval.id}")
        entry = self._log.prepare(evaluated(run, session, decision, summarise(run, decision.reading)))
        more = [self._log.prepare(event) for event in aside.then] if decision.available else ()

        def work(cursor: Cursor) -> Approval | None:
            used = questions.use_answer(cursor, approval)
            if used is not None:
                self._log.append(cursor, (entry, *more))
            return used

        used = await self._store.commit(work)
        if used is None:
            return None
        return Ruling(decision=decision, approval=used, updated_input=changed, position=entry.position)

    def _decide_again(
        self, call: ToolCall, session: Session, approval: Approval, heard: Sequence[Opinion] = ()
    ) -> Decision:
        """Evaluate policy once more, with the person's yes. Who saw a destructive call has enabled it by saying yes."""
        consent = self._consent(session)
        seen = consent.destructive or approval.tier is Tier.DESTRUCTIVE
        consent = msgspec.structs.replace(consent, yes=True, destructive=seen)
        decision = self._engines(call, session).decide(call, session, consent, heard=heard)
        scope = None if approval.answer is None else approval.answer.scope
        return msgspec.structs.replace(decision, approval_action_id=approval.id, scope=scope)

    async def _turn_down(
        self, call: ToolCall, session: Session, approval: Approval | None, decision: Decision, *, moved: bool = False
    ) -> Ruling:
        """Deny what was not approved, or what a yes no longer is about; either way the answer is used up."""
        decision = refuse_moved(decision) if moved else turn_down(decision, approval)
        entry = self._log.prepare(evaluated(call, session, decision, summarise(call, decision.reading)))

        def work(cursor: Cursor) -> None:
            if approval is not None and (moved or approval.state is State.REJECTED):
                questions.use_answer(cursor, approval)
            cursor.defer(self._log, entry)

        await self._store.commit(work)
        return Ruling(decision=decision, approval=approval, position=entry.position)

    def _check_modified(self, approval: Approval, changed: dict[str, Any]) -> None:
        if approval.call is None:
            raise AlreadyAnsweredError(approval)
        call = msgspec.structs.replace(approval.call, input=changed)
        decision = self._decide_again(call, approval.session, approval)
        if decision.verdict is not ALLOW:
            raise RefusedError(decision)

    async def _refuse(self, call: ToolCall, session: Session, error: Exception) -> Ruling:
        """Deny what could not be decided or recorded; write that down, if it can be."""
        decision = self._last_resort.refuse(call, session, error)
        if isinstance(error, StoreError):
            reason = f"it can not be recorded: {error}"
            return Ruling(decision=msgspec.structs.replace(decision, decision_reason=reason))
        try:
            return await self._record(call, session, decision, ())
        except Exception:  # noqa: BLE001 - it is denied either way
            return Ruling(decision=decision)


class _Prepared(msgspec.Struct, frozen=True):
    """A record's columns, and all that they were made of."""

    decision: Decision
    """Kept, so that nothing else can come to have its identity."""
    call: ToolCall
    session: Session
    columns: tuple[Any, ...]


class _Case(msgspec.Struct, frozen=True):
    """A call on its way to a person."""

    call: ToolCall
    session: Session
    decision: Decision
    prefix: str
    waiting: bool
    aside: Aside = _NOTHING_ASIDE
    enablement: Enablement | None = None
    denial: Decision | None = None
    """What holds unless an answer waits for the call."""

    @property
    def kind(self) -> QuestionKind:
        """Tell a plain question from one that is to override an earlier refusal."""
        refused = any(o.verdict is ASK and "-deny-" in o.policy for o in self.decision.opinions)
        return "policy-deny-override" if refused and self.call.override else "ask"

    def make_question(self, approval_id: str, now: float, expiry: float, mask: Mask) -> Approval:
        """Draw up the question to a person."""
        call, session, decision = self.call, self.session, self.decision
        expires = now + expiry if call.deadline is None else max(now, min(now + expiry, call.deadline))
        return Approval(
            id=approval_id,
            state=State.PENDING,
            user=session.user,
            agent=session.agent,
            session=session,
            call=call,
            call_id=call.call_id,
            tool=decision.reading.tool,
            digest=decision.digest,
            tier=decision.reading.tier,
            reason=mask.text(visible(decision.decision_reason)),
            summary=mask.text(visible(summarise(call, decision.reading))),
            decision=decision,
            kind=self.kind,
            created_at=now,
            expires_at=expires,
            caller_gone=not self.waiting,
        )


class _Put(msgspec.Struct, frozen=True):
    """What became of a question: settled before (no entry), or recorded."""

    decision: Decision
    approval: Approval | None
    entry: Entry | None = None
