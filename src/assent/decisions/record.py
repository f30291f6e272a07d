"""Record decisions in the audit log. A ruling is returned only after its events are durable."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assent.audit.entry import LogEntry
from assent.audit.log import Log
from assent.decisions.approvals import transitions
from assent.decisions.decision_entries import DecisionEntries
from assent.decisions.grants.active_grants import are_active, check_run
from assent.decisions.ruling import Ruling, StaleError
from assent.decisions.ticket_rows import put_ticket
from assent.decisions.tickets import Tickets
from assent.model import ALLOW, Approval, Decision, Event, Session, State, StoreError, Ticket, ToolCall
from assent.policy.engine import Engine
from assent.store.cursor import Cursor
from assent.store.store import Store


class Recorder:
    """Records decisions, each in one transaction with the answers, grants and tickets that it uses."""

    def __init__(self, store: Store, log: Log, tickets: Tickets) -> None:
        self._store = store
        self._log = log
        self._tickets = tickets
        self._entries = DecisionEntries(log)
        self._fallback = Engine()

    def make_entry(self, call: ToolCall, session: Session, decision: Decision) -> LogEntry:
        """Make the log entry of a decision, to be appended in a transaction."""
        return self._entries.make(call, session, decision)

    async def record(
        self,
        call: ToolCall,
        session: Session,
        decision: Decision,
        grant_ids: Sequence[str] = (),
        events: Sequence[Event | LogEntry] = (),
        *,
        is_rewritten: bool = False,
    ) -> Ruling:
        """Record a decision with the events that follow an allow.

        Raises `StaleError` if one of the grants that the decision relies on is no longer active in this transaction.
        """
        decision, ticket = (decision, None) if is_rewritten else self._tickets.issue(call, session, decision)
        entry = self.make_entry(call, session, decision)
        more = self._prepare(events if decision.verdict is ALLOW else ())

        def work(cursor: Cursor) -> None:
            if grant_ids and not are_active(cursor, grant_ids):
                raise StaleError
            transitions.use_with_grants(cursor, grant_ids, decision.digest)
            if decision.verdict is ALLOW:
                check_run(cursor, session)
            self._append(cursor, (entry, *more), ticket)

        await self._store.commit(work)
        return Ruling(
            decision=decision,
            ticket=ticket,
            sandboxed_input=self._tickets.rewrite(ticket),
            is_rewritten=is_rewritten,
            position=entry.position,
        )

    async def record_release(
        self,
        call: ToolCall,
        session: Session,
        approval: Approval,
        decision: Decision,
        events: Sequence[Event | LogEntry],
    ) -> Ruling | None:
        """Record that an answer lets a call run. This uses the answer up; None if another call has used it."""
        decision, ticket = self._tickets.issue(call, session, decision)
        if decision.verdict is not ALLOW:
            return await self.record_refusal(call, session, approval, decision)
        entry = self.make_entry(call, session, decision)
        more = self._prepare(events)

        def work(cursor: Cursor) -> Approval | None:
            check_run(cursor, session)
            used = transitions.use_answer(cursor, approval)
            if used is not None:
                self._append(cursor, (entry, *more), ticket)
            return used

        used = await self._store.commit(work)
        if used is None:
            return None
        changed = None if approval.answer is None else approval.answer.modified_input
        return Ruling(
            decision=decision,
            approval=used,
            updated_input=changed,
            ticket=ticket,
            sandboxed_input=self._tickets.rewrite(ticket),
            position=entry.position,
        )

    async def record_refusal(
        self, call: ToolCall, session: Session, approval: Approval | None, denial: Decision
    ) -> Ruling:
        """Record a denial. This uses the answer up."""
        entry = self.make_entry(call, session, denial)

        def work(cursor: Cursor) -> None:
            if approval is not None and approval.state in (State.APPROVED, State.REJECTED):
                transitions.use_answer(cursor, approval)
            cursor.defer(self._log, entry)

        await self._store.commit(work)
        return Ruling(decision=denial, approval=approval, position=entry.position)

    async def record_move(
        self, call: ToolCall, session: Session, approval: Approval, denial: Decision, changed: tuple[ToolCall, str]
    ) -> Ruling | None:
        """Record a denial that moves the yes to the changed call, by its digest; None if another call has used it."""
        entry = self.make_entry(call, session, denial)

        def work(cursor: Cursor) -> Approval | None:
            moved = transitions.move_answer(cursor, approval, changed[1])
            if moved is not None:
                self._log.append(cursor, (entry,))
            return moved

        moved = await self._store.commit(work)
        if moved is None:
            return None
        return Ruling(decision=denial, approval=moved, changed_call=changed[0], position=entry.position)

    async def refuse(self, call: ToolCall, session: Session, error: Exception) -> Ruling:
        """Deny a call that could not be decided or recorded, and record the denial if the store can."""
        decision = self._fallback.refuse(call, session, error)
        if isinstance(error, StoreError):
            reason = f"the decision cannot be recorded: {error}"
            return Ruling(decision=msgspec.structs.replace(decision, decision_reason=reason))
        try:
            return await self.record(call, session, decision)
        except Exception:  # noqa: BLE001 - the call is denied either way
            return Ruling(decision=decision)

    def _prepare(self, events: Sequence[Event | LogEntry]) -> list[LogEntry]:
        return [each if isinstance(each, LogEntry) else self._log.prepare(each) for each in events]

    def _append(self, cursor: Cursor, entries: Sequence[LogEntry], ticket: Ticket | None) -> None:
        self._log.append(cursor, entries)
        if ticket is not None:
            put_ticket(cursor, ticket)
