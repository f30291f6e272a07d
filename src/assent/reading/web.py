"""What a URL would contact."""

from __future__ import annotations

import ipaddress
import re
from typing import Any
from urllib.parse import urlsplit

from assent.model import UNKNOWN, CallError, Operation, OperationKind, Tier

URL_FIELDS = ("url", "uri")
_NAME = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")


_ADDRESS = re.compile(r"https?://[^\s<>\"'`)\]}]+", re.IGNORECASE)


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


def is_private(host: str) -> bool:
    """Tell whether a host is, or may be, an address that is not on the public network."""
    if (
        host == "localhost"
        or host.endswith((".localhost", ".local", ".internal", ".nip.io", ".sslip.io"))
        or "." not in host
    ):
        return True
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        last = host.rsplit(".", 1)[-1]
        return last.isdigit() or last.startswith("0x")
