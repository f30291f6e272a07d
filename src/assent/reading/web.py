"""What a URL would contact: one strict reader for fetches and for the addresses that commands are given."""

from __future__ import annotations

import ipaddress
import re
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from assent.model import UNKNOWN, CallError, Operation, OperationKind, Tier

URL_FIELDS = ("url", "uri")
_NAME = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_ADDRESS = re.compile(r"https?://[^\s<>\"'`)\]}]+", re.IGNORECASE)
_SCHEME = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9+.-]*):(?P<slashes>/+)")
_FILE = re.compile(r"(?i)file:(?://(?P<host>[^/]*)(?=/))?/*(?P<path>/[^?#]*|[^?#]*)")
_GUESSED = ("ftp.", "dict.", "ldap.", "imap.", "smtp.", "pop3.")
"""A name that begins so is spoken to in that protocol, if no other is given."""
_EXPANDED = frozenset("{}[]")
_SAVED = re.compile(r"[\w.+@~,=-]*", re.ASCII)
_WILD_NAMES = (
    ".localhost",
    ".local",
    ".internal",
    ".nip.io",
    ".sslip.io",
    ".xip.io",
    ".lvh.me",
    ".localtest.me",
    ".vcap.me",
    ".lacolhost.com",
)
"""Names that are, or that anybody may point at, machines of a private network."""
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


class Address(msgspec.Struct, frozen=True):
    """What a command is told to contact, or the local file that is meant by it."""

    host: str = UNKNOWN
    doubt: str | None = None
    """Why contacting it is more than reading a public page."""
    file: str | None = None
    saved: tuple[str, ...] = (UNKNOWN,)
    """What a download is called that is named after the address."""


def fetch(tool_input: dict[str, Any]) -> tuple[Operation, ...]:
    """Read a fetch: every address the input names, since which of them counts is the agent's choice."""
    urls = [tool_input[f] for f in URL_FIELDS if tool_input.get(f) is not None]
    prompt = tool_input.get("prompt")
    if not urls and isinstance(prompt, str):
        urls = _ADDRESS.findall(prompt)
    return tuple(_page(u) for u in urls or [None])


def _page(url: Any) -> Operation:
    host, doubt = contact(url) if isinstance(url, str) and url else (UNKNOWN, "it does not say what it fetches")
    return Operation(
        kind=OperationKind.NET_CONNECT,
        resource=host,
        tier=Tier.DANGEROUS if doubt else Tier.SAFE,
        reason=doubt or f"reads a page from {host}",
    )


def contact(url: str) -> tuple[str, str | None]:
    """Return the host (with a port that is not the scheme's) and, if fetching is more than reading, why."""
    if any(ord(c) <= 32 or ord(c) == 127 or c == "\\" for c in url) or not url.isascii():
        raise CallError("the URL holds characters that no URL has")
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        raise CallError("the URL can not be read") from None
    if not host or parts.scheme not in ("http", "https"):
        raise CallError("the URL names no web host")
    if ":" not in host and not _NAME.fullmatch(host):
        raise CallError("the URL spells its host in a way that not everybody reads alike")
    shown = f"[{host}]" if ":" in host else host
    place = shown if port in (None, 80, 443) else f"{shown}:{port}"
    if parts.username is not None:
        return place, "the URL carries credentials"
    return place, f"{place} is on this machine or a private network" if is_private(host) else None


def read_address(text: str) -> Address:
    """Read an address as a command is given it: with or without a scheme, as programs that guess would take it."""
    if _FILE.match(text):
        return _file(text)
    scheme = _SCHEME.match(text)
    web = scheme is None or scheme["name"].lower() in ("http", "https")
    url = "http://" + (text[scheme.end() :] if scheme else text)
    known, cut, _ = url.partition(UNKNOWN)
    if cut and not re.match(r"http://[^/?#]+[/?#]", known):
        return Address(doubt="contacts a machine that is only known when it runs")
    try:
        host, doubt = contact(_without_expansions(known))
    except CallError as error:
        return Address(doubt=f"contacts a machine that is not surely known: {error}")
    odd = scheme is not None and len(scheme["slashes"]) != 2
    if odd or not web or (scheme is None and host.startswith(_GUESSED)):
        doubt = "uses a protocol that can do more than fetch, or spells it oddly"
    elif _EXPANDED.intersection(_after_host(known)):
        doubt = "contacts addresses that are made from a pattern"
    elif _name_of(host) in _LOOPBACK and "@" not in known:
        # A server of one's own is looked at all day; Assent's own address is denied by its port.
        doubt = None
    return Address(host, doubt, saved=(UNKNOWN,) if cut else _saved(known))


def _without_expansions(url: str) -> str:
    """Return the part of a URL that names the host; brackets are only fine around an address."""
    authority = re.split(r"[/?#]", url[len("http://") :], maxsplit=1)[0]
    name = authority.rpartition("@")[2]
    if _EXPANDED.intersection(re.sub(r"^\[[0-9A-Fa-f:.]+\]", "", name)) or _EXPANDED.intersection(
        authority[: -len(name)] if name else authority
    ):
        raise CallError("its host is a pattern")
    if any(ord(c) <= 32 or ord(c) >= 127 or c == "\\" for c in url):
        raise CallError("it holds characters that no URL has")
    return "http://" + authority


def _after_host(url: str) -> str:
    return url[len("http://") :].partition("/")[2]


def _name_of(host: str) -> str:
    return host if host.endswith("]") else host.rpartition(":")[0] or host


def _file(text: str) -> Address:
    """Read the address of a local file, which programs find in many spellings."""
    found = _FILE.match(text)
    path = unquote(found["path"]) if found else ""
    if not path or _EXPANDED.intersection(path) or any(ord(c) < 32 or c == "\\" for c in path):
        return Address(file=UNKNOWN)
    return Address(file=path if path.startswith("/") else "/" + path)


def _saved(url: str) -> tuple[str, ...]:
    """Return every name that a download may get; what would be escaped or cut is not known."""
    path, question, query = url[len("http://") :].partition("#")[0].partition("?")
    name = unquote(path.partition("/")[2].rpartition("/")[2]) or "index.html"
    if not _SAVED.fullmatch(name) or not _SAVED.fullmatch(query.replace("&", "")) or name.strip(".") == "":
        return (UNKNOWN,)
    return (name, f"{name}?{query}") if question else (name,)


def read_host(text: str) -> Address:
    """Read a machine's name as a command is given it: perhaps with a user before it, and a port after it."""
    if UNKNOWN in text:
        return Address()
    found = re.fullmatch(r"(?:[^/@:\[\]]*@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[^/:@]+)(?::(?P<port>\d{1,5}))?(?:/.*)?", text)
    name = found["host"].lower().rstrip(".") if found else ""
    if found is None or not (name.startswith("[") or _NAME.fullmatch(name)):
        return Address(doubt="contacts a machine that is not surely known")
    return Address(f"{name}:{int(found['port'])}" if found["port"] else name)


def is_private(host: str) -> bool:
    """Tell whether a host is, or may be, an address that is not on the public network."""
    if "." not in host or f".{host}".endswith(_WILD_NAMES):
        return True
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        last = host.rsplit(".", 1)[-1]
        return last.isdigit() or last.startswith("0x")
