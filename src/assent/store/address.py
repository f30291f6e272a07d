"""Where a store is: a SQLite file of this machine, or a PostgreSQL server."""

from __future__ import annotations

import os
from typing import Literal
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

import msgspec

from assent.model import ConfigError

FILE_NAME = "assent.db"


class StoreAddress(msgspec.Struct, frozen=True, kw_only=True):
    """A store's address, read."""

    engine: Literal["sqlite", "postgresql"]
    path: str = ""
    """The file, for SQLite."""
    conninfo: str = ""
    """How to connect, for PostgreSQL."""
    notify: bool = True
    """Whether to use NOTIFY as a hint besides looking every two seconds."""

    @property
    def shown(self) -> str:
        """Return the address without its password."""
        if self.engine == "sqlite":
            return f"sqlite:///{self.path}"
        parts = urlsplit(self.conninfo)
        host = parts.netloc.rpartition("@")[2]
        user = f"{parts.username}@" if parts.username else ""
        return urlunsplit((parts.scheme, user + host, parts.path, "", ""))


def read_address(url: str | None, *, home: str) -> StoreAddress:
    """Read a store's URL; none means the SQLite file in Assent's home."""
    if url is None:
        return StoreAddress(engine="sqlite", path=os.path.join(home, FILE_NAME))  # noqa: PTH118 - paths are strings here
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return _sqlite(url, parts.path, parts.netloc)
    if parts.scheme in ("postgresql", "postgres"):
        query = parse_qsl(parts.query, keep_blank_values=True)
        notify = dict(query).get("notify", "on")
        if notify not in ("on", "off"):
            raise ConfigError(f"notify must be on or off, not `{notify}`")
        rest = urlencode([(k, v) for k, v in query if k != "notify"])
        conninfo = f"postgresql://{parts.netloc}{parts.path}" + (f"?{rest}" if rest else "")
        return StoreAddress(engine="postgresql", conninfo=conninfo, notify=notify == "on")
    suggestion = "use sqlite:////absolute/path or postgresql://user@host/database"
    raise ConfigError(f"there is no store for `{parts.scheme or url}`", suggestion=suggestion)


def _sqlite(url: str, path: str, host: str) -> StoreAddress:
    # Three slashes begin a path; a fourth makes it absolute, and nothing else is accepted.
    name = unquote(path[1:]) if path.startswith("//") else unquote(path)
    if host or not os.path.isabs(name) or name == "/":  # noqa: PTH117 - paths are strings here
        raise ConfigError(f"`{url}` names no absolute path", suggestion="use sqlite:////absolute/path")
    return StoreAddress(engine="sqlite", path=os.path.normpath(name))
