"""Requests to the daemon as values, and as methods of the sync and async clients."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Awaitable, Callable
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload
from urllib.parse import quote, urlencode

import msgspec

from assent.agents.hooks.messages import REFUSED

P = ParamSpec("P")
T = TypeVar("T")


class ApiRequest(Generic[T]):
    """A request to the daemon with one result."""


class Waits:
    """A client whose methods return the result."""


class IsAwaited:
    """A client whose methods return an awaitable of the result."""


class HttpReply(msgspec.Struct, frozen=True):
    """An HTTP answer; header names are in lower case."""

    status: int
    body: bytes
    headers: dict[str, str] = {}


class Ask(ApiRequest[T]):
    """One HTTP request, and the record that its answer is decoded to.

    `gives` names that record as `module:Name` below `assent.wire`, which is imported when the first answer arrives.
    `text` returns the body as text; an empty name decodes any JSON.
    """

    def __init__(
        self,
        method: str,
        path: str,
        gives: str = "",
        *,
        body: Any = None,
        query: Any = None,
        headers: dict[str, str | None] | None = None,
    ) -> None:
        given = {name: _text(value) for name, value in (query or {}).items() if value is not None}
        self.method = method
        self.path = f"{path}?{urlencode(given)}" if given else path
        self.body = None if body is None else msgspec.json.encode({k: v for k, v in body.items() if v is not None})
        self.headers = {name: value for name, value in (headers or {}).items() if value is not None}
        self._gives = gives

    def read(self, answer: HttpReply) -> T:
        """Decode the answer."""
        data = answer.body
        if self._gives == "text":
            return cast("T", data.decode())
        if not self._gives and not data:
            return cast("T", None)
        kind: Any = _find(self._gives) if self._gives else Any
        return cast("T", msgspec.json.decode(data, type=kind))


class Hooked(msgspec.Struct, frozen=True):
    """A hook's output and exit code: the call runs only with 0."""

    body: Any
    exit: int
    reason: str | None = None


class HookAsk(Ask[Hooked]):
    """A hook's request. An answer without an exit code is a refusal."""

    def read(self, answer: HttpReply) -> Hooked:
        """Decode the answer, and the exit code and reason in its headers."""
        code = answer.headers.get("x-assent-exit", "")
        body = msgspec.json.decode(answer.body) if answer.body else None
        return Hooked(body, int(code) if code.isdigit() else REFUSED, answer.headers.get("x-assent-reason"))


class Endpoint(Generic[P, T]):
    """An `ApiRequest` as a method: `Client` returns its result, `AsyncClient` an awaitable of the result."""

    def __init__(self, make: Callable[P, ApiRequest[T]]) -> None:
        self.make = make
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, client: Waits, kind: Any = None) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: IsAwaited, kind: Any = None) -> Callable[P, Awaitable[T]]: ...
    @overload
    def __get__(self, client: None, kind: Any = None) -> Endpoint[P, T]: ...
    def __get__(self, client: Any, kind: Any = None) -> Any:
        """Bind it to a client."""
        if client is None:
            return self

        @functools.wraps(self.make)
        def send(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client.send(self.make(*args, **kwargs))

        return send


@functools.lru_cache(maxsize=64)
def _find(name: str) -> Any:
    module, _, kind = name.partition(":")
    return getattr(importlib.import_module(f"assent.wire.{module}"), kind)


def _text(value: Any) -> Any:
    return ("true" if value else "false") if isinstance(value, bool) else value


def quoted(part: str) -> str:
    """Quote a path segment."""
    return quote(part, safe="")
