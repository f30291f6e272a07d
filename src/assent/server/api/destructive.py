"""`/api/destructive`: ask about destructive calls for a limited time. This allows nothing by itself."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from assent.model.principal import Role
from assent.server.http.messages import Request, reply
from assent.wire.grants import EnableBody, Enabled, EnablementList, Ended
from assent.wire.refusal import Refusal
from assent.wire.timestamps import millis

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.model import Enablement
    from assent.server.daemon import Daemon

LONGEST_MINUTES = 24 * 60


_BODY = msgspec.json.Decoder(EnableBody)


async def enable(daemon: Daemon, request: Request) -> Response:
    """Ask about destructive calls for a limited time."""
    body = request.decode(_BODY)
    if body.minutes is None or not (math.isfinite(body.minutes) and 0 < body.minutes <= LONGEST_MINUTES):
        raise Refusal(400, f"Invalid minutes: expected a number up to {LONGEST_MINUTES}")
    if sum(map(bool, (body.agent_id, body.session_id, body.digest))) != 1:
        raise Refusal(400, "Expected exactly one of agentId, sessionId, digest")
    enablement = await daemon.approvals.enable(
        request.who,
        body.minutes,
        agent=body.agent_id or None,
        session=body.session_id or None,
        digest=body.digest or None,
    )
    daemon.journal.note("warning", "destructive.enabled", id=enablement.id, by=request.who.user, minutes=body.minutes)
    return reply(_describe(enablement))


async def list_enablements(daemon: Daemon, request: Request) -> Response:
    """List the enablements in force."""
    who = request.who
    found = await daemon.approvals.enablements(user=None if who.role is Role.ADMIN else who.user)
    return reply(EnablementList(tuple(map(_describe, found))))


async def disable(daemon: Daemon, request: Request) -> Response:
    """End an enablement before its time."""
    enablement = await daemon.approvals.disable(request.path_params["id"], request.who)
    daemon.journal.note("info", "destructive.revoked", id=enablement.id, by=request.who.user)
    return reply(Ended(success=True, id=enablement.id))


def _describe(enablement: Enablement) -> Enabled:
    return Enabled(
        id=enablement.id,
        user_id=enablement.user,
        agent_id=enablement.agent,
        session_id=enablement.session,
        digest=enablement.digest,
        until=millis(enablement.until),
        created_at=millis(enablement.created_at),
        by=enablement.by,
    )
