"""The daemon as an ASGI application: check, authenticate, authorise, dispatch, answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette import routing
from starlette.requests import ClientDisconnect

from assent.server.http.errors import refusal_of
from assent.server.http.messages import Request, Stream
from assent.server.http.origin import (
    SAFE_METHODS,
    check_content_type,
    check_cookie_use,
    gather_headers,
    is_local,
    peer_of,
)
from assent.server.http.route import Route, refuse_plainly
from assent.server.live.streams import guard
from assent.server.live.websockets import PATHS, Sockets
from assent.server.rule_file_cache import StillReadingError
from assent.wire.refusal import Refusal

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

    from assent.model.principal import Principal
    from assent.server.daemon import Daemon

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
_MOST_READS = 3
"""How often a project's rules may change while a request waits for them."""


def make_app(daemon: Daemon) -> routing.Router:
    """Route every path of the daemon, exact paths before templates; any other path is not found."""
    paths: dict[str, list[Route]] = {}
    for route in sorted(daemon.routes, key=lambda route: "{" in route.path):
        paths.setdefault(route.path, []).append(route)
    sockets = Sockets(daemon)
    routes: list[routing.BaseRoute] = [
        routing.Route(_template(found[0]), Endpoint(daemon, found)) for found in paths.values()
    ]
    routes += [routing.WebSocketRoute(path, sockets.serve) for path in (*PATHS, "/{path:path}")]
    return routing.Router(routes, redirect_slashes=False, default=Endpoint(daemon, ()))


def _template(route: Route) -> str:
    return route.path.removesuffix("}") + ":path}" if route.deep else route.path


class Endpoint:
    """The routes of one path, as an ASGI application; without any, the path is not found."""

    def __init__(self, daemon: Daemon, routes: tuple[Route, ...] | list[Route]) -> None:
        self._daemon = daemon
        self._routes: dict[str, Route] = {route.method: route for route in routes}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except ClientDisconnect:
            return
        except Exception as error:  # noqa: BLE001 - the last resort: the answer has no internals, and nothing is allowed
            response = self._fail(error, request)
        route = self._routes.get(request.method)
        response.raw_headers.extend(HOOK_HEADERS if route is not None and route.hook else SECURITY_HEADERS)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        request.fields = gather_headers(request.scope["headers"])
        route = self._find(request)
        await self._admit(request, route)
        if request.method not in SAFE_METHODS:
            settings = self._daemon.settings
            await request.read(settings.hook_body if route.hook else settings.body)
        response = await self._handle(route, request)
        if isinstance(response, Stream):
            response.body_iterator = guard(self._daemon, request.principal, response.body_iterator, response.alive)
        return response

    def _find(self, request: Request) -> Route:
        """Check host and origin, and return the route for the method."""
        method = request.method
        exact = self._routes.get(method)
        is_page = exact is not None and exact.page
        self._daemon.origins.check(request.fields, local=is_local(request.scope), page=is_page)
        if not self._is_known(request):
            raise Refusal(404, "Not found")
        route = self._routes.get("GET" if method == "HEAD" else method)
        if route is None:
            raise Refusal(405, "Method not allowed", allow=sorted(self._routes))
        return route

    def _is_known(self, request: Request) -> bool:
        return bool(self._routes) and "\0" not in request.scope["path"]  # no path has a NUL

    async def _admit(self, request: Request, route: Route) -> None:
        """Authenticate and authorise the caller, and check the content type; the body is read later."""
        keys, fields, peer = self._daemon.keys, request.fields, peer_of(request.scope)
        request.principal, request.cookie = keys.identify(fields, peer=peer)
        if request.principal is None:
            await keys.meet(fields)
            request.principal, request.cookie = keys.identify(fields, peer=peer)
        _check_role(request.principal, route)
        if request.cookie:
            check_cookie_use(fields, request.method)
        if request.principal is not None:
            self._daemon.rates.take(request.principal.token)
        if request.method == "POST":
            check_content_type(fields)

    async def _handle(self, route: Route, request: Request) -> Response:
        """Call the handler; while the project's rules are still being read, wait and call it again."""
        for _ in range(_MOST_READS):
            try:
                return await route.handler(self._daemon, request)
            except StillReadingError as reading:
                await reading.wait()
        return await route.handler(self._daemon, request)

    def _fail(self, error: Exception, request: Request) -> Response:
        """Turn an error into an answer of the route's dialect."""
        method, path = request.method, request.scope["path"]
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
        nearest = self._routes.get(method) or next(iter(self._routes.values()), None)
        refuse = nearest.refuse if nearest is not None and self._is_known(request) else refuse_plainly
        response = refuse(refusal)
        response.raw_headers.extend(_headers_of(refusal))
        return response

    def _as_refusal(self, error: Exception, method: str, path: str) -> Refusal:
        known = refusal_of(error)
        if known is not None:
            return known
        self._daemon.journal.fault("request.failed", error, method=method, path=path[:200])
        return Refusal(500, "Internal error")


def _check_role(principal: Principal | None, route: Route) -> None:
    if not route.roles:
        return
    if principal is None:
        raise Refusal(401, "Unauthorized")
    if principal.role not in route.roles:
        raise Refusal(403, "Forbidden")


def _headers_of(refusal: Refusal) -> tuple[tuple[bytes, bytes], ...]:
    """Return the headers that belong to a status."""
    match refusal.status:
        case 401:
            return ((b"www-authenticate", b"Bearer"),)
        case 405:
            return ((b"allow", ", ".join(refusal.more.get("allow", ())).encode()),)
        case 429:
            return ((b"retry-after", b"1"),)
        case _:
            return ()
