"""Find the server name in the first message of a TLS connection."""

from __future__ import annotations

LARGEST = 1 << 16


class NotTls(Exception):  # noqa: N818 - a finding, not a fault
    """The data is not the beginning of a TLS connection."""


class Incomplete(Exception):  # noqa: N818 - as above
    """The message is not complete yet."""


def server_name(data: bytes) -> str | None:
    """Return the server name of a client hello, None if it has none; raise `NotTls` or `Incomplete`."""
    hello = _handshake(data)
    try:
        return _find_name(_Reader(hello))
    except IndexError:
        raise NotTls from None


def _handshake(data: bytes) -> bytes:
    """Join the records up to the end of the first message."""
    message, at = b"", 0
    while True:
        if len(data) < at + 5:
            if data[at : at + 1] not in (b"", b"\x16"):
                raise NotTls
            raise Incomplete
        if data[at] != 0x16 or data[at + 1] != 3:
            raise NotTls
        size = int.from_bytes(data[at + 3 : at + 5])
        message += data[at + 5 : at + 5 + size]
        if message and message[0] != 1:
            raise NotTls
        if len(message) >= 4 and len(message) >= 4 + int.from_bytes(message[1:4]):
            return message[4 : 4 + int.from_bytes(message[1:4])]
        if len(data) < at + 5 + size:
            raise Incomplete
        if len(data) > LARGEST or not size:
            raise NotTls
        at += 5 + size


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data

    def take(self, count: int) -> bytes:
        if len(self.data) < count:
            raise IndexError
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def block(self, width: int) -> _Reader:
        return _Reader(self.take(int.from_bytes(self.take(width))))


def _find_name(hello: _Reader) -> str | None:
    hello.take(34)
    hello.block(1)
    hello.block(2)
    hello.block(1)
    if not hello.data:
        return None
    extensions = hello.block(2)
    found = []
    while extensions.data:
        kind = int.from_bytes(extensions.take(2))
        body = extensions.block(2)
        if kind == 0:
            found += _names(body.block(2))
    if len(found) > 1:
        raise NotTls
    return found[0] if found else None


def _names(names: _Reader) -> list[str]:
    found = []
    while names.data:
        kind, name = names.take(1), names.block(2).data
        if kind != b"\0" or not name.isascii():
            raise NotTls
        found.append(name.decode("ascii").lower())
    return found
