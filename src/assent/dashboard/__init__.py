"""The dashboard's static files: JavaScript modules, styles and one page. No build step, no third-party code."""

from __future__ import annotations

import functools
import gzip
from importlib import resources

import msgspec

PAGES = ("/", "/login", "/sessions", "/audit", "/policy", "/overview", "/people")
"""The paths at which the page is served; its script routes between them."""
_KINDS = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


class Asset(msgspec.Struct, frozen=True):
    """One static file, plain and gzipped."""

    kind: str
    body: bytes
    packed: bytes


@functools.cache
def _names() -> frozenset[str]:
    listed = (file.name for file in resources.files(__package__).iterdir())
    return frozenset(name for name in listed if name.rpartition(".")[2] in _KINDS)


def find_asset(name: str) -> Asset | None:
    """Return a static file by its name; None if there is none of that name."""
    return _read(name) if name in _names() else None


@functools.cache
def _read(name: str) -> Asset:
    body = (resources.files(__package__) / name).read_bytes()
    return Asset(_KINDS[name.rpartition(".")[2]], body, gzip.compress(body, mtime=0))
