"""What every dialect calls: a call is decided, recorded and, where a person must say, asked about.

A ruling leaves only after its events are durable. What can not be written is a denial that says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

import msgspec

from assent.approvals import questions
from assent.approvals.binding import bind, find_unseen
from assent.approvals.book import Approvals, refuse_agents
from assent.approvals.cases import NOTHING_ASIDE, Aside, Case, Put
from assent.approvals.errors import AdminNeededError, AlreadyAnsweredError, ContradictionError, RefusedError
from assent.approvals.events import evaluated
from assent.approvals.grants import check_answer, make_grant, read_pattern
from assent.approvals.limits import Limits, Room, find_excess
from assent.approvals.outcome import (
    ask_again,
    find_difference,
    leaves_run,
    places_of,
    refuse_changed,
    refuse_unasked,
    refuse_unseen,
    relied_on,
    strict,
    turn_down,
)
from assent.approvals.records import Records
from assent.approvals.standing import are_standing, check_run, use_enablement
from assent.approvals.summary import summarise
from assent.approvals.tickets import put_ticket
from assent.audit.entry import Entry
from assent.audit.log import Log
from assent.engine import Engine
from assent.model import (
    ALLOW,
    ASK,
    DENY,
    Answer,
    Approval,
    Consent,
    Decision,
    Event,
    Grant,
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
from assent.policy.proposing import propose
from assent.sandbox.lines import named_ticket
from assent.store.cursor import Cursor
from assent.store.store import Store
from assent.tickets import Tickets
from assent.weighing import Engines, Weighing

OnAsk: TypeAlias = Callable[[Approval], Awaitable[None]]
"""Is told of a question once it lasts, and before its answer is waited for."""
EXPIRY = 1800.0
"""How long a question waits for its answer, and an unused yes for its call, in seconds."""
_MOST_TRIES = 5


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that is on record."""

    decision: Decision
    """Where its verdict is ask, `approval` is the question, and `approval_action_id` its id."""
    approval: Approval | None = None
    """The question that is pending, or the one whose answer made this decision."""
    updated_input: dict[str, Any] | None = None
    """What to run instead of the call's own input, if a person changed it."""
    ticket: Ticket | None = None
    """What a sandboxed call can be run with, by whoever runs it outside the daemon."""
    instead: dict[str, Any] | None = None
    """The input that does so: the same call, inside its boundary."""
    held: bool = False
    """The call is that input already, and may run as it is."""
    changed: ToolCall | None = None
    """What a person changed the call to, where its caller must make that call itself: it passes once."""
    position: int = 0
    """Where in the log its (last) event is; 0 if it could not be written, and then it is a deny."""


class Weighed(msgspec.Struct, frozen=True, gc=False):
    """A call that was decided without waiting for anything, and not recorded yet."""

    call: ToolCall
    session: Session
    heard: tuple[Consent, Decision] | None = None
    """What was decided, by what people said; None where it takes more than a look to find out."""
    settled: bool = False
    """Nothing is missing but its record."""


class _StaleError(Exception):
    """What a decision relied on has changed since."""

    why: str = ""
    """What a person is told, if it is what they said yes to."""


class _ChangedError(_StaleError):
    """What a person said yes to is no longer what would run."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Gate:
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
        limits: Limits = Limits(),  # noqa: B008 - it cannot change
    ) -> None:
        self._limits = limits
        self._weighing = Weighing(engines, store, approvals.standing)
        self.tickets = Tickets(self._weighing, store, log, home=home, room=Room(limits))
        self._store = store
        self._log = log
        self._approvals = approvals
        self._standing = approvals.standing
        self._expiry = expiry
        self._last_resort = Engine()
        self._records = Records(log)

    async def decide(
        self,
        call: ToolCall,
        session: Session,
        *,
        prefix: str = "perm",
        waiting: bool = False,
        aside: Aside = NOTHING_ASIDE,
    ) -> Ruling:
        """Decide a call and record it durably; an ask opens a question, or joins the one that is pending.

        An answer given meanwhile to the same call (same digest) is used here, once. Never raises for anything
        that is wrong with the call or the store: that is a denial. `prefix` begins the question's id
        (`perm_…`, `hook_…`); `waiting` says that the caller stays for the answer.
        """
        return await self._try(call, session, prefix, aside, waiting=waiting)

    def weigh(self, asked: Sequence[tuple[ToolCall, Session]]) -> list[Weighed]:
        """Decide calls as far as that goes at once: for `record_all` if settled, each other for `decide_weighed`.

        Never raises: what goes wrong here goes wrong there again, and is a denial.
        """
        begun = [self._begin(call, session) for call, session in asked]
        return [_weigh(call, session, begin) for (call, session), begin in zip(asked, begun, strict=True)]

    def _begin(self, call: ToolCall, session: Session) -> Callable[[], tuple[Consent, Decision]] | None:
        """Read a call; None for one of which more than a look tells how it is decided."""
        try:
            return None if session.run or named_ticket(call) is not None else self._weighing.begin(call, session)
        except Exception:  # noqa: BLE001 - as above
            return None

    async def decide_weighed(self, weighed: Weighed, *, prefix: str = "perm") -> Ruling:
        """Go on with what `weigh` began, as `decide` does."""
        return await self._try(weighed.call, weighed.session, prefix, NOTHING_ASIDE, heard=weighed.heard, waiting=False)

    async def record_all(self, weighed: Sequence[Weighed]) -> list[Ruling]:
        """Write down, in one transaction, what is settled. Never raises, as `decide`."""
        try:
            decisions = [each.heard[1] for each in weighed if each.heard is not None and each.settled]
            decided = [(w.call, w.session, d) for w, d in zip(weighed, decisions, strict=True)]
            entries = self._records.make_all(decided)
            await self._store.commit(lambda cursor: self._log.append(cursor, entries))
            return [Ruling(decision=d, position=e.position) for d, e in zip(decisions, entries, strict=True)]
        except Exception as error:  # noqa: BLE001 - whatever it is, an unrecorded call is denied
            fault = error
        return await asyncio.gather(*(self._refuse(each.call, each.session, fault) for each in weighed))

    async def _try(
        self,
        call: ToolCall,
        session: Session,
        prefix: str,
        aside: Aside,
        *,
        waiting: bool,
        heard: tuple[Consent, Decision] | None = None,
        again: str = "",
    ) -> Ruling:
        fault: Exception = StoreError("what people said kept changing while it was decided")
        for _ in range(_MOST_TRIES):
            try:
                return await self._decide(call, session, prefix, aside, waiting=waiting, heard=heard, again=again)
            except _StaleError as stale:
                heard, again = None, stale.why or again
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
        aside: Aside = NOTHING_ASIDE,
        on_ask: OnAsk | None = None,
    ) -> Ruling:
        """Decide; where a person must say, wait for up to `wait` seconds, then decide again by the answer.

        When the time is up the ruling is the ask, and the question stays pending without its caller. `on_ask` is
        told of the question before the wait.
        """
        end, again = time.monotonic() + wait, ""
        while True:
            ruling = await self._try(call, session, prefix, aside, waiting=wait > 0, again=again)
            if ruling.approval is None or ruling.decision.verdict is not ASK:
                return ruling
            approval = await self._await_answer(ruling.approval, end, on_ask)
            if approval is None:
                return ruling
            try:
                settled = await self._conclude(call, session, approval, ruling.decision, aside)
            except _ChangedError as changed:
                settled, again = None, changed.why
            except Exception as error:  # noqa: BLE001 - as in `decide`
                return await self._refuse(call, session, error)
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
        seen, changed = approval.decision, answer.modified_input
        if changed is not None:
            run = msgspec.structs.replace(approval.call, input=changed)
            seen = self._check_modified(run, approval)
            seen = await asyncio.to_thread(bind, run, approval.session, seen)
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
                lambda cursor: questions.answer_question(
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
            lambda cursor: questions.end_question(cursor, self._log, approval_id, State.CANCELLED, why)
        )

    def preview(self, call: ToolCall, session: Session) -> Decision:
        """Decide without a record and without a question; what people said before counts."""
        return self._weighing.weigh(call, session)[1]

    async def observe(self, call: ToolCall, session: Session, *, as_trial: bool = False) -> Decision:
        """Decide and record, and ask nobody: for a trial, or where the agent itself puts the question."""
        decision = self.preview(call, session)
        summary = summarise(call, decision.reading)
        await self.record([evaluated(call, session, decision, f"trial: {summary}" if as_trial else summary)])
        return decision

    async def record(self, events: Sequence[Event]) -> tuple[int, ...]:
        """Append events and return their positions once they are durable; raises `StoreError` if they are not."""
        return await self._log.record(events)

    async def _decide(
        self,
        call: ToolCall,
        session: Session,
        prefix: str,
        aside: Aside,
        *,
        waiting: bool,
        heard: tuple[Consent, Decision] | None,
        again: str,
    ) -> Ruling:
        named = named_ticket(call)
        honoured = None if named is None else await self.tickets.honour(named, call, session)
        if honoured is not None:
            return await self._record(call, session, honoured, (), aside.after(honoured, call), held=True)
        consent, decision = heard or await self._weighing.decide(call, session, aside.heard)
        verdict = decision.verdict
        if verdict is ALLOW:
            relied = relied_on(decision) if consent.grants else ()
            return await self._record(call, session, decision, relied, aside.after(decision, call))
        if verdict is ASK:
            return await self._ask(Case(call, session, decision, prefix, waiting, aside, again=again))
        if _may_be_enabled(consent, decision):
            case = Case(call, session, decision, prefix, waiting, aside, again=again)
            return await self._reconsider(consent, case)
        return await self._record(call, session, decision, ())

    async def _record(
        self,
        call: ToolCall,
        session: Session,
        decision: Decision,
        relied: Sequence[str],
        then: Sequence[Event | Entry] = (),
        *,
        held: bool = False,
    ) -> Ruling:
        """Write one decision down; an allow by grants only if they still hold in that very transaction."""
        decision, ticket = (decision, None) if held else self.tickets.issue(call, session, decision)
        entry = self._records.make(call, session, decision)
        then = then if decision.verdict is ALLOW else ()
        more = [each if isinstance(each, Entry) else self._log.prepare(each) for each in then]

        def work(cursor: Cursor) -> None:
            if relied and not are_standing(cursor, relied):
                raise _StaleError
            questions.use_with_grants(cursor, relied, decision.digest)
            if decision.verdict is ALLOW:
                check_run(cursor, session)
            self._log.append(cursor, (entry, *more))
            if ticket is not None:
                put_ticket(cursor, ticket)

        await self._store.commit(work)
        instead = self.tickets.rewrite(ticket)
        return Ruling(decision=decision, ticket=ticket, instead=instead, held=held, position=entry.position)

    async def _reconsider(self, consent: Consent, case: Case) -> Ruling:
        """Look whether a person enabled, or already answered, this one destructive call; else it stays denied."""
        call, session, denial = case.call, case.session, case.decision
        widened = msgspec.structs.replace(consent, destructive=True)
        opened = self._weighing.weigh(call, session, widened, case.aside.heard)[1]
        if opened.verdict is not ASK:
            return await self._record(call, session, denial, ())
        enablement = self._standing.enablement_of(opened.digest, session, self._store.wall_clock())
        return await self._ask(
            msgspec.structs.replace(
                case, decision=opened, enablement=enablement, denial=denial if enablement is None else None
            )
        )

    async def _ask(self, case: Case) -> Ruling:
        """Use the answer that waits for this call; else join the pending question, or open one."""
        approval_id = questions.new_id(case.prefix, self._store.wall_clock())
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
        ruling = await self._conclude(case.call, case.session, put.approval, case.decision, case.aside)
        if ruling is None:
            raise _StaleError
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
        decided = self._weighing.engines(call, session).decide(call, session, trial)
        return pattern if decided.verdict is ALLOW else ""

    def _put_question(self, cursor: Cursor, approval_id: str, case: Case) -> Put:
        decision, call = case.decision, case.call
        check_run(cursor, case.session)
        settled = questions.find_settled(cursor, decision.digest, case.kind, call.call_id)
        if settled is not None:
            return Put(decision, settled)
        approval = questions.find_pending(cursor, decision.digest, case.kind, call.call_id)
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
                raise _StaleError
            questions.open_question(cursor, self._log, approval)
        elif case.waiting:
            questions.mark_caller(cursor, approval.id, gone=False)
        return Put(decision, approval, entry)

    def _append(self, cursor: Cursor, case: Case, decision: Decision) -> Entry:
        entry = self._records.make(case.call, case.session, decision)
        cursor.defer(self._log, entry)
        return entry

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
        heard, asked = aside.heard if changed is None else (), decision
        decision = await self._weighing.release(run, session, approval, heard)
        if decision.verdict is not ALLOW:
            return await self._record(run, session, strict(decision), ())
        if changed is None and decision.digest != approval.digest:
            return None
        decision = await self._check_bound(run, session, approval, decision)
        if decision.verdict is not ALLOW:
            return await self._turn_down(run, session, approval, decision)
        if changed is not None and decision.boundary is None and not call.rewritable:
            return await self._hand_over(call, session, approval, (asked, decision), run)
        decision = decision if changed is None else _with_input(decision, approval)
        return await self._release(run, session, approval, decision, aside)

    async def _release(
        self, run: ToolCall, session: Session, approval: Approval, decision: Decision, aside: Aside
    ) -> Ruling | None:
        """Use a yes up for what runs by it; None if another call did."""
        decision, ticket = self.tickets.issue(run, session, decision)
        if decision.verdict is not ALLOW:
            return await self._turn_down(run, session, approval, decision)
        entry = self._records.make(run, session, decision)
        then = aside.after(decision, run)
        more = [each if isinstance(each, Entry) else self._log.prepare(each) for each in then]

        def work(cursor: Cursor) -> Approval | None:
            check_run(cursor, session)
            used = questions.use_answer(cursor, approval)
            if used is not None:
                self._log.append(cursor, (entry, *more))
                if ticket is not None:
                    put_ticket(cursor, ticket)
            return used

        used = await self._store.commit(work)
        if used is None:
            return None
        return Ruling(
            decision=decision,
            approval=used,
            updated_input=None if approval.answer is None else approval.answer.modified_input,
            ticket=ticket,
            instead=self.tickets.rewrite(ticket),
            position=entry.position,
        )

    async def _hand_over(
        self, call: ToolCall, session: Session, approval: Approval, decided: tuple[Decision, Decision], run: ToolCall
    ) -> Ruling | None:
        """Deny a call that a person changed; the yes goes over to the changed one. None if another call used it."""
        asked, released = decided
        denial = refuse_changed(asked, approval)
        entry = self._records.make(call, session, denial)

        def work(cursor: Cursor) -> Approval | None:
            moved = questions.move_answer(cursor, approval, released.digest)
            if moved is not None:
                self._log.append(cursor, (entry,))
            return moved

        moved = await self._store.commit(work)
        if moved is None:
            return None
        return Ruling(decision=denial, approval=moved, changed=run, position=entry.position)

    async def _check_bound(self, run: ToolCall, session: Session, approval: Approval, decision: Decision) -> Decision:
        """Return the decision, as a denial where it can not be checked; raise if what would run is something else."""
        decision = await asyncio.to_thread(bind, run, session, decision)
        unseen = find_unseen(decision.reading.bound)
        if unseen is not None:
            return refuse_unseen(decision, unseen)
        difference = find_difference(approval.answer, decision)
        if difference is not None:
            await self._store.commit(lambda cursor: questions.use_answer(cursor, approval))
            raise _ChangedError(difference)
        return decision

    async def _turn_down(
        self, call: ToolCall, session: Session, approval: Approval | None, decision: Decision
    ) -> Ruling:
        """Deny what was not approved, or what nobody can tell to be what was; either way the answer is used up."""
        decision = decision if decision.verdict is DENY else turn_down(decision, approval)
        entry = self._records.make(call, session, decision)

        def work(cursor: Cursor) -> None:
            if approval is not None and approval.state in (State.APPROVED, State.REJECTED):
                questions.use_answer(cursor, approval)
            cursor.defer(self._log, entry)

        await self._store.commit(work)
        return Ruling(decision=decision, approval=approval, position=entry.position)

    def _check_modified(self, changed: ToolCall, approval: Approval) -> Decision:
        decision = self._weighing.again(changed, approval.session, approval)
        if decision.verdict is not ALLOW:
            raise RefusedError(decision)
        return decision

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


def _refuse_beyond(approval: Approval, seen: Decision) -> None:
    """Raise `AdminNeededError` where a yes, as it was asked for or as changed, would let a run leave its workspace."""
    asked = approval.decision
    if leaves_run(seen, approval.session) or (asked is not None and leaves_run(asked, approval.session)):
        raise AdminNeededError(approval)


def _weigh(call: ToolCall, session: Session, begun: Callable[[], tuple[Consent, Decision]] | None) -> Weighed:
    """Decide a call that was read, if it was, and tell whether nothing is missing but its record."""
    try:
        if begun is None:
            return Weighed(call, session)
        consent, decision = heard = begun()
        if decision.boundary is not None:
            return Weighed(call, session)
        if decision.verdict is ALLOW:
            return Weighed(call, session, heard, settled=not (consent.grants and relied_on(decision)))
        return Weighed(
            call, session, heard, settled=decision.verdict is DENY and not _may_be_enabled(consent, decision)
        )
    except Exception:  # noqa: BLE001 - as `Gate.weigh` says
        return Weighed(call, session)


def _may_be_enabled(consent: Consent, denial: Decision) -> bool:
    """Tell whether a person's answer to this one call could make more than a denial of it."""
    return denial.reading.destructive and not consent.destructive


def _with_input(decision: Decision, approval: Approval) -> Decision:
    return msgspec.structs.replace(decision, updated_input_ref=f"input:{approval.id}")
