"""The door and the desk: every request is checked, attributed and answered here, whatever its dialect."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, cast

import msgspec

from assent.server.doors import (
    SAFE_METHODS,
    check_content_type,
    check_cookie_use,
    gather_headers,
    is_local,
    peer_of,
)
from assent.server.errands import HOOK_HEADERS, Heads
from assent.server.faults import refusal_of
from assent.server.identity import hash_bearer
from assent.server.messages import CallerGone, Refusal, Reply, Request, Stream
from assent.server.routes import Route, choose, refuse_plainly
from assent.server.rulefiles import StillReadingError
from assent.server.streaming import Streaming
from assent.server.turns import Turns

if TYPE_CHECKING:
    from assent.model.principal import Principal
    from assent.server.daemon import Daemon
    from assent.server.doors import Peer
    from assent.server.errands import Errand
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
Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]


class Knock(msgspec.Struct, frozen=True):
    """The head of a request that was let in: what it is for, and what it says."""

    method: str
    path: str
    query: bytes
    headers: dict[bytes, bytes]
    route: Route
    params: dict[str, str]
    hashed: bytes | None = None
    """The hash of the token that it bears, where it is known by now."""


_MOST_READS = 3
"""How often a project's rules may change while a request waits for them."""


class App:
    """The daemon as an ASGI application."""

    def __init__(self, daemon: Daemon, table: Table, sockets: Sockets) -> None:
        self._daemon = daemon
        self._table = table
        self._sockets = sockets
        self.heads = (Heads(), Heads())
        """What came before: by the network, and by the Unix sockets."""
        self._turns = Turns(daemon, self)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection's request."""
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._sockets.serve(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        route: Route | None = None
        try:
            knock = self._hear(scope)
            route = knock.route
            await self._daemon.keys.meet(knock.headers)
            request = self._admit(knock, receive, peer_of(scope))
            if knock.method not in SAFE_METHODS:
                request.body = await _read_body(receive, knock.headers, self._largest(route))
            answer = await self._handle(route, request)
            if isinstance(answer, Stream):
                await Streaming(self._daemon, request, answer).send(send, SECURITY_HEADERS)
                return
        except CallerGone:
            return
        except Exception as error:  # noqa: BLE001 - the last resort: no internals leave, and nothing is allowed
            route = route or self._table.nearest(scope["path"], scope["method"])
            refuse = refuse_plainly if route is None else route.refuse
            answer = self._fail(error, scope["method"], scope["path"], refuse)
        plain = route is not None and route.hook and route.method == scope["method"]
        await _send(send, answer, HOOK_HEADERS if plain else SECURITY_HEADERS, head=scope["method"] == "HEAD")

    def _hear(self, scope: Scope) -> Knock:
        """Find out what a request is for, or refuse it at the door."""
        headers, method, path = gather_headers(scope["headers"]), scope["method"], scope["path"]
        try:
            found = self._table.find(path)
        except Refusal:
            self._check_door(scope, headers, None)
            raise
        self._check_door(scope, headers, found.by_method.get(method))
        return Knock(method, path, scope["query_string"], headers, choose(found, method), found.params)

    def know(self, scope: Scope) -> Knock | None:
        """Return the head of a hook's question, which will come again and again; None for any other, or a bad one."""
        try:
            knock = self._hear(scope)
            check_content_type(knock.headers)
        except Refusal:
            return None
        is_question = knock.route.hook and not knock.route.stream
        return msgspec.structs.replace(knock, hashed=hash_bearer(knock.headers)) if is_question else None

    def take(self, errand: Errand) -> None:
        """Take on a hook's question whose head is known and which is here whole."""
        knock = errand.knock
        is_new = self._daemon.keys.is_new(knock.headers, knock.hashed)
        if knock.route.at_once is not None and not knock.query and not is_new:
            self._turns.take(errand)
        else:
            errand.follow(self.answer(errand))

    def admit(self, errand: Errand) -> Request:
        """Let a known question in, or refuse it."""
        knock = errand.knock
        request = self._attribute(knock, errand.receive, errand.peer)
        request.body = _bounded(errand.body, self._largest(knock.route))
        return request

    async def answer(self, errand: Errand) -> Reply | None:
        """Answer a known question; None if its caller hung up."""
        route = errand.knock.route
        try:
            await self._daemon.keys.meet(errand.knock.headers, errand.knock.hashed)
            return cast("Reply", await self._handle(route, self.admit(errand)))
        except CallerGone:
            return None
        except Exception as error:  # noqa: BLE001 - as in `_serve`
            return self.fail(error, errand.knock)

    async def _handle(self, route: Route, request: Request) -> Reply | Stream:
        """Have a request handled; one whose project's rules are still being read, once they are."""
        for _ in range(_MOST_READS):
            try:
                return await route.handler(self._daemon, request)
            except StillReadingError as reading:
                await reading.wait()
        return await route.handler(self._daemon, request)

    def fail(self, error: Exception, knock: Knock) -> Reply:
        """Say no to a known question."""
        return self._fail(error, knock.method, knock.path, knock.route.refuse)

    def _largest(self, route: Route) -> int:
        settings = self._daemon.settings
        return settings.hook_body if route.hook else settings.body

    def _check_door(self, scope: Scope, headers: dict[bytes, bytes], route: Route | None) -> None:
        self._daemon.door.check(headers, local=is_local(scope), page=route is not None and route.page)

    def _admit(self, knock: Knock, receive: Receive, peer: Peer | None) -> Request:
        """Find out who asks, whether they may, and whether they ask in JSON; the body is still to be read."""
        request = self._attribute(knock, receive, peer)
        if knock.method == "POST":
            check_content_type(knock.headers)
        return request

    def _attribute(self, knock: Knock, receive: Receive, peer: Peer | None) -> Request:
        method, headers = knock.method, knock.headers
        principal, cookie = self._daemon.keys.identify(headers, peer=peer, hashed=knock.hashed)
        self._check_role(principal, knock.route)
        if cookie:
            check_cookie_use(headers, method)
        if principal is not None:
            self._daemon.rates.take(principal.token)
        return Request(method, knock.path, knock.query, headers, b"", principal, knock.params, receive, cookie)

    def _check_role(self, principal: Principal | None, route: Route) -> None:
        if not route.roles:
            return
        if principal is None:
            raise Refusal(401, "Unauthorized")
        if principal.role not in route.roles:
            raise Refusal(403, "Forbidden")

    def _fail(self, error: Exception, method: str, path: str, refuse: Callable[[Refusal], Reply]) -> Reply:
        refusal = error if isinstance(error, Refusal) else self._as_refusal(error, method, path)
        self._daemon.metrics.count_refusal(refusal.status)
        self._daemon.journal.note(
            "warning" if refusal.status >= 500 else "info",
            "request.refused",
            status=refusal.status,
            method=method,
            path=path[:200],
            reason=refusal.message[:300],
        )
        return with_extras(refuse(refusal), refusal)

    def _as_refusal(self, error: Exception, method: str, path: str) -> Refusal:
        known = refusal_of(error)
        if known is not None:
            return known
        self._daemon.journal.fault("request.failed", error, method=method, path=path[:200])
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
    return _bounded(body, limit)


def _bounded(body: bytes, limit: int) -> bytes:
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
