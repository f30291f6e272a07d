"""`/api/tokens`: create, list and revoke tokens. Only the answer that creates a token contains its secret."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from assent.model import AssentError
from assent.model.principal import Role
from assent.platform.paths import refuse_folder
from assent.server.auth.tokens import SELECT_TOKENS, TokenRequest, issue, revoke, token_of
from assent.server.http.messages import Request, reply
from assent.wire.grants import Ended
from assent.wire.refusal import Refusal
from assent.wire.tokens import NewToken, TokenBody, TokenList

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.server.daemon import Daemon

LONGEST_NAME = 128


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


def check_token_request(  # noqa: PLR0913 - a token says this much
    role: Role,
    *,
    user: str,
    agent: str = "",
    label: str = "",
    remote: bool = False,
    interactive: bool | None = None,
    workspace: tuple[str, ...] = (),
    seconds: float | None = None,
) -> TokenRequest:
    """Check the fields of a new token, or raise `AssentError`."""
    for name in (user, agent, label):
        if len(name) > LONGEST_NAME or any(not c.isprintable() for c in name):
            raise AssentError(f"a name has at most {LONGEST_NAME} characters, all of them visible")
    if not user:
        raise AssentError("a token needs a user")
    if role is not Role.AGENT and (agent or remote or workspace or interactive is not None):
        raise AssentError("only an agent's token says an agent, a workspace, or where it runs")
    if seconds is not None and not 1 <= seconds <= 10 * 366 * 86400:
        raise AssentError("a token lives for at least a second and at most ten years")
    return TokenRequest(
        role=role,
        user=user,
        agent=(agent or "agent") if role is Role.AGENT else None,
        label=label,
        remote=remote,
        interactive=interactive,
        workspace=tuple(dict.fromkeys(_check_root(root) for root in workspace)),
        seconds=seconds,
    )


def _check_root(root: str) -> str:
    if not os.path.isabs(root):  # noqa: PTH117 - paths are strings here
        raise AssentError(f"a workspace is an absolute path, not `{root}`")
    path = "/" + os.path.normpath(root).lstrip("/")
    reason = refuse_folder(path)
    if reason is not None:
        raise AssentError(f"`{path}` cannot be a workspace: {reason}")
    return path
