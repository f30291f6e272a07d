"""Parse requests to the proxy strictly: a request that two parsers could read differently is refused."""

from __future__ import annotations

import re

import msgspec

from assent.analysis.resources.hosts import Host, parse_host
from assent.model import AssentError

_LINE = re.compile(rb"([A-Z]{3,20}) ([\x21-\x7e]{1,8192}) HTTP/1\.[01]")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*")
_HTTP = re.compile(r"http://([^/?#]+)([/?].*)?", re.DOTALL)
_FRAMING = (b"content-length", b"transfer-encoding")
_OURS = (b"connection", b"keep-alive", b"te", b"trailer", b"upgrade")


class ProxyRequest(msgspec.Struct, frozen=True):
    """One request: its host, and what to forward."""

    host: Host
    port: int
    tunnel: bool
    head: bytes = b""
    """The head to forward, for a plain request."""
    length: int = 0
    """How many bytes follow; -1 for chunked."""

    @property
    def place(self) -> str:
        """Return the host, with its port unless it is the default."""
        return str(Host(self.host.name, None if self.port == (443 if self.tunnel else 80) else self.port))


def parse_request(head: bytes) -> ProxyRequest:
    """Parse the head of a request, without its empty line, or raise `AssentError`."""
    method, target, headers = _parse(head)
    if method == b"CONNECT":
        host = parse_host(target)
        if host.port is None:
            raise AssentError("CONNECT needs a port")
        return ProxyRequest(Host(host.name), host.port, tunnel=True)
    return _plain(method, target, headers)


def parse_inner(head: bytes, host: Host) -> ProxyRequest:
    """Parse the head of a plain request inside a tunnel to this host, or raise `AssentError`."""
    method, target, headers = _parse(head)
    if method == b"CONNECT" or not target.startswith("/"):
        raise AssentError("a request in a tunnel must name a path")
    return _plain(method, f"http://{host}{target}", headers)


def _parse(head: bytes) -> tuple[bytes, str, list[tuple[bytes, bytes]]]:
    """Split a head into its method, its target and its headers."""
    first, *lines = head.split(b"\r\n")
    found = _LINE.fullmatch(first)
    if found is None:
        raise AssentError("not a request to a proxy")
    return found[1], found[2].decode("ascii"), [_header(line) for line in lines]


def _header(line: bytes) -> tuple[bytes, bytes]:
    found = _HEADER.fullmatch(line)
    if found is None:
        raise AssentError("malformed header")
    return found[1], found[2]


def _plain(method: bytes, target: str, headers: list[tuple[bytes, bytes]]) -> ProxyRequest:
    found = _HTTP.fullmatch(target)
    if found is None:
        raise AssentError("only http:// URLs are forwarded without CONNECT")
    host = parse_host(found[1])
    said = _values(headers, b"host")
    if len(said) > 1 or (said and parse_host(said[0].decode("ascii", "replace")) != _usual(host)):
        raise AssentError("the Host header differs from the URL")
    path = found[2] or "/"
    path = "/" + path if path.startswith("?") else path
    named = {n.strip().lower() for v in _values(headers, b"connection") for n in v.split(b",")}
    if not named.isdisjoint(_FRAMING):
        raise AssentError("the length of the request is ambiguous")
    dropped = {*_OURS, *named, b"host"}
    kept = [(n, v) for n, v in headers if n.lower() not in dropped and not n.lower().startswith(b"proxy-")]
    lines = [method + b" " + path.encode("ascii") + b" HTTP/1.1", b"Host: " + str(_usual(host)).encode()]
    lines += [name + b": " + value for name, value in kept]
    sent = b"\r\n".join((*lines, b"Connection: close", b"", b""))
    return ProxyRequest(Host(host.name), host.port or 80, tunnel=False, head=sent, length=_length(headers))


def _usual(host: Host) -> Host:
    return Host(host.name, None if host.port == 80 else host.port)


def _values(headers: list[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [value for n, value in headers if n.lower() == name]


def _length(headers: list[tuple[bytes, bytes]]) -> int:
    coding, length = _values(headers, b"transfer-encoding"), _values(headers, b"content-length")
    if coding:
        if length or [c.lower() for c in coding] != [b"chunked"]:
            raise AssentError("the length of the request is ambiguous")
        return -1
    if not length:
        return 0
    if len(length) > 1 or not re.fullmatch(rb"[0-9]{1,15}", length[0]):
        raise AssentError("the length of the request is ambiguous")
    return int(length[0])
