"""`/api/sandbox/…`: what `assent run` requests and reports: a decision's boundary, and the events inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from assent.decisions.tickets import TicketError, outside_call
from assent.model import ALLOW, Mode, NotFoundError, Role
from assent.server.http.messages import Request, reply
from assent.wire.refusal import Refusal
from assent.wire.sandbox import Answered, AskBody, Recorded, RedeemBody, Redeemed, ReportBody

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.server.daemon import Daemon


_ASK = msgspec.json.Decoder(AskBody)
_REDEEM = msgspec.json.Decoder(RedeemBody)
_REPORT = msgspec.json.Decoder(ReportBody)


async def redeem(daemon: Daemon, request: Request) -> Response:
    """Redeem a decision for its boundary, once."""
    body = request.decode(_REDEEM)
    try:
        ticket, decision = await daemon.decisions.redeem(body.decision_id, body.argv, body.cwd, request.who)
    except TicketError as error:
        raise Refusal(409, str(error)) from None
    asks = decision.mode is Mode.ON_FAILURE
    return reply(Redeemed(ticket.boundary, asks=asks, seal=daemon.decisions.seal(ticket, body.nonce, asks=asks)))


async def report(daemon: Daemon, request: Request) -> Response:
    """Record the events of a sandbox; only people may report events without a decision."""
    body = request.decode(_REPORT)
    if body.decision_id is None and request.who.role is Role.AGENT:
        raise Refusal(403, "Forbidden")
    await daemon.decisions.report(body.decision_id, body.run_id, body.events, request.who)
    if any(event.stopped == "boundary" for event in body.events):
        daemon.journal.note("error", "sandbox.lost", run=body.run_id, decision=body.decision_id)
    return reply(Recorded(len(body.events)))


async def ask(daemon: Daemon, request: Request) -> Response:
    """Ask about an operation outside the boundary, like any call of the session, while the command waits."""
    body = request.decode(_ASK)
    ticket = await daemon.decisions.find_ticket(body.decision_id, request.who)
    if not ticket.boundary.ask or ticket.used_at is None or ticket.ended_at is not None:
        raise NotFoundError("nothing that may ask runs by this decision")
    call = outside_call(body.violation, ticket)
    ruling = await daemon.settle(request, call, ticket.session, daemon.settings.wait)
    allow = ruling.decision.verdict is ALLOW and ruling.decision.boundary is None and ruling.updated_input is None
    return reply(Answered(allow, ruling.decision.decision_reason))
