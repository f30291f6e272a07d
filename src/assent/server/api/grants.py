"""`/api/grants`: the standing answers of a user, listed and ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from assent.model import Scope, Verdict
from assent.model.principal import Role
from assent.server.api.permissions import millis
from assent.server.http.messages import Request, reply

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.model import Grant
    from assent.server.daemon import Daemon


class StandingAnswer(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """What a person said for more than one call."""

    id: str
    verdict: Verdict
    scope: Scope
    pattern: str | None = None
    """The rule it covers; without one it covers exactly the call by this digest."""
    digest: str | None = None
    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    workspace: tuple[str, ...] | None = None
    boundary: str | None = None
    destructive: bool = False
    created_at: int
    expires_at: int | None = None
    by: str = ""
    request_id: str | None = None


class GrantList(msgspec.Struct, frozen=True):
    """The standing answers in force."""

    grants: tuple[StandingAnswer, ...]


class Ended(msgspec.Struct, frozen=True):
    """What was ended."""

    success: bool
    id: str


async def list_grants(daemon: Daemon, request: Request) -> Response:
    """List the standing answers in force."""
    who = request.who
    found = await daemon.approvals.grants(user=None if who.role is Role.ADMIN else who.user)
    return reply(GrantList(tuple(map(_describe, found))))


async def revoke_grant(daemon: Daemon, request: Request) -> Response:
    """End a standing answer."""
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
