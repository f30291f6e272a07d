"""`/api/tokens`: create, list and revoke tokens. Only the answer that creates a token contains its secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from assent.model import AssentError
from assent.server.auth.tokens import SELECT_TOKENS, check_token_request, issue, revoke, token_of
from assent.server.http.messages import Request, reply
from assent.wire.grants import Ended
from assent.wire.refusal import Refusal
from assent.wire.tokens import NewToken, TokenBody, TokenList

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.server.daemon import Daemon

_BODY = msgspec.json.Decoder(TokenBody)


async def list_tokens(daemon: Daemon, _request: Request) -> Response:
    """List the tokens in force."""
    rows = await daemon.store.query(SELECT_TOKENS + " WHERE revoked_at IS NULL ORDER BY created_at, id")
    return reply(TokenList(tuple(map(token_of, rows))))


async def create_token(daemon: Daemon, request: Request) -> Response:
    """Make a token."""
    body = request.decode(_BODY)
    try:
        wanted = check_token_request(
            body.role,
            user=body.user or request.who.user,
            agent=body.agent,
            label=body.label,
            remote=body.remote,
            interactive=body.interactive,
            workspace=body.workspace,
            seconds=body.expires_in,
        )
    except AssentError as error:
        raise Refusal(400, str(error)) from None
    issued = await daemon.store.commit(issue(wanted, request.who.user, daemon.log))
    await daemon.refresh_tokens()
    daemon.journal.note("info", "token.created", id=issued.token.id, role=body.role, by=request.who.user)
    return reply(NewToken(issued.secret, issued.token))


async def revoke_token(daemon: Daemon, request: Request) -> Response:
    """End a token."""
    token = await daemon.store.commit(revoke(request.path_params["id"], request.who.user, daemon.log))
    await daemon.refresh_tokens()
    daemon.journal.note("info", "token.revoked", id=token.id, by=request.who.user)
    return reply(Ended(success=True, id=token.id))
