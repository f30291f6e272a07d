"""HTTP/1.1 to the daemon from an event loop: httpx, with a connection of its own for each request.

No proxy and no `.netrc` of the environment is used; TLS trusts the certificates that the system trusts.
"""

# Paths are strings here, as in `assent.model`.
# ruff: noqa: PTH118

from __future__ import annotations

import contextlib
import functools
import os
import ssl
from collections.abc import AsyncIterator, Iterator
from urllib.parse import SplitResult

import httpx
import msgspec

from assent.platform.daemon_address import SOCKET_NAME, short_name
from assent.sdk.client.requests import Ask

_ONE_EACH = httpx.Limits(max_keepalive_connections=0)
"""A connection that the daemon closed meanwhile would lose a request that may not be sent twice."""


class Where(msgspec.Struct, frozen=True):
    """The daemon's address: a URL, or the home in which its socket is."""

    url: SplitResult | None
    home: str

    @property
    def origin(self) -> str:
        """Return the URL without a path, and without a name and password."""
        return (
            f"{self.url.scheme}://{self.url.netloc.rpartition('@')[2]}" if self.url is not None else "http://localhost"
        )


@contextlib.asynccontextmanager
async def exchange(
    where: Where, ask: Ask[object], headers: dict[str, str], *, silence: float | None
) -> AsyncIterator[httpx.Response]:
    """Send a request, and yield the response once its head has arrived; `silence` is the longest wait for bytes.

    Raises `OSError` if the daemon cannot be reached or the response is cut short, `ValueError` if what is to be sent
    is no HTTP.
    """
    sent = {**headers, "Connection": "close"}
    # The target goes out as it is: httpx would take `..` out of a path.
    request = httpx.Request(
        ask.method, where.origin, headers=sent, content=ask.body, extensions=_extensions(ask, silence)
    )
    try:
        with _socket(where) as socket:
            async with httpx.AsyncHTTPTransport(
                verify=_context(request.url.scheme), trust_env=False, limits=_ONE_EACH, uds=socket
            ) as line:
                response = await line.handle_async_request(request)
                async with contextlib.aclosing(response):
                    yield response
    except httpx.LocalProtocolError as error:
        raise ValueError(f"the request is no HTTP: {error}") from None
    except httpx.TransportError as error:
        raise ConnectionError(str(error) or type(error).__name__) from None


def _extensions(ask: Ask[object], silence: float | None) -> dict[str, object]:
    return {"target": ask.path.encode("ascii"), "timeout": httpx.Timeout(silence).as_dict()}


@contextlib.contextmanager
def _socket(where: Where) -> Iterator[str | None]:
    if where.url is not None:
        yield None
        return
    with short_name(where.home) as folder:
        yield os.path.join(folder, SOCKET_NAME)


@functools.cache
def _context(scheme: str) -> ssl.SSLContext:
    """Return what the system trusts; loading that takes a while, and without TLS a context that trusts nobody does."""
    return ssl.create_default_context() if scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
