"""Sandboxed calls that are run outside the daemon: each gets a ticket, which is used once and reported on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from assent.audit.log import Log
from assent.decisions.approvals.limits import Room
from assent.decisions.audit_events import unavailable
from assent.decisions.evaluate import Evaluator
from assent.decisions.grants.file_binding import bind, find_change
from assent.decisions.grants.reliance import refuse_unasked
from assent.decisions.ticket_rows import (
    LIFE,
    add_stopped,
    clear_old_tickets,
    end_ticket,
    find_ticket,
    forget_unused_calls,
    has_old_tickets,
    has_unused_calls,
    new_id,
    use_ticket,
)
from assent.model import (
    NET_CONNECT,
    AssentError,
    Decision,
    Event,
    NotFoundError,
    Principal,
    Role,
    Session,
    Source,
    Ticket,
    ToolCall,
    Violation,
)
from assent.sandbox.redeem.boundary_signature import boundary_message
from assent.sandbox.redeem.command_line import find_line, rewrite, words_digest
from assent.sandbox.redeem.launcher import launcher_words
from assent.sandbox.reports import SandboxOrigin, SandboxReport, event_of
from assent.store.cursor import Cursor
from assent.store.store import Store

TIDY_SECONDS = 3600.0
FORGET_SECONDS = 60.0


class TicketError(AssentError):
    """A decision can not be run: it was used, has run out, is for something else, or no longer holds."""


class Tickets:
    """Makes, honours, trades in and follows tickets. One for a process."""

    def __init__(self, evaluator: Evaluator, store: Store, log: Log, *, home: str = "", room: Room) -> None:
        self._evaluator = evaluator
        self._store = store
        self._log = log
        self._launcher = launcher_words(home) if home else ()
        """What starts every line; without a home there is nothing to start."""
        self._room = room
        store.every(TIDY_SECONDS, has_old_tickets, clear_old_tickets)
        store.every(FORGET_SECONDS, has_unused_calls, forget_unused_calls)

    def issue(self, call: ToolCall, session: Session, decision: Decision) -> tuple[Decision, Ticket | None]:
        """Return a decision with what its call is run with, if that is a ticket; a denial where there is no room."""
        ticket = self._make(call, session, decision)
        if ticket is None:
            return decision, None
        if (excess := self._room.take(ticket)) is not None:
            return refuse_unasked(decision, excess), None
        return msgspec.structs.replace(decision, updated_input_ref=f"ticket:{ticket.id}"), ticket

    def _make(self, call: ToolCall, session: Session, decision: Decision) -> Ticket | None:
        """Make what the caller runs a sandboxed call with; None where the daemon itself, or nobody, can run it."""
        if decision.boundary is None or decision.decision != "sandboxed" or session.run or session.remote:
            return None
        line, now = find_line(call), self._store.wall_clock()
        if line is None:
            return None
        return Ticket(
            id=new_id(now),
            session=session,
            call=call,
            line=line.digest,
            digest=decision.digest,
            boundary=msgspec.structs.replace(decision.boundary, cwd=line.folder),
            approval=decision.approval_action_id,
            bound=decision.reading.bound,
            created_at=now,
            expires_at=now + LIFE,
        )

    def rewrite(self, ticket: Ticket | None) -> dict[str, Any] | None:
        """Return the input that runs a ticket's call inside its boundary."""
        return None if ticket is None or not self._launcher else rewrite(ticket, self._launcher)

    async def honour(self, ticket_id: str, call: ToolCall, session: Session) -> Decision | None:
        """Return the decision behind a line that was written for a ticket of this very session; None for any other."""
        ticket = await find_ticket(self._store, ticket_id)
        if ticket is None or ticket.call is None or ticket.expires_at <= self._store.wall_clock():
            return None
        same = msgspec.structs.replace(ticket.session, modes=session.modes) == session and ticket.call.cwd == call.cwd
        now = msgspec.structs.replace(ticket, session=session)  # a mode that the agent is in by now may only tighten
        # Exactly the line that was written, and nothing like it.
        decision = self._evaluator.holds(now) if same and call.input == self.rewrite(ticket) else None
        if decision is None:
            return None
        reason = "it runs a decided call inside its boundary"
        return msgspec.structs.replace(decision, decision_source=Source.SANDBOX, decision_reason=reason)

    async def redeem(
        self, ticket_id: str, words: Sequence[str], folder: str, principal: Principal
    ) -> tuple[Ticket, Decision]:
        """Trade a ticket in, once, for the boundary of exactly these words in this folder.

        Raises `NotFoundError` (also for what is somebody else's) or `TicketError`.
        """
        ticket = await self.find(ticket_id, principal)
        if ticket.used_at is not None:
            raise TicketError("this decision was used before; make the same call again")
        if words_digest(words, folder) != ticket.line:
            raise TicketError("this decision is for another command, or for another folder")
        decision = self._evaluator.holds(ticket)
        if decision is None:
            raise TicketError("this decision no longer holds; make the same call again")
        await _check_bound(ticket, decision)
        if not await self._store.commit(lambda cursor: use_ticket(cursor, ticket_id)):
            raise TicketError("this decision was used before, or has run out; make the same call again")
        self._room.leave(ticket)
        return ticket, decision

    def seal(self, ticket: Ticket, nonce: str, *, asks: bool) -> str:
        """Sign a boundary for whoever asked for it with this nonce, so that they know whose it is."""
        return self._log.sign(boundary_message(ticket.id, nonce, ticket.line, ticket.boundary, asks=asks)).hex()

    async def report(
        self, ticket_id: str | None, run: str, reports: Sequence[SandboxReport], principal: Principal
    ) -> None:
        """Record what happened, durably. What belongs to a ticket must be under way by it."""
        ticket = None if ticket_id is None else await self.find(ticket_id, principal)
        origin = _origin(run, ticket, principal)
        events = [event_of(report, origin) for report in reports]
        lacking = None if ticket is None else self._lacking(ticket, reports)
        entries = [self._log.prepare(event) for event in (*([lacking] if lacking is not None else ()), *events)]
        stopped = tuple(r.violation for r in reports if r.violation is not None)
        ended = any(r.is_end for r in reports)

        def work(cursor: Cursor) -> None:
            if ticket is not None and (stopped or not ended):
                add_stopped(cursor, ticket.id, stopped)
            if ticket is not None and ended:
                end_ticket(cursor, ticket.id)
            self._log.append(cursor, entries)

        await self._store.commit(work)

    def _lacking(self, ticket: Ticket, reports: Sequence[SandboxReport]) -> Event | None:
        """Say, before anything else, that a boundary could not be set up, if that is what is told."""
        failed = next((r for r in reports if r.type == "runtime.error"), None)
        decision = None if failed is None else self._evaluator.holds(ticket)
        if failed is None or decision is None or ticket.call is None:
            return None
        return unavailable(ticket.call, ticket.session, decision, failed.reason or "unknown")

    async def find(self, ticket_id: str, principal: Principal) -> Ticket:
        """Return a ticket, or raise `NotFoundError`, also for what is somebody else's."""
        ticket = await find_ticket(self._store, ticket_id)
        if ticket is None or (principal.user != ticket.session.user and principal.role is not Role.ADMIN):
            raise NotFoundError(f"there is no decision `{ticket_id}`")
        return ticket


async def _check_bound(ticket: Ticket, decision: Decision) -> None:
    """Raise `TicketError` if what a person said yes to is no longer what would run."""
    if ticket.approval is None or ticket.call is None:
        return
    now = await asyncio.to_thread(bind, ticket.call, ticket.session, decision)
    if (change := find_change(ticket.bound, now.reading.bound)) is not None:
        raise TicketError(f"since the approval, {change}; make the same call again")


def _origin(run: str, ticket: Ticket | None, principal: Principal) -> SandboxOrigin:
    reporter = principal.token or principal.role.value
    if ticket is None:
        return SandboxOrigin(run=run, user=principal.user, agent=principal.agent or "", reporter=reporter)
    return SandboxOrigin(
        run=run,
        user=ticket.session.user,
        agent=ticket.session.agent,
        session=ticket.session.id,
        ticket=ticket.id,
        digest=ticket.digest,
        approval=ticket.approval,
        reporter=reporter,
    )


def outside_call(violation: Violation, ticket: Ticket) -> ToolCall:
    """Say as a call what a sandboxed command would do outside: people are asked about it as about any other."""
    is_far = violation.operation is NET_CONNECT
    about = {
        "program": violation.program,
        "commandLine": violation.command_line,
        "pid": violation.pid,
        "decision": ticket.id,
    }
    target = {"url": f"https://{violation.resource}/"} if is_far else {"file_path": violation.resource}
    return ToolCall(tool="WebFetch" if is_far else "Write", input={**target, **about}, cwd=ticket.boundary.cwd)
