"""Check the folders that a command may write: real folders, and none that holds a protected place."""

from __future__ import annotations

import os
from collections.abc import Iterable

from assent.catalog.workspace_roots import refuse_root, refuse_write
from assent.model import SandboxProfile, printable, within
from assent.policy.sandbox_profiles import NAMES
from assent.sandbox.errors import Unavailable
from assent.sandbox.linux.mountinfo import read_mounts


def real_roots(profile: SandboxProfile, homes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the write roots with their links followed, or raise `Unavailable` for one that must not be written."""
    return tuple(dict.fromkeys(_real_root(root, profile, homes) for root in profile.write_roots))


def _real_root(root: str, profile: SandboxProfile, homes: tuple[str, ...]) -> str:
    real = real_path(root)
    if real is None:
        raise Unavailable(f"the folder {printable(root)} does not exist")
    if printable(real) != real:
        raise Unavailable(f"{printable(real)} cannot be a workspace: its name is not printable text")
    # A person's own profile may name folders of programs, such as their caches.
    refuse = refuse_root if profile.name in NAMES else refuse_write
    reason = refuse((os.path.normpath(root), real), homes)
    if reason is not None:
        raise Unavailable(f"{real} cannot be a workspace: {reason}")
    hidden = next((m for m in profile.masked if within(real, os.path.realpath(m))), None)
    if hidden is not None:
        raise Unavailable(f"{real} lies in {hidden}, which is hidden from every sandbox")
    return real


def can_be_written(folder: str, homes: tuple[str, ...]) -> bool:
    """Tell whether an existing folder could be a write root, by its name."""
    return os.path.isdir(folder) and refuse_write((folder,), homes) is None


def real_path(path: str) -> str | None:
    """Follow the links of a path; None if it does not exist."""
    if not path.startswith("/") or "\0" in path:
        return None
    try:
        return os.path.realpath(path, strict=True)
    except OSError:
        return None


def find_mounts(roots: Iterable[str]) -> tuple[str, ...]:
    """Return the mount points below these folders, or raise `Unavailable` if the mounts cannot be read."""
    paths, roots = {row.point for row in read_mounts()}, tuple(roots)
    # A mount point that another mount hides does not exist.
    return tuple(sorted(p for p in paths if any(within(p, r) and p != r for r in roots) and os.path.lexists(p)))


def find_folder(cwd: str | None, roots: tuple[str, ...]) -> str:
    """Return the working directory: the requested one, else the first root, else `/`."""
    named = cwd or next(iter(roots), "/")
    real = real_path(named)
    if real is None or not os.path.isdir(real):
        raise Unavailable(f"the working directory {named} does not exist")
    return real
