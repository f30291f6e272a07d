"""Writing decisions down: a ruling leaves only after its events are durable."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assent.audit.entry import LogEntry
from assent.audit.log import Log
from assent.decisions.approvals import transitions
from assent.decisions.decision_records import Records
from assent.decisions.grants.active_grants import are_standing, check_run
from assent.decisions.ruling import Ruling, StaleError
from assent.decisions.ticket_rows import put_ticket
from assent.decisions.tickets import Tickets
from assent.model import ALLOW, Approval, Decision, Event, Session, State, StoreError, Ticket, ToolCall
from assent.policy.engine import Engine
from assent.store.cursor import Cursor
from assent.store.store import Store


class Recorder:
    """Writes decisions into the log, each with what it uses up in the same transaction."""

    def __init__(self, store: Store, log: Log, tickets: Tickets) -> None:
        self._store = store
        self._log = log
        self._tickets = tickets
        self._records = Records(log)
        self._last_resort = Engine()

    def make(self, call: ToolCall, session: Session, decision: Decision) -> LogEntry:
        """Make the record of a decision, to be appended in a transaction."""
        return self._records.make(call, session, decision)

    async def record(
        self,
        call: ToolCall,
        session: Session,
        decision: Decision,
        relied: Sequence[str] = (),
        then: Sequence[Event | LogEntry] = (),
        *,
        held: bool = False,
    ) -> Ruling:
        """Write one decision down; an allow by grants only if they still hold in that very transaction."""
        decision, ticket = (decision, None) if held else self._tickets.issue(call, session, decision)
        entry = self.make(call, session, decision)
        more = self._prepare(then if decision.verdict is ALLOW else ())

        def work(cursor: Cursor) -> None:
            if relied and not are_standing(cursor, relied):
                raise StaleError
            transitions.use_with_grants(cursor, relied, decision.digest)
            if decision.verdict is ALLOW:
                check_run(cursor, session)
            self._append(cursor, (entry, *more), ticket)

        await self._store.commit(work)
        instead = self._tickets.rewrite(ticket)
        return Ruling(decision=decision, ticket=ticket, instead=instead, held=held, position=entry.position)

    async def record_release(
        self, call: ToolCall, session: Session, approval: Approval, decision: Decision, then: Sequence[Event | LogEntry]
    ) -> Ruling | None:
        """Write down that an answer lets a call run, which uses the answer up; None if another call has used it."""
        decision, ticket = self._tickets.issue(call, session, decision)
        if decision.verdict is not ALLOW:
            return await self.record_refusal(call, session, approval, decision)
        entry = self.make(call, session, decision)
        more = self._prepare(then)

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
            instead=self._tickets.rewrite(ticket),
            position=entry.position,
        )

    async def record_refusal(
        self, call: ToolCall, session: Session, approval: Approval | None, denial: Decision
    ) -> Ruling:
        """Write down a denial that uses an answer up."""
        entry = self.make(call, session, denial)

        def work(cursor: Cursor) -> None:
            if approval is not None and approval.state in (State.APPROVED, State.REJECTED):
                transitions.use_answer(cursor, approval)
            cursor.defer(self._log, entry)

        await self._store.commit(work)
        return Ruling(decision=denial, approval=approval, position=entry.position)

    async def record_move(
        self, call: ToolCall, session: Session, approval: Approval, denial: Decision, changed: tuple[ToolCall, str]
    ) -> Ruling | None:
        """Write down a denial after which the yes is for another call, by its digest; None if a call has used it."""
        entry = self.make(call, session, denial)

        def work(cursor: Cursor) -> Approval | None:
            moved = transitions.move_answer(cursor, approval, changed[1])
            if moved is not None:
                self._log.append(cursor, (entry,))
            return moved

        moved = await self._store.commit(work)
        if moved is None:
            return None
        return Ruling(decision=denial, approval=moved, changed=changed[0], position=entry.position)

    async def refuse(self, call: ToolCall, session: Session, error: Exception) -> Ruling:
        """Deny what could not be decided or recorded; write that down, if it can be."""
        decision = self._last_resort.refuse(call, session, error)
        if isinstance(error, StoreError):
            reason = f"it can not be recorded: {error}"
            return Ruling(decision=msgspec.structs.replace(decision, decision_reason=reason))
        try:
            return await self.record(call, session, decision)
        except Exception:  # noqa: BLE001 - it is denied either way
            return Ruling(decision=decision)

    def _prepare(self, events: Sequence[Event | LogEntry]) -> list[LogEntry]:
        return [each if isinstance(each, LogEntry) else self._log.prepare(each) for each in events]

    def _append(self, cursor: Cursor, entries: Sequence[LogEntry], ticket: Ticket | None) -> None:
        self._log.append(cursor, entries)
        if ticket is not None:
            put_ticket(cursor, ticket)
