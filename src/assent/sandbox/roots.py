"""Which folders a command may be let loose in: real ones, and none that hold everything else too."""

from __future__ import annotations

import os
from collections.abc import Iterable

from assent.model import SandboxProfile, printable, within
from assent.sandbox.errors import Unavailable
from assent.sandbox.mountinfo import read_mounts

_TOO_WIDE = frozenset(
    {"/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/media", "/mnt", "/opt", "/proc"}
    | {"/root", "/run", "/sbin", "/srv", "/sys", "/tmp", "/usr", "/var", "/var/tmp", "/Users"}  # noqa: S108 - refused
)
_NEVER = ("/boot", "/dev", "/etc", "/proc", "/sys", "/usr/bin", "/usr/sbin", "/usr/lib", "/run")


def real_roots(profile: SandboxProfile, homes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the write roots with their links followed, or raise `Unavailable` for one that must not be written."""
    return tuple(dict.fromkeys(_real_root(root, profile, homes) for root in profile.write_roots))


def _real_root(root: str, profile: SandboxProfile, homes: tuple[str, ...]) -> str:
    real = real_path(root)
    if real is None:
        raise Unavailable(f"there is no folder {printable(root)} to write in")
    if printable(real) != real:
        raise Unavailable(f"{printable(real)} can not be a workspace: its name is no text")
    if _holds_all(real, homes):
        raise Unavailable(f"{real} can not be a workspace: it holds everything else too")
    if _is_system(real):
        raise Unavailable(f"{real} belongs to the system and can not be a workspace")
    hidden = next((m for m in profile.masked if within(real, os.path.realpath(m))), None)
    if hidden is not None:
        raise Unavailable(f"{real} lies in {hidden}, which is hidden from every sandbox")
    return real


def can_be_written(folder: str, homes: tuple[str, ...]) -> bool:
    """Tell whether a folder that is there could be a write root, as far as its name says."""
    return os.path.isdir(folder) and not _holds_all(folder, homes) and not _is_system(folder)


def _holds_all(real: str, homes: tuple[str, ...]) -> bool:
    return real in _TOO_WIDE or any(within(home, real) for home in homes)


def _is_system(real: str) -> bool:
    return any(within(real, place) for place in _NEVER)


def real_path(path: str) -> str | None:
    """Follow the links of a path; None if there is nothing."""
    if not path.startswith("/") or "\0" in path:
        return None
    try:
        return os.path.realpath(path, strict=True)
    except OSError:
        return None


def find_mounts(roots: Iterable[str]) -> tuple[str, ...]:
    """Return where something else is mounted below these folders, or raise `Unavailable` if that can not be known."""
    paths, roots = {row.point for row in read_mounts()}, tuple(roots)
    # One below another mount, which lies over it, is not there.
    return tuple(sorted(p for p in paths if any(within(p, r) and p != r for r in roots) and os.path.lexists(p)))


def find_folder(cwd: str | None, roots: tuple[str, ...]) -> str:
    """Return the folder to start in: the one asked for, else the first root, else `/`."""
    named = cwd or next(iter(roots), "/")
    real = real_path(named)
    if real is None or not os.path.isdir(real):
        raise Unavailable(f"there is no folder {named} to start in")
    return real
