"""Folders that can be a workspace, told by every name they go by: none that is, lies in, or holds a protected place.

An ordinary project holds `.git/hooks`, `.env` and `.claude`; those are protected one by one, and it can be a workspace.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

import assent.lazy_regex as re
from assent.catalog.secret_names import is_secret
from assent.catalog.sensitive_paths import is_control_plane, is_system
from assent.model import fold, within

_WIDE = frozenset(
    {"/", "/home", "/media", "/mnt", "/opt", "/private", "/private/tmp", "/private/var", "/private/var/tmp", "/root"}
    | {"/srv", "/tmp", "/users", "/var", "/var/root", "/var/tmp", "/volumes"}  # noqa: S108 - refused
)
"""Folders that hold those of everybody."""

_DRIVE = re.compile(r"/mnt/[a-z](?:/users)?")
"""A drive of Windows, and all homes on it."""

SYSTEM = (
    *("/applications", "/bin", "/boot", "/dev", "/etc", "/gnu", "/lib", "/lib32", "/lib64", "/library", "/libx32"),
    *("/nix", "/opt/homebrew", "/opt/local", "/private/etc", "/private/var/db", "/private/var/run", "/proc", "/run"),
    *("/sbin", "/snap", "/sys", "/system", "/usr", "/var/backups", "/var/cache", "/var/db", "/var/lib", "/var/log"),
    *("/var/run", "/var/spool", "/windows", "/mnt/c/windows", "/mnt/c/program files", "/mnt/c/program files (x86)"),
    "/mnt/c/programdata",
)
"""Folders of the system, with all that is in them: what is written there runs for everybody."""

_SOURCES = ("/usr/src/", "/usr/local/src/")
"""Folders below the system's where source code is kept."""

_HOMES = re.compile(r"^(?:/mnt/[a-z])?/(?:home|users)/[^/]+(?=/|$)|^/(?:var/)?root(?=/|$)")
"""Homes by their names: everybody's are protected, not only the agent's own."""

_PROGRAMS_OWN = frozenset({"appdata", "bin", "library", "sbin", "snap"})
"""Folders of a home that belong to programs, beside all whose names begin with a dot."""

_PROGRAMS = ("go/bin",)
"""Folders of programs further down in a home."""

_WORKTREE = re.compile(r"/\.(?:(?:claude|codex|cursor)/worktrees|local/share/opencode/worktree)/[^/]+")
"""Where agents put checkouts to work in, within folders that are theirs otherwise."""


@functools.lru_cache(maxsize=1024)
def refuse_root(
    names: tuple[str, ...], homes: tuple[str, ...] = (), own: tuple[str, ...] = (), *, named: bool = True
) -> str | None:
    """Say why a folder cannot be a workspace; None if it can.

    `names` are all names of the folder: absolute, normalised, as written and with links followed. `homes` and `own` are
    the home directories that are known, and Assent's own folders, by all their names too. Not `named`: neither a person
    nor a project says that it is one, so that what belongs to the system in a wider sense, or to others, is none.
    """
    known, ours = tuple(map(fold, homes)), tuple(map(fold, own))
    reasons = (_refuse(fold(name), known, ours, named=named) for name in names)
    return next((reason for reason in reasons if reason is not None), None)


def refuse_write(names: tuple[str, ...], homes: tuple[str, ...] = ()) -> str | None:
    """Say why nobody can have a folder written in a sandbox, not even by a profile of their own; None if they can."""
    known = tuple(map(fold, homes))
    for name in map(fold, names):
        everyones = (*known, *_homes_in(name))
        if (reason := _refuse_always(name, everyones)) is not None:
            return reason
        if is_secret(name) and any(name.startswith(f"{home.rstrip('/')}/.") for home in everyones):
            return "secrets are kept in folders of that name"
    return None


def _refuse(path: str, homes: tuple[str, ...], own: tuple[str, ...], *, named: bool) -> str | None:
    plain = _WORKTREE.sub("/worktree", path)
    everyones = (*homes, *_homes_in(plain))
    always = _refuse_always(plain, everyones)
    if always is not None:
        return always
    for home in everyones:
        kept = _kept_in(plain[len(home.rstrip("/")) + 1 :]) if within(plain, home) else None
        if kept is not None:
            return f"programs keep their settings, keys and code in ~/{kept}"
    if is_secret(plain):
        return "secrets are kept in folders of that name"
    if is_control_plane(plain):
        return "files there can make code run later"
    if any(within(path, ours) or within(ours, path) for ours in own):
        return "Assent's own files are there"
    if named:
        return None
    others = not any(within(plain, home) for home in homes) and any(_homes_in(plain))
    return "it is neither a project nor in your home directory" if others or is_system(plain) else None


def _homes_in(path: str) -> tuple[str, ...]:
    found = _HOMES.match(path)
    return () if found is None else (found.group(),)


def _refuse_always(path: str, homes: tuple[str, ...]) -> str | None:
    if path in _WIDE or _DRIVE.fullmatch(path) or any(within(home, path) for home in homes):
        return "it contains everything else too"
    return "it belongs to the system" if _is_of_system(path, homes) else None


def _is_of_system(path: str, homes: Iterable[str]) -> bool:
    if path.startswith(_SOURCES):
        return False
    # A service's home may be a folder of the system: what is in it is the service's own.
    mine = [home for home in homes if within(path, home)]
    return any(within(path, place) and not any(within(home, place) for home in mine) for place in SYSTEM)


def _kept_in(below: str) -> str | None:
    """Return the folder of a home, by its name there, that is programs' own and has this one in it, or the reverse."""
    first = below.partition("/")[0]
    if first.startswith(".") or first in _PROGRAMS_OWN:
        return first
    return next((place for place in _PROGRAMS if within(below, place) or within(place, below)), None)
