"""What a command's arguments and redirections touch: reads, writes, execs and connections as operations."""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from assent.catalog import Role, places
from assent.model import UNKNOWN, CallError, Operation, OperationKind, Tier
from assent.reading.options import part
from assent.reading.paths import Located, Place
from assent.shell.tree import Redirect, Word

_DESCRIPTORS = re.compile(r"/dev/(?:null|zero|full|stdin|stdout|stderr|tty|fd/[012])")
_URL = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):)?//(?:[^/?#@]*@)?(?P<host>\[[^\]]*\]|[^/?#:]*)(?::(?P<port>\d+))?"
)
_HOST = re.compile(r"(?:[^/@:]*@)?(?P<host>\[[^\]]*\]|[^/:]*)(?::(?P<port>\d+))?(?:/.*)?")
_REMOTE = re.compile(r"(?:[^/@:]*@)?(?P<host>\[[^\]]*\]|[^/:]+):.*")
_SENT = re.compile(r"(?:[^=@<]*=)?[@<]")
_STORED = re.compile(r"[^:]*:")
_SOCKET = re.compile(r"/dev/(?:tcp|udp)/([^/]+)/")
_INHERITED = re.compile(r"/dev/fd/\d|/proc/[^/]+/fd(?:/|$)")
_DEVICE = re.compile(r"/dev/(?!null$|zero$|full$|std|tty|pts/|fd/|shm/|ptmx$|tcp/|udp/)")
_LONGEST_NAME = 255
_PATHS = frozenset({"read", "write", "edit", "exec", "cwd"})


@dataclass(frozen=True, slots=True)
class Ground:
    """What gives a command's words their meaning, and the operation that owns what they touch."""

    place: Place
    cwd: str | None
    owner: int | None = None
    sweep: bool = False


def locate(word: Word, place: Place, cwd: str | None) -> Located:
    """Return where a word points; a word that can be no path is not known."""
    try:
        return place.locate(word.text, cwd or UNKNOWN)
    except CallError:
        return Located(UNKNOWN)


def redirect_effects(redirect: Redirect, ground: Ground) -> Iterator[Operation]:
    """Yield what a redirection opens; descriptors, here-documents and the null device open nothing."""
    if redirect.direction in ("descriptor", "here") or _DESCRIPTORS.fullmatch(redirect.target.text):
        return
    located = locate(redirect.target, ground.place, ground.cwd)
    network = _SOCKET.match(located.path)
    if network:
        # Bash itself opens a connection for these names.
        yield connection(network.group(1), ground.owner, Tier.DANGEROUS, "opens a connection by redirection")
        return
    if redirect.direction in ("read", "both"):
        yield reading(located, ground, glob=redirect.target.splits, own_cover=True)
    if redirect.direction in ("write", "both"):
        yield writing(located, ground, own_cover=True)


def role_effects(role: Role, word: Word, ground: Ground) -> Iterator[Operation]:
    """Yield what one argument or option value touches."""
    if role in _PATHS:
        yield from _path_effects(role, word, ground)
    elif role in ("from", "to"):
        yield from _transfer_effects(role, word, ground)
    elif role in ("url", "save", "host"):
        yield from _network_effects(role, word, ground)
    elif role in ("data", "revision"):
        inner = (_SENT if role == "data" else _STORED).match(word.text)
        if inner and inner.end() < len(word.text) and word.text != "@-":
            yield reading(locate(part(word, inner.end()), ground.place, ground.cwd), ground)
    elif role == "name" and places.is_secret_variable(word.text):
        yield secret_variable(word.text, ground.owner)


def _path_effects(role: Role, word: Word, ground: Ground) -> Iterator[Operation]:
    if word.text in ("", "-") or _DESCRIPTORS.fullmatch(word.text):
        return
    located = locate(word, ground.place, ground.cwd)
    if role in ("read", "edit"):
        yield reading(located, ground, glob=word.splits)
    if role in ("write", "edit"):
        yield writing(located, ground)
    if role == "exec":
        yield Operation(
            kind=OperationKind.FS_EXEC,
            resource=located.path,
            target=located.target,
            tier=Tier.DANGEROUS,
            reason="runs a file whose content is not read",
            owner=ground.owner,
        )


def _transfer_effects(role: Role, word: Word, ground: Ground) -> Iterator[Operation]:
    remote = _URL.match(word.text) or _REMOTE.fullmatch(word.text)
    if remote:
        yield connection(_host(remote), ground.owner)
    else:
        yield from _path_effects("read" if role == "from" else "write", word, ground)


def _network_effects(role: Role, word: Word, ground: Ground) -> Iterator[Operation]:
    found = _URL.match(word.text) if role != "host" else None
    if found and (found["scheme"] or "").lower() == "file":
        yield reading(locate(word, ground.place, ground.cwd), ground)
        return
    yield connection(_host(found or _HOST.fullmatch(word.text)), ground.owner)
    if role == "save":
        name = part(word, word.text.rstrip("/").rfind("/") + 1)
        yield writing(locate(name, ground.place, ground.cwd), ground)


def _host(found: re.Match[str] | None) -> str:
    """Return host, and port if there is one; what is no plain name is not known."""
    if found is None or not found["host"] or UNKNOWN in found["host"]:
        return UNKNOWN
    port = found.groupdict().get("port")
    host = found["host"].lower()
    return f"{host}:{port}" if port else host


def connection(host: str, owner: int | None, tier: Tier = Tier.SAFE, reason: str = "contacts a machine") -> Operation:
    """Return a connection; its tier is its own, the command that makes it has another."""
    return Operation(kind=OperationKind.NET_CONNECT, resource=host, tier=tier, reason=reason, owner=owner)


def secret_variable(name: str, owner: int | None) -> Operation:
    """Return the read of a variable with a secret's name."""
    return Operation(
        kind=OperationKind.FS_READ,
        resource=f"${name}",
        tier=Tier.SAFE,
        reason="reads a variable with a secret's name",
        owner=owner,
        secret=True,
    )


def reading(located: Located, ground: Ground, *, glob: bool = False, own_cover: bool = False) -> Operation:
    """Return the read of a path."""
    path = located.path
    secret = ground.place.is_secret(located) or bool(_INHERITED.match(path)) or (glob and _may_name_secret(path))
    return Operation(
        kind=OperationKind.FS_READ,
        resource=path,
        target=located.target,
        tier=Tier.SAFE,
        reason="reads a secret" if secret else "reads a file",
        owner=ground.owner,
        own_cover=own_cover,
        sweep=ground.sweep,
        secret=secret,
    )


def writing(located: Located, ground: Ground, *, own_cover: bool = False) -> Operation:
    """Return the write of a path: safe for a plain file inside the workspace, dangerous elsewhere."""
    tier, reason = Tier.SAFE, "writes a file in the workspace"
    inside, device = ground.place.inside(located), _DEVICE.match(located.target or located.path)
    if device:
        tier, reason = Tier.DESTRUCTIVE, "overwrites a device"
    elif not inside:
        tier, reason = Tier.DANGEROUS, "writes outside the workspace"
    elif ground.place.is_sensitive(located):
        tier, reason = Tier.DANGEROUS, "writes a sensitive file"
    return Operation(
        kind=OperationKind.FS_WRITE,
        resource=located.path,
        target=located.target,
        tier=tier,
        reason=reason,
        owner=ground.owner,
        own_cover=own_cover or not inside,
        secret=ground.place.is_secret(located),
        impact=f"overwrites {located.path}; on a disk that is everything on it" if device else None,
        rollback="restore the disk from a backup" if device else None,
    )


@functools.cache
def _samples() -> tuple[str, ...]:
    """Return one plain name for every kind of secret."""
    parts = (p for name in places.SECRETS for p in name.split("/"))
    return tuple(p.replace("*", "") for p in parts if p not in (".config", "Library", ".local", "share"))


def _may_name_secret(path: str) -> bool:
    """Tell whether a pattern the shell expands could find a secret that it does not spell out."""
    return any(_covers_secret(c) for c in path.split("/") if any(g in c for g in "*?["))


def _covers_secret(component: str) -> bool:
    if component == "*" or len(component) > _LONGEST_NAME:
        return component != "*"
    # A pattern finds a name that starts with a dot only if it does so itself; and `*.json` is after data.
    hidden, common = component.startswith("."), component.startswith("*.")
    return any(
        fnmatch.fnmatchcase(s, component)
        for s in _samples()
        if s.startswith(".") == hidden and not (common and s.count(".") == 1)
    )
