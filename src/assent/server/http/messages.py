"""Requests and responses of Starlette, with the principal, the checked query and the body of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette import requests
from starlette.responses import Response, StreamingResponse

from assent.model import AssentError, encode
from assent.wire.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.types import Receive, Scope, Send

    from assent.model.principal import Principal

T = TypeVar("T")
Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]

JSON = "application/json"
HTML = "text/html; charset=utf-8"
EVENTS = "text/event-stream; charset=utf-8"


class Request(requests.Request):
    """A request; its principal and body are set while it is admitted."""

    def __init__(self, scope: Scope, receive: Receive = requests.empty_receive) -> None:
        super().__init__(scope, receive)
        self.fields: dict[bytes, bytes] = {}
        """The header fields that count, by their names in lower case."""
        self.principal: Principal | None = None
        self.cookie = False
        """A cookie, as browsers send it, proved who the sender is."""
        self.payload = b""
        """The whole body."""

    @property
    def query(self) -> dict[str, str]:
        """Return the query's parameters; each may be given once."""
        try:
            text = self.scope["query_string"].decode("ascii")
            pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=32, errors="strict")
        except (ValueError, UnicodeError):
            raise Refusal(400, "Invalid query") from None
        found = dict(pairs)
        if len(found) != len(pairs):
            raise Refusal(400, "Invalid query: a parameter is given twice")
        return found

    @property
    def who(self) -> Principal:
        """Return the principal, or refuse a request without one."""
        if self.principal is None:
            raise Refusal(401, "Unauthorized")
        return self.principal

    async def read(self, limit: int) -> None:
        """Read the body, up to `limit` bytes; raise `ClientDisconnect` where the caller disconnects."""
        size = self.fields.get(b"content-length", b"0")
        if not size.isdigit() or int(size) > limit:
            raise _too_large(limit)
        pieces: list[bytes] = []
        length, more = 0, True
        while more:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise requests.ClientDisconnect
            pieces.append(message.get("body", b""))
            more = message.get("more_body", False)
            length += len(pieces[-1])
            if length > limit:
                raise _too_large(limit)
        self.payload = b"".join(pieces)

    def decode(self, decoder: msgspec.json.Decoder[T]) -> T:
        """Decode the body, or refuse it with the path of the error."""
        try:
            return decoder.decode(self.payload)
        except msgspec.ValidationError as error:
            raise Refusal(400, f"Invalid body: {error}") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise Refusal(400, "Invalid JSON body") from None

    async def left(self) -> None:
        """Wait until the caller has disconnected."""
        while (await self.receive())["type"] != "http.disconnect":
            pass


def _too_large(limit: int) -> Refusal:
    return Refusal(413, f"The body is larger than {limit} bytes")


class StoppingError(AssentError):
    """The daemon stops before there is an answer."""


class Stream(StreamingResponse):
    """A streamed response, which ends when its reader disconnects."""

    body_iterator: AsyncGenerator[bytes]

    def __init__(
        self,
        pieces: AsyncGenerator[bytes],
        media_type: str = EVENTS,
        headers: Headers = (),
        *,
        alive: bytes = b": still here\n\n",
    ) -> None:
        super().__init__(pieces, media_type=media_type)
        self.raw_headers.extend(((b"x-accel-buffering", b"no"), *headers))
        self.alive = alive
        """A sign of life for when nothing comes."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the pieces at the speed of the reader; for HEAD, the headers only."""
        try:
            if scope["method"] == "HEAD":
                await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                await send({"type": "http.response.body"})
            else:
                await super().__call__(scope, receive, send)
        finally:
            await self.body_iterator.aclose()


def respond(body: bytes, media_type: str = JSON, headers: Headers = (), status: int = 200) -> Response:
    """Return a response with this body."""
    response = Response(body, status, media_type=media_type)
    response.raw_headers.extend(headers)
    return response


def reply(record: Any, status: int = 200, headers: Headers = ()) -> Response:
    """Return a response with a record as JSON."""
    return respond(encode(record), JSON, headers, status)


def read_int(query: dict[str, str], name: str, default: int, *, low: int, high: int) -> int:
    """Read a whole number from the query, or refuse it."""
    text = query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 16 and low <= int(text) <= high):
        raise Refusal(400, f"Invalid {name}: expected a whole number from {low} to {high}")
    return int(text)


def read_seconds(query: dict[str, str], name: str, *, high: float) -> float:
    """Read a number of seconds from the query, at most `high`; 0 if it is not there."""
    text = query.get(name, "0")
    digits = text.replace(".", "", 1)
    if not (digits.isascii() and digits.isdigit() and len(text) < 16):
        raise Refusal(400, f"Invalid {name}: expected a number of seconds")
    return min(float(text), high)
