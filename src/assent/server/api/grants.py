"""`/api/grants`: list and revoke the grants of a user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assent.model.principal import Role
from assent.server.http.messages import Request, reply
from assent.wire.grants import Ended, GrantList, StandingAnswer
from assent.wire.timestamps import millis

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.model import Grant
    from assent.server.daemon import Daemon


async def list_grants(daemon: Daemon, request: Request) -> Response:
    """List the grants in force."""
    who = request.who
    found = await daemon.approvals.grants(user=None if who.role is Role.ADMIN else who.user)
    return reply(GrantList(tuple(map(_describe, found))))


async def revoke_grant(daemon: Daemon, request: Request) -> Response:
    """Revoke a grant."""
    grant = await daemon.approvals.revoke_grant(request.path_params["id"], request.who)
    daemon.journal.note("info", "grant.revoked", id=grant.id, by=request.who.user)
    return reply(Ended(success=True, id=grant.id))


def _describe(grant: Grant) -> StandingAnswer:
    return StandingAnswer(
        id=grant.id,
        verdict=grant.verdict,
        scope=grant.scope,
        pattern=grant.rule.text if grant.rule is not None else None,
        digest=grant.digest,
        user_id=grant.user,
        agent_id=grant.agent,
        session_id=grant.session,
        workspace=grant.workspace,
        boundary=grant.boundary.name if grant.boundary is not None else None,
        destructive=grant.destructive,
        created_at=millis(grant.created_at),
        expires_at=None if grant.expires_at is None else millis(grant.expires_at),
        by=grant.by,
        request_id=grant.approval,
    )
