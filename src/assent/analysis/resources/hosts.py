"""The exact grammar of a host that may be reached. What is not surely one plain name or address is refused."""

from __future__ import annotations

import re

import msgspec

from assent.model import AssentError

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
# A name that ends in a number is an old way to write an address (`0x7f.1`, `2130706433`).
_ENDS_IN_NUMBER = re.compile(r"(?:^|\.)(?:[0-9]+|0[xX][0-9a-fA-F]*)$")
_PORT = re.compile(r"[1-9][0-9]{0,4}")


class Host(msgspec.Struct, frozen=True):
    """A name or an address, perhaps with one port; without one, those of the web: 80 and 443."""

    name: str
    port: int | None = None

    def __str__(self) -> str:
        shown = f"[{self.name}]" if ":" in self.name else self.name
        return shown if self.port is None else f"{shown}:{self.port}"

    def admits(self, name: str, port: int) -> bool:
        """Tell whether this very host and port is meant."""
        return self.name == name and (port in (80, 443) if self.port is None else port == self.port)


def parse_host(text: str) -> Host:
    """Read `name`, `name:port`, `1.2.3.4`, `[::1]:443`, or raise `AssentError`."""
    if text.startswith("["):
        inside, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")) or "%" in inside:
            raise AssentError("this is not an address in brackets")
        return Host(_address(inside, 6), _port(rest[1:]) if rest else None)
    name, colon, port = text.partition(":")
    return Host(parse_name(name), _port(port) if colon else None)


def parse_name(text: str) -> str:
    """Return the one spelling of a host's name or of its IPv4 address, or raise `AssentError`."""
    if "*" in text:
        raise AssentError("a host is named in full, without wildcards")
    name = text.lower()
    if not text.isascii():
        raise AssentError("a host is written in ASCII (`xn--…`)")
    if len(name) > 253 or not _NAME.fullmatch(name):
        raise AssentError("this is not the name of a host")
    if _ENDS_IN_NUMBER.search(name):
        return _address(name, 4)
    return name


def _address(text: str, version: int) -> str:
    import ipaddress  # noqa: PLC0415 - slow to load, and most hosts are names

    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise AssentError("this is not an address in its usual form") from None
    if address.version != version:
        raise AssentError("this is not an address in its usual form")
    return str(address)


def _port(text: str) -> int:
    if not _PORT.fullmatch(text) or int(text) > 65535:
        raise AssentError("this is not a port")
    return int(text)
