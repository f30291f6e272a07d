"""`/api/login`: log a browser in with a one-time link or a token, and log it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from assent.server.auth.tokens import (
    COOKIE_SECONDS,
    TICKET_SECONDS,
    issue_ticket,
    open_session,
    redeem,
    revoke,
    revoke_sessions,
)
from assent.server.http.messages import Request, reply
from assent.wire.refusal import Refusal
from assent.wire.tokens import LoggedOut, LoginBody, SocketTicket, Who

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.server.daemon import Daemon


_BODY = msgspec.json.Decoder(LoginBody)


async def log_in(daemon: Daemon, request: Request) -> Response:
    """Turn the code of a one-time link, or a person's token, into a cookie."""
    body = request.decode(_BODY)
    given = body.code or body.token
    if not given or not given.isascii() or (body.code and body.token):
        raise Refusal(400, "Missing code or token")
    daemon.rates.take("login")
    job = redeem(body.code, daemon.log) if body.code else open_session(body.token.strip(), daemon.log)
    issued = await daemon.store.commit(job)
    await daemon.refresh_tokens()
    daemon.journal.note("info", "login", user=issued.token.user, id=issued.token.id)
    cookie = daemon.bake(issued.secret, int(COOKIE_SECONDS))
    return reply(Who(issued.token.user, issued.token.role), headers=((b"set-cookie", cookie),))


async def give_ticket(daemon: Daemon, request: Request) -> Response:
    """Issue a ticket for a page that can only call `new WebSocket(url)`: a URL must not contain a token."""
    issued = await daemon.store.commit(issue_ticket(request.who, daemon.log))
    return reply(SocketTicket(issued.secret, TICKET_SECONDS))


async def who_is_it(_daemon: Daemon, request: Request) -> Response:
    """Return the user who is logged in."""
    return reply(Who(request.who.user, request.who.role))


async def log_out(daemon: Daemon, request: Request) -> Response:
    """End this session, or with `everywhere=true` every session of the user."""
    who = request.who
    if request.query.get("everywhere") == "true":
        ended = await daemon.store.commit(revoke_sessions(who.user, who.user, daemon.log))
    elif request.cookie:
        await daemon.store.commit(revoke(who.token, who.user, daemon.log))
        ended = 1
    else:
        raise Refusal(400, "There is no session to end; use everywhere=true to end those of your browsers")
    await daemon.refresh_tokens()
    daemon.journal.note("info", "logout", user=who.user, sessions=ended)
    return reply(LoggedOut(success=True, sessions=ended), headers=((b"set-cookie", daemon.bake("", 0)),))
