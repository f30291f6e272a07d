"""A client of the daemon without parts of others: over its Unix socket, or over an address."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH118

from __future__ import annotations

import http.client
import os
import socket
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from assent.config.endpoints import SOCKET_NAME, TOKEN_FILE, short_name
from assent.config.files import find_private
from assent.config.places import assent_home
from assent.model import AssentError

TIMEOUT = 30.0


class ApiError(AssentError):
    """The daemon refused, and said why."""

    def __init__(self, status: int, message: str, more: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.more = more or {}


class UnreachableError(AssentError):
    """The daemon is not running, or can not be reached."""


class Client:
    """Asks the daemon, one request after the other."""

    def __init__(self, *, url: str = "", home: str = "", token: str = "", timeout: float = TIMEOUT) -> None:
        self._url = urlsplit(url) if url else None
        self._home = home
        self._token = token
        self._timeout = timeout

    def get(self, path: str, **query: str | float | None) -> Any:
        """Fetch something."""
        given = urlencode({name: value for name, value in query.items() if value is not None})
        return self.call("GET", f"{path}?{given}" if given else path)

    def post(self, path: str, body: Any) -> Any:
        """Have something done."""
        return self.call("POST", path, msgspec.json.encode(body))

    def delete(self, path: str) -> Any:
        """Have something ended."""
        return self.call("DELETE", path)

    def call(self, method: str, path: str, body: bytes | None = None) -> Any:
        """Send one request and return the answer, or raise `ApiError` or `UnreachableError`."""
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection = self._connect()
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            status, data = answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise UnreachableError(f"the daemon can not be reached: {error}") from None
        finally:
            connection.close()
        return _read(status, data)

    def _connect(self) -> http.client.HTTPConnection:
        if self._url is None:
            return _UnixConnection(self._home, self._timeout)
        kind = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
        return kind(self._url.hostname or "127.0.0.1", self._url.port, timeout=self._timeout)


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


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where the daemon is, and who asks it: at an address, or by the socket in a home."""

    url: str = ""
    home: str = ""
    token: str = ""


def find_client(environ: Mapping[str, str] = os.environ) -> Client:
    """Return the client of this user."""
    where = find_endpoint(environ)
    return Client(url=where.url, home=where.home, token=where.token)


def find_endpoint(environ: Mapping[str, str] = os.environ) -> Endpoint:
    """Find the daemon of this user: by `ASSENT_URL` and `ASSENT_TOKEN`, else by what is in Assent's home."""
    url, token = environ.get("ASSENT_URL", ""), environ.get("ASSENT_TOKEN", "")
    if url and not token:
        raise AssentError("ASSENT_URL needs ASSENT_TOKEN beside it")
    if url:
        if urlsplit(url).scheme not in ("http", "https"):
            raise AssentError("ASSENT_URL must begin with http:// or https://")
        return Endpoint(url=url, token=token)
    home = assent_home(environ)
    if not token:
        path = os.path.join(home, TOKEN_FILE)
        held = find_private(path, suggestion="make its mode 0600") if os.path.isdir(home) else None  # noqa: PTH112 - as above
        if held is None and not os.path.exists(os.path.join(home, SOCKET_NAME)):  # noqa: PTH110 - as above
            raise UnreachableError("the daemon was never started here; start it with `assent serve`")
        # Without a token one is an agent at most, which is all that one is inside a sandbox.
        token = "" if held is None else held.decode("ascii", "replace").strip()
    return Endpoint(home=home, token=token)


def quoted(part: str) -> str:
    """Write a piece of a path so that it stays one piece."""
    return quote(part, safe="")


def _read(status: int, data: bytes) -> Any:
    try:
        found = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise ApiError(status, f"the daemon gave an answer that can not be read ({status})") from None
    if status == 200:
        return found
    more = found if isinstance(found, dict) else {}
    detail = f": {more['detail']}" if "detail" in more else ""
    raise ApiError(status, f"{more.get('error') or more.get('reason') or status}{detail}", more)
