"""HTTP/1.1 to the daemon from an event loop: one connection for each request, without parts of others."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH118

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncGenerator
from urllib.parse import SplitResult

import httptools
import msgspec

from assent.config.endpoints import SOCKET_NAME, short_name

LARGEST_ANSWER = 512 << 20


class Where(msgspec.Struct, frozen=True):
    """The daemon's address: a URL, or the home in which its socket is."""

    url: SplitResult | None
    home: str

    @property
    def host(self) -> str:
        """Return what goes into the `Host` header."""
        return self.url.netloc.rpartition("@")[2] if self.url is not None else "localhost"


class Incoming:
    """An answer as it comes in."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._pieces: list[bytes] = []
        self.headers: dict[str, str] = {}
        """By their names in lower case."""
        self.done = False
        self.begun = False

    @property
    def status(self) -> int:
        """Return its status."""
        return int(self._parser.get_status_code())

    def feed(self, data: bytes) -> bytes:
        """Take in some bytes and return what they hold of the body."""
        self._parser.feed_data(data)
        piece = b"".join(self._pieces)
        self._pieces.clear()
        return piece

    def on_header(self, name: bytes, value: bytes) -> None:
        """Hear a header."""
        self.headers[name.decode("latin-1").lower()] = value.decode("utf-8", "replace")

    def on_headers_complete(self) -> None:
        """Hear that the body begins."""
        self.begun = True

    def on_body(self, body: bytes) -> None:
        """Hear a part of the body."""
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        """Hear that it is whole."""
        self.done = True


async def exchange(where: Where, head: bytes, body: bytes) -> AsyncGenerator[tuple[Incoming, bytes]]:
    """Send a request and give each piece of the answer's body, beside the answer; raises `OSError` if that is cut."""
    reader, writer = await _connect(where)
    try:
        writer.write(head + body)
        await writer.drain()
        answer, begun = Incoming(), False
        while not answer.done:
            data = await reader.read(1 << 16)
            if not data:
                raise ConnectionResetError("the answer was cut short")
            piece = answer.feed(data)
            if piece or (answer.begun and not begun) or answer.done:
                begun = True
                yield answer, piece
    except httptools.HttpParserError as error:
        raise ConnectionError(f"the answer is no HTTP: {error}") from None
    finally:
        writer.close()


async def _connect(where: Where) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if where.url is None:
        with short_name(where.home) as folder:
            return await asyncio.open_unix_connection(os.path.join(folder, SOCKET_NAME))
    secure = where.url.scheme == "https"
    port = where.url.port or (443 if secure else 80)
    context = ssl.create_default_context() if secure else None
    return await asyncio.open_connection(where.url.hostname or "127.0.0.1", port, ssl=context)


def write_head(method: str, path: str, headers: dict[str, str], length: int) -> bytes:
    """Write a request's first lines."""
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("a header or path holds a line break")
    return "\r\n".join((*lines, f"Content-Length: {length}", "Connection: close", "", "")).encode("latin-1")
