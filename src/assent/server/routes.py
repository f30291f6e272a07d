"""A route as data: who may call it, what it takes, what it gives. Requests, documents and tests come from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
from starlette.routing import compile_path

from assent.model.principal import Role
from assent.server.messages import Refusal, Reply, Request, Stream, reply

if TYPE_CHECKING:
    from assent.gate import Ruling
    from assent.model import Session, ToolCall
    from assent.server.daemon import Daemon

Handler: TypeAlias = Callable[["Daemon", Request], Awaitable[Reply | Stream]]
Method: TypeAlias = Literal["GET", "POST", "DELETE"]

EVERYONE: tuple[Role, ...] = ()
"""No token is needed."""
ANYONE = (Role.AGENT, Role.USER, Role.ADMIN)
PEOPLE = (Role.USER, Role.ADMIN)
AGENTS = (Role.AGENT,)
ADMINS = (Role.ADMIN,)


class Parameter(msgspec.Struct, frozen=True):
    """A parameter in the query."""

    name: str
    means: str
    kind: Literal["string", "integer", "number", "boolean"] = "string"


class ErrorBody(msgspec.Struct, frozen=True):
    """Why a request was not done."""

    error: str


def refuse_plainly(refusal: Refusal) -> Reply:
    """Say why as `{"error": …}`."""
    return reply({"error": refusal.message, **refusal.more}, refusal.status)


class AtOnce(msgspec.Struct, frozen=True):
    """A question that is not waited with, in two halves: the decision between them may be made with others'."""

    read: Callable[[Daemon, Request], tuple[ToolCall, Session]]
    """Finds what is asked, and by whom; may refuse it."""
    write: Callable[[Ruling], Reply]
    """Says what was ruled."""


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One method of one path."""

    method: Method
    path: str
    roles: tuple[Role, ...]
    """Who may call it; empty for everyone, also without a token."""
    handler: Handler
    summary: str
    takes: type[Any] | None = None
    gives: Any = None
    query: tuple[Parameter, ...] = ()
    errors: tuple[int, ...] = ()
    """The statuses it may answer with besides 200 and those of every route."""
    hook: bool = False
    """Called by agents' hooks, whose inputs may be large."""
    at_once: AtOnce | None = None
    """How it is answered where its caller does not wait for a person."""
    deep: bool = False
    """What the end of its path names may hold slashes."""
    stream: bool = False
    """Answers with events, for as long as somebody reads."""
    page: bool = False
    """A page for a browser, which may be navigated to from anywhere."""
    refuse: Callable[[Refusal], Reply] = refuse_plainly
    """How this dialect says no."""


class Found(msgspec.Struct, frozen=True):
    """The routes of one path, by method, and what its template holds."""

    by_method: dict[str, Route]
    params: dict[str, str]


class Table:
    """Finds a route: by its exact path, or by a template."""

    def __init__(self, routes: tuple[Route, ...]) -> None:
        self.routes = routes
        paths: dict[str, dict[str, Route]] = {}
        for route in routes:
            paths.setdefault(route.path, {})[route.method] = route
        self._exact = {path: Found(by, {}) for path, by in paths.items() if "{" not in path}
        self._templates = [(compile_path(_template(by))[0], by) for path, by in paths.items() if "{" in path]

    def find(self, path: str) -> Found:
        """Return the routes of a path, or refuse it."""
        found = self._exact.get(path)
        if found is not None:
            return found
        for pattern, by_method in self._templates if "\0" not in path else ():  # nothing has such a name
            if match := pattern.match(path):
                return Found(by_method, match.groupdict())
        raise Refusal(404, "Not found")

    def nearest(self, path: str, method: str) -> Route | None:
        """Return the route in whose dialect a path says no, whatever the method; None if there is no such path."""
        try:
            by_method = self.find(path).by_method
        except Refusal:
            return None
        return by_method.get(method) or next(iter(by_method.values()))


def _template(by_method: dict[str, Route]) -> str:
    route = next(iter(by_method.values()))
    return route.path.removesuffix("}") + ":path}" if route.deep else route.path


def choose(found: Found, method: str) -> Route:
    """Return the route of a method, or refuse it and name those that there are."""
    route = found.by_method.get("GET" if method == "HEAD" else method)
    if route is None:
        raise Refusal(405, "Method not allowed", allow=sorted(found.by_method))
    return route
