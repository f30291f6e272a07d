"""What a URL would contact: one strict reader for fetches and for the addresses that commands are given."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import msgspec

import assent.lazy_regex as re
from assent.budget import check
from assent.model import UNKNOWN, CallError, Operation, OperationKind, Tier

URL_FIELDS = ("url", "uri")
_SENT = frozenset(("body", "data", "json", "form", "files", "headers", "cookies", "payload", "params", "auth"))
"""Fields by which a fetch says more than which page it wants."""
_NAME = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_ADDRESS = re.compile(r"https?://[^\s<>\"'`)\]}]+", re.IGNORECASE)
_SCHEME = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9+.-]*):(?P<slashes>/+)")
_FILE = re.compile(r"(?i)file:(?://[^/]*(?=/))?/*(?P<path>[^?#]*)")
_NUMBER = re.compile(r"\[[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*\](?=(?::\d*)?$)")
_PORT = re.compile(r":\d*$")
_GUESSED = ("ftp.", "dict.", "ldap.", "imap.", "smtp.", "pop3.")
"""A name that begins so is spoken to in that protocol, if no other is given."""
URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
"""How an address begins."""
REMOTE = re.compile(r"(?P<host>(?:[^/@:]*@)?(?:\[[^\]]*\]|[^/:]+)):.*", re.DOTALL)
"""A file on another machine, as programs that copy name it: `host:path`."""
LONGEST_ADDRESS = 2048
LONGEST_LABEL = 40
"""Names and addresses beyond these are made by programs, and may hold what the line does not show."""
LONGEST_HOST = 253
LONGEST_URL = 16_384
"""Characters of an address that is read at all."""
MOST_ADDRESSES = 100
"""Addresses that one call may name."""
_NO_URL = re.compile(r"[^\x21-\x7e]|\\")
_DATABASES = frozenset(
    {"postgres", "postgresql", "mysql", "mariadb", "redis", "rediss", "valkey", "mongodb", "mongodb+srv"}
)
"""What only the client of that database speaks: its machine is one's own as often as not."""
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
_MACHINE = re.compile(
    r"(?:[^/@:\[\]]*@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[^/:@]+)(?::(?P<port>\d{1,5}))?(?:/.*)?", re.ASCII | re.DOTALL
)
_NUMERALS = "0123456789."
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


class UrlTarget(msgspec.Struct, frozen=True):
    """What a command is told to contact, or the local file that is meant by it."""

    host: str = UNKNOWN
    doubt: str | None = None
    """Why contacting it is more than reading a public page."""
    file: str | None = None
    saved: tuple[str, ...] = (UNKNOWN,)
    """What a download is called that is named after the address."""


def fetch(tool: str, given: dict[str, Any]) -> tuple[Operation, ...]:
    """Read a fetch: every address the input names, since which of them counts is the agent's choice."""
    urls = [given[f] for f in URL_FIELDS if given.get(f) is not None]
    urls += [a for field, value in given.items() if field not in (*URL_FIELDS, "prompt") for a in _addresses(value)]
    prompt = given.get("prompt")
    # Some have nothing but the prompt to go by, whatever else they are given; to others it is about the page.
    if isinstance(prompt, str) and (not urls or tool != "WebFetch"):
        urls += _ADDRESS.findall(prompt)
    addresses = dict.fromkeys(map(_shown, urls or [None]))
    if len(addresses) > MOST_ADDRESSES:
        raise CallError(f"names more than {MOST_ADDRESSES} URLs")
    pages = tuple(map(_page, addresses))
    said = next((f for f in _SENT & given.keys() if given[f]), None) or _sending(given.get("method"))
    if said is None:
        return pages
    reason = "sends more than the URL of a page"
    return (*pages, Operation(kind=OperationKind.TOOL_CALL, resource=tool, tier=Tier.DANGEROUS, reason=reason))


def _addresses(value: Any) -> Iterator[str]:
    """Yield the addresses in a field that is not known."""
    values = value if isinstance(value, list) else value.values() if isinstance(value, dict) else [value]
    yield from (v for v in values if isinstance(v, str) and URL.match(v.strip()))


def _shown(url: Any) -> str:
    return url if isinstance(url, str) else ""


def _sending(method: Any) -> str | None:
    return None if method is None or str(method).upper() in ("GET", "HEAD") else "method"


def _page(url: str) -> Operation:
    check()
    host, doubt = contact(url) if url else (UNKNOWN, "names no URL")
    return Operation(
        kind=OperationKind.NET_CONNECT,
        resource=host,
        tier=Tier.DANGEROUS if doubt else Tier.SAFE,
        reason=doubt or f"reads a page from {host}",
    )


def contact(url: str) -> tuple[str, str | None]:
    """Return the host (with a port that is not the scheme's) and, if fetching is more than reading, why."""
    if len(url) > LONGEST_URL:
        raise CallError(f"the URL is longer than {LONGEST_URL} characters")
    if _NO_URL.search(url):
        raise CallError("the URL contains invalid characters")
    from urllib.parse import urlsplit  # noqa: PLC0415 - few calls contact anybody

    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        raise CallError("the URL cannot be parsed") from None
    if not host or parts.scheme not in ("http", "https"):
        raise CallError("the URL names no web host")
    if len(host) > LONGEST_HOST:
        raise CallError("the host name in the URL is too long")
    if ":" not in host and not _NAME.fullmatch(host):
        raise CallError("programs read the host in the URL differently")
    shown = f"[{host}]" if ":" in host else host
    place = shown if port in (None, 80, 443) else f"{shown}:{port}"
    if parts.username is not None:
        return place, "the URL contains credentials"
    if carries_data(host) or len(url) > LONGEST_ADDRESS:
        return place, "the URL is long enough to carry data"
    return place, f"{place} is on this machine or a private network" if is_private(host) else None


def read_address(text: str) -> UrlTarget:
    """Read an address as a command is given it: with or without a scheme, as programs that guess would take it."""
    file = _FILE.match(text)
    if file:
        return _file(decode(file["path"]))
    scheme = _SCHEME.match(text)
    rest, cut, _ = (text[scheme.end() :] if scheme else text).partition(UNKNOWN)
    authority, *more = re.split(r"[/?#]", rest, maxsplit=1)
    if cut and not more:
        return UrlTarget(doubt="contacts a host that is known only at run time")
    try:
        host, doubt = _host(authority, rest)
    except CallError as error:
        return UrlTarget(doubt=f"contacts an ambiguous host: {error}")
    if scheme is not None and scheme["name"].lower() in _DATABASES:
        doubt = "sends credentials in its URL" if "@" in authority else None
    elif not _is_plain(scheme, host):
        doubt = "uses a protocol that can do more than fetch"
    elif len(text) > LONGEST_ADDRESS:
        doubt = "contacts a URL long enough to carry data"
    elif _EXPANDED.intersection("".join(more)):
        doubt = "contacts URLs built from a pattern"
    return UrlTarget(host, doubt, saved=(UNKNOWN,) if cut else _saved(rest))


def _host(authority: str, rest: str) -> tuple[str, str | None]:
    """Return whom an address contacts and whether that is in doubt; brackets are only fine around a number."""
    if _EXPANDED.intersection(_NUMBER.sub("", authority)):
        raise CallError("its host is a pattern")
    if _NO_URL.search(rest):
        raise CallError("it contains invalid characters")
    host, doubt = contact("http://" + authority)
    # A server of one's own is looked at all day; Assent's own is denied by its port.
    return host, None if _PORT.sub("", authority.lower()) in _LOOPBACK else doubt


def _is_plain(scheme: re.Match[str] | None, host: str) -> bool:
    """Tell whether the web's protocol is spoken, by everyone who reads the address."""
    if scheme is None:
        return not host.startswith(_GUESSED)
    return scheme["slashes"] == "//" and scheme["name"].lower() in ("http", "https")


def _file(path: str) -> UrlTarget:
    """Return a local file, which programs find in many spellings; an odd one may be any."""
    if not path or _EXPANDED.intersection(path) or any(ord(c) < 32 or c == "\\" for c in path):
        return UrlTarget(file=UNKNOWN)
    return UrlTarget(file="/" + path)


def _saved(rest: str) -> tuple[str, ...]:
    """Return every name that a download may get; what would be escaped or cut is not known."""
    path, question, query = rest.partition("#")[0].partition("?")
    name = decode(path.partition("/")[2].rpartition("/")[2]) or "index.html"
    if not _SAVED.fullmatch(name) or not _SAVED.fullmatch(query.replace("&", "")) or name.strip(".") == "":
        return (UNKNOWN,)
    return (name, f"{name}?{query}") if question else (name,)


def decode(text: str) -> str:
    """Return what is meant by an address, or a part of it, in which characters are escaped."""
    from urllib.parse import unquote  # noqa: PLC0415 - as above

    return unquote(text)


def read_host(text: str) -> UrlTarget:
    """Read a machine's name as a command is given it: perhaps with a user before it, and a port after it."""
    if _SCHEME.match(text):
        return read_address(text)
    if UNKNOWN in text:
        return UrlTarget()
    if text.count(":") > 1 and _is_numbers(text):
        return UrlTarget(f"[{text.lower()}]")
    found = _MACHINE.fullmatch(text)
    name = found["host"].lower().rstrip(".") if found else ""
    if found is None or not (name.startswith("[") or _NAME.fullmatch(name)):
        return UrlTarget(doubt="contacts an ambiguous host")
    if carries_data(name):
        return UrlTarget(name, doubt="contacts a host whose name is long enough to carry data")
    return UrlTarget(f"{name}:{int(found['port'])}" if found["port"] else name)


def carries_data(host: str) -> bool:
    """Tell whether a part of a machine's name is longer than people make them."""
    return any(len(label) > LONGEST_LABEL for label in host.split("."))


def _is_numbers(text: str) -> bool:
    """Tell whether a text is an address of the sixth version."""
    import ipaddress  # noqa: PLC0415 - as below

    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def is_private(host: str) -> bool:
    """Tell whether a host is, or may be, an address that is not on the public network."""
    if "." not in host or f".{host}".endswith(_WILD_NAMES):
        return True
    if ":" in host or not host.strip(_NUMERALS):  # else it is no number, and need not be read as one
        import ipaddress  # noqa: PLC0415 - as above

        with contextlib.suppress(ValueError):
            return not ipaddress.ip_address(host).is_global
    last = host.rsplit(".", 1)[-1]
    return last.isdigit() or last.startswith("0x")
