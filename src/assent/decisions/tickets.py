"""Tickets: each lets a caller outside the daemon run one sandboxed call, once, and report what happened."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from assent.audit.log import Log
from assent.decisions.approvals.limits import TicketQuota
from assent.decisions.audit_events import unavailable
from assent.decisions.evaluate import Evaluator
from assent.decisions.grants.file_binding import bind, find_change
from assent.decisions.grants.reliance import deny_over_limit
from assent.decisions.ticket_rows import (
    TICKET_SECONDS,
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
from assent.model.decision import CLOCK_SLACK
from assent.sandbox.redeem.boundary_signature import boundary_message
from assent.sandbox.redeem.command_line import find_line, rewrite, words_digest
from assent.sandbox.redeem.launcher import launcher_words
from assent.sandbox.reports import SandboxOrigin, SandboxReport, event_of
from assent.store.cursor import Cursor
from assent.store.store import Store

DELETE_SECONDS = 3600.0
"""How often old tickets are deleted."""
FORGET_SECONDS = 60.0
"""How often the calls of expired tickets are deleted."""


class TicketError(AssentError):
    """A ticket cannot be used: it was used, expired, is for another call, or policy changed."""


class Tickets:
    """Issues, recognises and redeems tickets, and records reports. A process has one."""

    def __init__(self, evaluator: Evaluator, store: Store, log: Log, *, home: str = "", quota: TicketQuota) -> None:
        self._evaluator = evaluator
        self._store = store
        self._log = log
        self._launcher = launcher_words(home) if home else ()
        """The words that start every rewritten command; without a home there is no launcher."""
        self._quota = quota
        store.every(DELETE_SECONDS, has_old_tickets, clear_old_tickets)
        store.every(FORGET_SECONDS, has_unused_calls, forget_unused_calls)

    def issue(self, call: ToolCall, session: Session, decision: Decision) -> tuple[Decision, Ticket | None]:
        """Return a decision with the ticket for its call, if it needs one; a denial if the agent has too many."""
        ticket = self._make(call, session, decision)
        if ticket is None:
            return decision, None
        if (excess := self._quota.reserve(ticket)) is not None:
            return deny_over_limit(decision, excess), None
        return msgspec.structs.replace(decision, updated_input_ref=f"ticket:{ticket.id}"), ticket

    def _make(self, call: ToolCall, session: Session, decision: Decision) -> Ticket | None:
        """Make the ticket of a sandboxed command; None if the daemon itself, or nobody, can run it."""
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
            expires_at=now + TICKET_SECONDS,
        )

    def rewrite(self, ticket: Ticket | None) -> dict[str, Any] | None:
        """Return the input that runs a ticket's call inside its sandbox."""
        return None if ticket is None or not self._launcher else rewrite(ticket, self._launcher)

    async def decide_rewritten(self, ticket_id: str, call: ToolCall, session: Session) -> Decision | None:
        """Return the decision on a command that `rewrite` made for a ticket of the same session; None for any other."""
        ticket = await find_ticket(self._store, ticket_id)
        now = self._store.wall_clock()
        if ticket is None or ticket.call is None or not ticket.created_at - CLOCK_SLACK <= now < ticket.expires_at:
            return None
        same = msgspec.structs.replace(ticket.session, modes=session.modes) == session and ticket.call.cwd == call.cwd
        # The session's mode may have changed, and can only tighten.
        current = msgspec.structs.replace(ticket, session=session)
        # Exactly the command that was written, and nothing like it.
        decision = self._evaluator.redecide(current) if same and call.input == self.rewrite(ticket) else None
        if decision is None:
            return None
        reason = "runs an already decided call inside its sandbox"
        return msgspec.structs.replace(decision, decision_source=Source.SANDBOX, decision_reason=reason)

    async def redeem(
        self, ticket_id: str, words: Sequence[str], folder: str, principal: Principal
    ) -> tuple[Ticket, Decision]:
        """Use a ticket, once, to run exactly these words in this folder: return it with its decision.

        Raises `NotFoundError` (also for somebody else's ticket) or `TicketError`.
        """
        ticket = await self.find(ticket_id, principal)
        if ticket.used_at is not None:
            raise TicketError(f"ticket `{ticket_id}` was already used; make the same call again")
        if words_digest(words, folder) != ticket.line:
            raise TicketError(f"ticket `{ticket_id}` is for another command or folder; make this call by itself")
        decision = self._evaluator.redecide(ticket)
        if decision is None:
            raise TicketError(f"policy changed since ticket `{ticket_id}` was issued; make the same call again")
        await _check_bound(ticket, decision)
        if not await self._store.commit(lambda cursor: use_ticket(cursor, ticket_id)):
            raise TicketError(f"ticket `{ticket_id}` was already used, or expired; make the same call again")
        self._quota.release(ticket)
        return ticket, decision

    def seal(self, ticket: Ticket, nonce: str, *, asks: bool) -> str:
        """Sign a ticket's boundary with the caller's nonce, which proves that this daemon issued it."""
        return self._log.sign(boundary_message(ticket.id, nonce, ticket.line, ticket.boundary, asks=asks)).hex()

    async def report(
        self, ticket_id: str | None, run: str, reports: Sequence[SandboxReport], principal: Principal
    ) -> None:
        """Record what happened in a sandbox, durably. With a ticket, its command must be running."""
        ticket = None if ticket_id is None else await self.find(ticket_id, principal)
        origin = _origin(run, ticket, principal)
        events = [event_of(report, origin) for report in reports]
        setup_failures = [] if ticket is None else self._setup_failures(ticket, reports)
        entries = [self._log.prepare(event) for event in (*setup_failures, *events)]
        stopped = tuple(r.violation for r in reports if r.violation is not None)
        ended = any(r.is_end for r in reports)

        def work(cursor: Cursor) -> None:
            if ticket is not None and (stopped or not ended):
                add_stopped(cursor, ticket.id, stopped)
            if ticket is not None and ended:
                end_ticket(cursor, ticket.id)
            self._log.append(cursor, entries)

        await self._store.commit(work)

    def _setup_failures(self, ticket: Ticket, reports: Sequence[SandboxReport]) -> list[Event]:
        """Return the event that says that the sandbox could not be set up, if a report says so."""
        failed = next((r for r in reports if r.type == "runtime.error"), None)
        decision = None if failed is None else self._evaluator.redecide(ticket)
        if failed is None or decision is None or ticket.call is None:
            return []
        return [unavailable(ticket.call, ticket.session, decision, failed.reason or "unknown")]

    async def find(self, ticket_id: str, principal: Principal) -> Ticket:
        """Return a ticket, or raise `NotFoundError`, also for somebody else's."""
        ticket = await find_ticket(self._store, ticket_id)
        if ticket is None or not _is_of(ticket, principal):
            raise NotFoundError(f"there is no ticket `{ticket_id}`")
        return ticket


def _is_of(ticket: Ticket, principal: Principal) -> bool:
    """Tell whether a ticket is this principal's: an agent's token is for its own, not for those of its user's others.

    The launcher comes without a token, whichever agent's line it runs.
    """
    if principal.role is not Role.AGENT or principal.is_peer:
        return principal.role is Role.ADMIN or principal.user == ticket.session.user
    return (principal.user, principal.agent or "") == (ticket.session.user, ticket.session.agent)


async def _check_bound(ticket: Ticket, decision: Decision) -> None:
    """Raise `TicketError` if what would run is no longer what a person said yes to."""
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
    """Return what a sandboxed command would do outside as a call, so that a person can be asked about it."""
    is_network = violation.operation is NET_CONNECT
    about = {
        "program": violation.program,
        "commandLine": violation.command_line,
        "pid": violation.pid,
        "decision": ticket.id,
    }
    target = {"url": f"https://{violation.resource}/"} if is_network else {"file_path": violation.resource}
    return ToolCall(tool="WebFetch" if is_network else "Write", input={**target, **about}, cwd=ticket.boundary.cwd)
