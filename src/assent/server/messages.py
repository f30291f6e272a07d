"""What comes in and what goes out: a request that has passed the door, a reply, and a refusal."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias, TypeVar
from urllib.parse import parse_qsl

import msgspec

from assent.model import AssentError, encode
from assent.model.principal import Principal

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
T = TypeVar("T")

JSON = b"application/json"
HTML = b"text/html; charset=utf-8"


class Refusal(AssentError):  # noqa: N818 - an answer of its own, not a fault
    """A request is not done, for a reason its sender can act on."""

    def __init__(self, status: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.more = more


class Reply(msgspec.Struct, frozen=True):
    """What is sent back."""

    status: int
    body: bytes
    kind: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Stream(msgspec.Struct, frozen=True):
    """What is sent back bit by bit, for as long as its reader may see it and reads."""

    pieces: AsyncGenerator[bytes]
    kind: bytes = b"text/event-stream; charset=utf-8"
    headers: tuple[tuple[bytes, bytes], ...] = ()
    alive: bytes = b": still here\n\n"
    """A sign of life for when nothing comes."""


class Request(msgspec.Struct):
    """One request, read whole, from a principal who may make it."""

    method: str
    path: str
    query_string: bytes
    headers: dict[bytes, bytes]
    body: bytes
    principal: Principal | None
    params: dict[str, str]
    receive: Receive
    cookie: bool = False
    """Its sender proved itself by a cookie, as browsers do."""

    @property
    def query(self) -> dict[str, str]:
        """Return the query's parameters; each may be given once."""
        try:
            text = self.query_string.decode("ascii")
            pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=32, errors="strict")
        except (ValueError, UnicodeError):
            raise Refusal(400, "Invalid query") from None
        found = dict(pairs)
        if len(found) != len(pairs):
            raise Refusal(400, "Invalid query: a parameter is given twice")
        return found

    @property
    def who(self) -> Principal:
        """Return who asks, on a route that is not open to everyone."""
        if self.principal is None:
            raise Refusal(401, "Unauthorized")
        return self.principal

    def decode(self, decoder: msgspec.json.Decoder[T]) -> T:
        """Read the body, or refuse it with the place at fault."""
        try:
            return decoder.decode(self.body)
        except msgspec.ValidationError as error:
            raise Refusal(400, f"Invalid body: {error}") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise Refusal(400, "Invalid JSON body") from None

    async def left(self) -> None:
        """Wait until whoever asked has hung up."""
        while (await self.receive())["type"] != "http.disconnect":
            pass


class CallerGone(AssentError):  # noqa: N818 - nobody is left to be told of an error
    """The caller hung up before there was an answer."""


class StoppingError(AssentError):
    """The daemon stops before there is an answer."""


def reply(record: Any, status: int = 200, headers: tuple[tuple[bytes, bytes], ...] = ()) -> Reply:
    """Answer with a record as JSON."""
    return Reply(status, encode(record), JSON, headers)


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
