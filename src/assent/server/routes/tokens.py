"""Routes of tokens and of browser sessions."""

from __future__ import annotations

from assent.server.api import login, tokens
from assent.server.http.route import ADMINS, EVERYONE, PEOPLE, QueryParameter, Route
from assent.wire.grants import Ended
from assent.wire.tokens import LoggedOut, LoginBody, NewToken, SocketTicket, TokenBody, TokenList, Who

ROUTES: tuple[Route, ...] = (
    Route(
        method="GET",
        path="/api/tokens",
        roles=ADMINS,
        handler=tokens.list_tokens,
        summary="Every token in force, without its secret.",
        gives=TokenList,
    ),
    Route(
        method="POST",
        path="/api/tokens",
        roles=ADMINS,
        handler=tokens.create_token,
        summary="Make a token; its secret is shown this once.",
        takes=TokenBody,
        gives=NewToken,
    ),
    Route(
        method="DELETE",
        path="/api/tokens/{id}",
        roles=ADMINS,
        handler=tokens.revoke_token,
        summary="Revoke a token.",
        gives=Ended,
    ),
    Route(
        method="GET",
        path="/api/login",
        roles=PEOPLE,
        handler=login.who_is_it,
        summary="Who you are.",
        gives=Who,
    ),
    Route(
        method="POST",
        path="/api/login",
        roles=EVERYONE,
        handler=login.log_in,
        summary="Trade the code of a one-time link, or a token, for a session cookie.",
        takes=LoginBody,
        gives=Who,
        errors=(401,),
    ),
    Route(
        method="POST",
        path="/api/login/ticket",
        roles=PEOPLE,
        handler=login.give_ticket,
        summary="Get a ticket that opens one WebSocket, once and soon: `?ticket=…` in its address.",
        gives=SocketTicket,
    ),
    Route(
        method="DELETE",
        path="/api/login",
        roles=PEOPLE,
        handler=login.log_out,
        summary="Log out here, or with `everywhere=true` on every browser.",
        gives=LoggedOut,
        query=(QueryParameter("everywhere", "true ends every session of yours", "boolean"),),
    ),
)
