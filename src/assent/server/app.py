"""The door and the desk: every request is checked, attributed and answered here, whatever its dialect."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from assent.server.doors import (
    SAFE_METHODS,
    check_content_type,
    check_cookie_use,
    gather_headers,
    is_local,
    peer_of,
)
from assent.server.faults import refusal_of
from assent.server.messages import CallerGone, Refusal, Reply, Request, Stream
from assent.server.routes import Route, choose, refuse_plainly
from assent.server.streaming import Streaming

if TYPE_CHECKING:
    from assent.model.principal import Principal
    from assent.server.daemon import Daemon
    from assent.server.messages import Message, Receive, Scope, Send
    from assent.server.routes import Table
    from assent.server.sockets import Sockets

_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    b"require-trusted-types-for 'script'; trusted-types 'none'"
)
SECURITY_HEADERS = (
    (b"content-security-policy", _POLICY),
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
HOOK_HEADERS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
"""For answers that no browser shows."""
Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]


class App:
    """The daemon as an ASGI application."""

    def __init__(self, daemon: Daemon, table: Table, sockets: Sockets) -> None:
        self._daemon = daemon
        self._table = table
        self._sockets = sockets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection's request."""
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._sockets.serve(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        refuse: Callable[[Refusal], Reply] = refuse_plainly
        route: Route | None = None
        try:
            headers = gather_headers(scope["headers"])
            try:
                found = self._table.find(scope["path"])
                route = found.by_method.get(scope["method"])
            except Refusal:
                self._check_door(scope, headers, None)
                raise
            refuse = (route or next(iter(found.by_method.values()))).refuse
            self._check_door(scope, headers, route)
            route = choose(found, scope["method"])
            request = await self._admit(scope, receive, headers, route, found.params)
            answer = await route.handler(self._daemon, request)
            if isinstance(answer, Stream):
                await Streaming(self._daemon, request, answer).send(send, SECURITY_HEADERS)
                return
        except Refusal as refusal:
            answer = self._refuse(scope, refusal, refuse)
        except CallerGone:
            return
        except Exception as error:  # noqa: BLE001 - the last resort: no internals leave, and nothing is allowed
            answer = self._refuse(scope, self._as_refusal(error, scope), refuse)
        plain = route is not None and route.hook
        await _send(send, answer, HOOK_HEADERS if plain else SECURITY_HEADERS, head=scope["method"] == "HEAD")

    def _check_door(self, scope: Scope, headers: dict[bytes, bytes], route: Route | None) -> None:
        self._daemon.door.check(headers, local=is_local(scope), page=route is not None and route.page)

    async def _admit(
        self, scope: Scope, receive: Receive, headers: dict[bytes, bytes], route: Route, params: dict[str, str]
    ) -> Request:
        principal, cookie = self._daemon.keys.identify(headers, peer=peer_of(scope))
        self._check_role(principal, route)
        method = scope["method"]
        if cookie:
            check_cookie_use(headers, method)
        if principal is not None:
            self._daemon.rates.take(principal.token)
        if method == "POST":
            check_content_type(headers)
        body = b""
        if method not in SAFE_METHODS:
            settings = self._daemon.settings
            body = await _read_body(receive, headers, settings.hook_body if route.hook else settings.body)
        return Request(method, scope["path"], scope["query_string"], headers, body, principal, params, receive, cookie)

    def _check_role(self, principal: Principal | None, route: Route) -> None:
        if not route.roles:
            return
        if principal is None:
            raise Refusal(401, "Unauthorized")
        if principal.role not in route.roles:
            raise Refusal(403, "Forbidden")

    def _refuse(self, scope: Scope, refusal: Refusal, refuse: Callable[[Refusal], Reply]) -> Reply:
        self._daemon.metrics.count_refusal(refusal.status)
        self._daemon.journal.note(
            "warning" if refusal.status >= 500 else "info",
            "request.refused",
            status=refusal.status,
            method=scope["method"],
            path=scope["path"][:200],
            reason=refusal.message[:300],
        )
        return with_extras(refuse(refusal), refusal)

    def _as_refusal(self, error: Exception, scope: Scope) -> Refusal:
        known = refusal_of(error)
        if known is not None:
            return known
        self._daemon.journal.fault("request.failed", error, method=scope["method"], path=scope["path"][:200])
        return Refusal(500, "Internal error")


def with_extras(answer: Reply, refusal: Refusal) -> Reply:
    """Add the headers that belong to a status."""
    extra: tuple[tuple[bytes, bytes], ...] = ()
    if refusal.status == 401:
        extra = ((b"www-authenticate", b"Bearer"),)
    elif refusal.status == 405:
        extra = ((b"allow", ", ".join(refusal.more.get("allow", ())).encode()),)
    elif refusal.status == 429:
        extra = ((b"retry-after", b"1"),)
    return Reply(answer.status, answer.body, answer.kind, answer.headers + extra) if extra else answer


async def _read_body(receive: Receive, headers: dict[bytes, bytes], limit: int) -> bytes:
    size = headers.get(b"content-length", b"0")
    if not size.isdigit() or int(size) > limit:
        raise _too_large(limit)
    message = await receive()
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False):
        return _whole(message, body, limit)
    pieces, length = [body], len(body)
    while length <= limit:
        message = await receive()
        piece = message.get("body", b"")
        pieces.append(piece)
        length += len(piece)
        if not message.get("more_body", False):
            return _whole(message, b"".join(pieces), limit)
    raise _too_large(limit)


def _whole(message: Message, body: bytes, limit: int) -> bytes:
    if message["type"] == "http.disconnect":
        raise CallerGone
    if len(body) > limit:
        raise _too_large(limit)
    return body


def _too_large(limit: int) -> Refusal:
    return Refusal(413, f"The body is larger than {limit} bytes")


async def _send(send: Send, answer: Reply, more: Headers, *, head: bool) -> None:
    length = b"%d" % len(answer.body)
    headers = [(b"content-type", answer.kind), (b"content-length", length), *more, *answer.headers]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head else answer.body})
