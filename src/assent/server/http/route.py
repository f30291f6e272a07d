"""A route as data: its roles, request record and answer record. The app, OpenAPI and tests use it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias

import msgspec
from starlette.responses import Response

from assent.model.principal import Role
from assent.server.http.messages import Request, reply
from assent.wire.refusal import Refusal

Handler: TypeAlias = Callable[[Any, Request], Awaitable[Response]]
"""Takes the `Daemon`, which is built on this package, and the request."""
Method: TypeAlias = Literal["GET", "POST", "DELETE"]

EVERYONE: tuple[Role, ...] = ()
"""No token is needed."""
ANYONE = (Role.AGENT, Role.USER, Role.ADMIN)
PEOPLE = (Role.USER, Role.ADMIN)
AGENTS = (Role.AGENT,)
ADMINS = (Role.ADMIN,)


class QueryParameter(msgspec.Struct, frozen=True):
    """A parameter in the query."""

    name: str
    means: str
    kind: Literal["string", "integer", "number", "boolean"] = "string"


def refuse_plainly(refusal: Refusal) -> Response:
    """Return the refusal as `{"error": …}`."""
    return reply({"error": refusal.message, **refusal.more}, refusal.status)


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
    query: tuple[QueryParameter, ...] = ()
    errors: tuple[int, ...] = ()
    """The statuses it may answer with besides 200 and those of every route."""
    hook: bool = False
    """Called by agents' hooks, whose inputs may be large."""
    deep: bool = False
    """What the end of its path names may hold slashes."""
    stream: bool = False
    """Answers with events, for as long as somebody reads."""
    page: bool = False
    """A page for a browser, which may be navigated to from anywhere."""
    refuse: Callable[[Refusal], Response] = refuse_plainly
    """How this dialect says no."""
