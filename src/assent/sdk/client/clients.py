"""Clients of the daemon, sync and async, over its Unix socket or a URL."""

# Paths are strings here, as in `assent.model`.
# ruff: noqa: PTH118

from __future__ import annotations

import asyncio
import contextlib
import http.client
import os
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import SplitResult, urlencode, urlsplit

import msgspec

from assent.model import AssentError, ConfigError
from assent.platform.daemon_address import SOCKET_NAME, TOKEN_FILE, short_name
from assent.platform.files import find_private
from assent.platform.paths import assent_home
from assent.sdk.client.endpoints import Endpoints
from assent.sdk.client.requests import Ask, HttpReply, IsAwaited, Waits, quoted

if TYPE_CHECKING:
    import httpx

    from assent.sdk.client.blocking_sockets import BlockingInbox, BlockingRuns
    from assent.sdk.client.inbox import Inbox
    from assent.sdk.client.runs import RunClient

__all__ = ["ApiError", "AsyncClient", "Client", "UnreachableError", "find_client", "quoted"]

T = TypeVar("T")
TIMEOUT = 30.0
_STREAM_SECONDS = 60.0
"""A stream that shows no sign of life for this long has ended."""


class ApiError(AssentError):
    """The daemon refused, and said why."""

    def __init__(self, status: int, message: str, more: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.more = more or {}


class UnreachableError(AssentError):
    """The daemon is not running, or cannot be reached."""


def read_url(url: str, name: str = "the daemon's URL") -> SplitResult:
    """Parse a daemon's URL; refuse an invalid one, to which a token must not be sent."""
    try:
        found = urlsplit(url)
        known = found.scheme in ("http", "https") and bool(found.hostname) and found.port != 0
    except ValueError:
        known = False
    if not known:
        raise ConfigError(f"{name} must be http:// or https://, a host, and perhaps a port")
    return found


class Client(Endpoints, Waits):
    """A synchronous client, one request at a time. `Endpoints` has its methods."""

    def __init__(self, *, url: str = "", home: str = "", token: str = "", timeout: float = TIMEOUT) -> None:
        self._url = read_url(url) if url else None
        self._at = (url, home)
        self._token = token
        self._timeout = timeout

    def send(self, ask: Ask[T]) -> T:
        """Send a request and return its record, or raise `ApiError` or `UnreachableError`."""
        return _record(ask, self._exchange(ask.method, ask.path, ask.body, ask.headers))

    def runs(self) -> AbstractContextManager[BlockingRuns]:
        """Open the socket of the run protocol: prepare, start and steer runs."""
        from assent.sdk.client.blocking_sockets import BlockingRuns  # noqa: PLC0415 - the command line does without it

        return BlockingRuns.open(self._awaited().runs())

    def inbox(self, user: str | None = None, *, everyone: bool = False) -> AbstractContextManager[BlockingInbox]:
        """Open the permission socket: it receives questions as they are asked, and sends answers."""
        from assent.sdk.client.blocking_sockets import BlockingInbox  # noqa: PLC0415 - as above

        return BlockingInbox.open(self._awaited().inbox(user, everyone=everyone))

    def _awaited(self) -> AsyncClient:
        url, home = self._at
        return AsyncClient(url=url, home=home, token=self._token, timeout=self._timeout)

    def events(
        self,
        *,
        session: str | None = None,
        types: Iterable[str] = (),
        user: str | None = None,
        after: str | None = None,
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Follow runtime events: each with the id to resume after, until the daemon ends the stream."""
        return self._follow(_events_path(session, types, user), after)

    def session_events(self, session: str, *, after: str | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
        """Follow a session's questions and calls."""
        return self._follow(f"/api/sessions/{quoted(session)}/stream", after)

    def export(self, **filters: Any) -> Iterator[dict[str, Any]]:
        """Yield the log records that match, in the order of the log."""
        for line in self._lines(_export_path(filters)):
            if line.strip():
                yield msgspec.json.decode(line)

    def _follow(self, path: str, after: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
        place = ""
        for line in self._lines(path, after):
            if line.startswith(b"id: "):
                place = line[4:].strip().decode("ascii", "replace")
            elif line.startswith(b"data: "):
                yield place, msgspec.json.decode(line[6:])

    def _lines(self, path: str, after: str | None = None) -> Iterator[bytes]:
        connection = self._connect(_STREAM_SECONDS)
        try:
            connection.request("GET", path, headers=_headers(self._token, after=after))
            answer = connection.getresponse()
            if answer.status != 200:
                _read(HttpReply(answer.status, answer.read()))
            while line := answer.readline():
                yield line
        except (OSError, http.client.HTTPException, msgspec.MsgspecError) as error:
            raise UnreachableError(f"the stream was cut off: {error}") from None
        finally:
            connection.close()

    def call(self, method: str, path: str, body: bytes | None = None) -> Any:
        """Send one request and return the answer as it is, or raise as `send` does."""
        return _read(self._exchange(method, path, body, {}))

    def _exchange(self, method: str, path: str, body: bytes | None, more: dict[str, str]) -> HttpReply:
        connection = self._connect(self._timeout)
        try:
            connection.request(method, path, body, {**more, **_headers(self._token, body=body)})
            answer = connection.getresponse()
            return HttpReply(answer.status, answer.read(), {k.lower(): _decoded(v) for k, v in answer.getheaders()})
        except (OSError, http.client.HTTPException) as error:
            raise UnreachableError(f"the daemon cannot be reached: {error}") from None
        finally:
            connection.close()

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        if self._url is None:
            return _UnixConnection(self._at[1], timeout)
        kind = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
        return kind(self._url.hostname or "127.0.0.1", self._url.port, timeout=timeout)


class AsyncClient(Endpoints, IsAwaited):
    """An asynchronous client; any number of requests may be under way."""

    def __init__(self, *, url: str = "", home: str = "", token: str = "", timeout: float = TIMEOUT) -> None:
        self._url = read_url(url) if url else None
        self._at = (url, home)
        self._token = token
        self._timeout = timeout

    def runs(self) -> AbstractAsyncContextManager[RunClient]:
        """Open the socket of the run protocol: prepare, start and steer runs."""
        from assent.sdk.client.runs import RunClient  # noqa: PLC0415 - it is a client too

        url, home = self._at
        return RunClient.open(url=url, home=home, token=self._token)

    def inbox(self, user: str | None = None, *, everyone: bool = False) -> AbstractAsyncContextManager[Inbox]:
        """Open the permission socket: it receives questions as they are asked, and sends answers."""
        from assent.sdk.client.inbox import open_inbox  # noqa: PLC0415 - as above

        url, home = self._at
        return open_inbox(self, user, everyone=everyone, url=url, home=home, token=self._token)

    async def send(self, ask: Ask[T]) -> T:
        """Send a request and return its record, or raise `ApiError` or `UnreachableError`."""
        try:
            async with asyncio.timeout(self._timeout), self._exchange(ask) as found:
                answer = HttpReply(found.status_code, await _body(found), _decoded_headers(found))
        except TimeoutError:
            raise UnreachableError(f"the daemon did not answer within {self._timeout:g} s") from None
        return _record(ask, answer)

    async def events(
        self,
        *,
        session: str | None = None,
        types: Iterable[str] = (),
        user: str | None = None,
        after: str | None = None,
    ) -> AsyncGenerator[tuple[str, dict[str, Any]]]:
        """Follow runtime events: each with the id to resume after, until the daemon ends the stream."""
        async for told in self._follow(_events_path(session, types, user), after):
            yield told

    async def session_events(
        self, session: str, *, after: str | None = None
    ) -> AsyncGenerator[tuple[str, dict[str, Any]]]:
        """Follow a session's questions and calls."""
        async for told in self._follow(f"/api/sessions/{quoted(session)}/stream", after):
            yield told

    async def export(self, **filters: Any) -> AsyncGenerator[dict[str, Any]]:
        """Yield the log records that match, in the order of the log."""
        async with contextlib.aclosing(self._lines(_export_path(filters))) as lines:
            async for line in lines:
                if line.strip():
                    yield msgspec.json.decode(line)

    async def _follow(self, path: str, after: str | None) -> AsyncGenerator[tuple[str, dict[str, Any]]]:
        place = ""
        async with contextlib.aclosing(self._lines(path, after)) as lines:
            async for line in lines:
                if line.startswith(b"id: "):
                    place = line[4:].strip().decode("ascii", "replace")
                elif line.startswith(b"data: "):
                    yield place, msgspec.json.decode(line[6:])

    async def _lines(self, path: str, after: str | None = None) -> AsyncGenerator[bytes]:
        rest = b""
        ask: Ask[Any] = Ask("GET", path, headers={"Last-Event-ID": after or None})
        async with self._exchange(ask, silence=_STREAM_SECONDS) as found:
            if found.status_code != 200:
                _read(HttpReply(found.status_code, await _body(found)))
            async for piece in found.aiter_raw():
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    yield line

    @contextlib.asynccontextmanager
    async def _exchange(self, ask: Ask[Any], *, silence: float | None = None) -> AsyncIterator[httpx.Response]:
        from assent.sdk.client.http_transport import Where, exchange  # noqa: PLC0415 - whoever sends nothing does without it

        where = Where(self._url, self._at[1])
        headers = {**ask.headers, **_headers(self._token, body=ask.body)}
        try:
            async with exchange(where, ask, headers, silence=silence) as found:
                yield found
        except OSError as error:
            raise UnreachableError(f"the daemon cannot be reached: {error}") from None


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, home: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._home = home

    def connect(self) -> None:
        """Connect to the socket in Assent's home."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        with short_name(self._home) as folder:
            self.sock.connect(os.path.join(folder, SOCKET_NAME))


class DaemonLocation(msgspec.Struct, frozen=True, kw_only=True):
    """The daemon's address and token: a URL, or the Unix socket in Assent's home."""

    url: str = ""
    home: str = ""
    token: str = ""


def find_client(environ: Mapping[str, str] = os.environ) -> Client:
    """Return the client of this user."""
    where = find_endpoint(environ)
    return Client(url=where.url, home=where.home, token=where.token)


def find_endpoint(environ: Mapping[str, str] = os.environ) -> DaemonLocation:
    """Find the daemon of this user: by `ASSENT_URL` and `ASSENT_TOKEN`, else by the files in Assent's home."""
    url, token = environ.get("ASSENT_URL", ""), environ.get("ASSENT_TOKEN", "")
    if url and not token:
        raise AssentError("ASSENT_URL needs ASSENT_TOKEN beside it")
    if url:
        read_url(url, "ASSENT_URL")
        return DaemonLocation(url=url, token=token)
    home = assent_home(environ)
    if not token:
        path = os.path.join(home, TOKEN_FILE)
        held = find_private(path, suggestion="make its mode 0600") if os.path.isdir(home) else None  # noqa: PTH112 - as above
        if held is None and not os.path.exists(os.path.join(home, SOCKET_NAME)):  # noqa: PTH110 - as above
            raise UnreachableError("the daemon was never started here; start it with `assent serve`")
        # Without a token one is an agent at most, which is all that one is inside a sandbox.
        token = "" if held is None else held.decode("ascii", "replace").strip()
    return DaemonLocation(home=home, token=token)


def _headers(token: str, *, body: bytes | None = None, after: str | None = None) -> dict[str, str]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    headers |= {"Content-Type": "application/json"} if body is not None else {}
    return headers | ({"Last-Event-ID": after} if after else {})


def _decoded(header: str) -> str:
    """Decode a header as UTF-8: `http.client` decodes its bytes as Latin-1."""
    return header.encode("latin-1", "replace").decode("utf-8", "replace")


async def _body(found: httpx.Response) -> bytes:
    return b"".join([piece async for piece in found.aiter_raw()])


def _decoded_headers(found: httpx.Response) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("utf-8", "replace") for name, value in found.headers.raw}


def _events_path(session: str | None, types: Iterable[str], user: str | None) -> str:
    query = {"sessionId": session, "type": ",".join(types), "user": user}
    return "/api/runtime/events?" + urlencode({name: value for name, value in query.items() if value})


def _export_path(filters: dict[str, Any]) -> str:
    return "/api/audit/export?" + urlencode({name: value for name, value in filters.items() if value is not None})


def _record(ask: Ask[T], answer: HttpReply) -> T:
    if answer.status != 200:
        _read(answer)
    try:
        return ask.read(answer)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise ApiError(answer.status, "the daemon gave an answer that cannot be read") from None


def _read(answer: HttpReply) -> Any:
    status = answer.status
    try:
        found = msgspec.json.decode(answer.body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise ApiError(status, f"the daemon gave an answer that cannot be read ({status})") from None
    if status == 200:
        return found
    more = found if isinstance(found, dict) else {}
    detail = f": {more['detail']}" if "detail" in more else ""
    raise ApiError(status, f"{more.get('error') or more.get('reason') or status}{detail}", more)
