"""Checks of `Host`, `Origin` and other headers, against requests that foreign pages make browsers send.

Any web page can make a browser send requests to the daemon, and can resolve its own host name to it. So every `Host`
must be one of the daemon's, and the origin of a page must be the daemon's own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from assent.wire.refusal import Refusal

if TYPE_CHECKING:
    from starlette.types import Scope

    from assent.config.settings import ServerSettings

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_ONCE = (b"host", b"origin", b"authorization", b"content-type", b"content-length", b"sec-fetch-site")
_OURS = (b"same-origin", b"none")
_DEFAULT_PORTS = {"http": 80, "https": 443}


class AllowedOrigins(msgspec.Struct, frozen=True):
    """The values of `Host` and `Origin` that are accepted."""

    hosts: frozenset[bytes]
    origins: frozenset[bytes]

    def check(self, headers: dict[bytes, bytes], *, local: bool, page: bool) -> None:
        """Refuse a request with a foreign `Host`, `Origin` or site.

        `local` is the Unix socket, which has no host name; a `page` may be opened by a link from anywhere.
        """
        if not local and headers.get(b"host") not in self.hosts:
            raise Refusal(403, "Forbidden: unknown Host header")
        origin = headers.get(b"origin")
        if origin is not None and (local or origin not in self.origins):
            raise Refusal(403, "Forbidden: requests from that origin are not accepted")
        site = headers.get(b"sec-fetch-site")
        if site is not None and site not in _OURS and not (page and headers.get(b"sec-fetch-mode") == b"navigate"):
            raise Refusal(403, "Forbidden: requests from other sites are not accepted")


def gather_headers(pairs: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Return headers as a dictionary; refuse repeated headers that affect a check."""
    listed = list(pairs)
    headers = dict(listed)
    if len(headers) != len(listed):
        names = [name for name, _ in listed]
        for name in _ONCE:
            if names.count(name) > 1:
                raise Refusal(400, f"Invalid request: {name.decode()} is given twice")
        headers[b"cookie"] = b"; ".join(value for name, value in listed if name == b"cookie")
        headers[b"sec-websocket-protocol"] = b",".join(v for n, v in listed if n == b"sec-websocket-protocol")
    return headers


def check_cookie_use(headers: dict[bytes, bytes], method: str) -> None:
    """Require an `Origin` for changes by cookie: browsers send cookies with every request."""
    if method not in SAFE_METHODS and b"origin" not in headers:
        raise Refusal(403, "Forbidden: a request with a cookie must say its origin")


def check_content_type(headers: dict[bytes, bytes]) -> None:
    """Accept JSON only: no form of another site can send it."""
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if kind != b"application/json":
        raise Refusal(415, "The content type must be application/json")


def allowed_origins(settings: ServerSettings, port: int) -> AllowedOrigins:
    """Return the hosts and origins of the settings, at the port that is really listened on."""
    names = {f"{host}:{port}" for host in ("127.0.0.1", "localhost", "[::1]")}
    if port == _DEFAULT_PORTS["http"]:
        names |= {"127.0.0.1", "localhost", "[::1]"}
    if settings.host not in ("127.0.0.1", "::1", "0.0.0.0", "::", "localhost"):  # noqa: S104 - compared, not bound
        names.add(f"[{settings.host}]:{port}" if ":" in settings.host else f"{settings.host.lower()}:{port}")
    names |= set(settings.names)
    origins = {f"http://{name}" for name in names}
    if settings.public_url:
        names.add(settings.public_url.partition("://")[2])
        origins.add(settings.public_url)
    return AllowedOrigins(frozenset(map(str.encode, names)), frozenset(map(str.encode, origins)))


def is_local(scope: Scope) -> bool:
    """Tell whether a request came over the Unix socket."""
    return "peer" in scope.get("state", ())


class Peer(msgspec.Struct, frozen=True):
    """The peer of a Unix socket."""

    uid: int
    ask_only: bool = False
    """It is the ask-only socket, on which nobody is more than an agent."""

    @property
    def is_somebody_else(self) -> bool:
        """Tell whether the peer is neither the daemon's own user nor root."""
        return self.uid >= 0 and self.uid not in (0, os.geteuid())


def peer_of(scope: Scope) -> Peer | None:
    """Return the peer of the Unix socket; None over TCP."""
    peer: Peer | None = scope.get("state", {}).get("peer")
    return peer
