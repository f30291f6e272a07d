"""What a sandboxed command left in its workspace that runs later, or decides what does: facts for whoever is outside.

A file counts if it was changed while the command ran and can be executed, is one that tools obey by its name, or is a
link that leads out of the workspace. The kernel keeps the time of a change, and nobody can set it.
"""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Iterable, Iterator

import msgspec

from assent.catalog.places import is_control_plane
from assent.model import printable, within
from assent.sandbox.repositories import store_part

_COARSE = getattr(time, "CLOCK_REALTIME_COARSE", 5)
"""The clock by which the kernel dates changes."""
_MOST_NAMED = 20
_MOST_ENTRIES = 50_000
_AT_ONCE = 500
_ANYONE_EXECUTES = 0o111
_BUILD_FILES = frozenset(
    [
        *(
            "makefile",
            "gnumakefile",
            "justfile",
            "rakefile",
            "taskfile.yml",
            "dockerfile",
            "cmakelists.txt",
            "meson.build",
        ),
        *("package.json", "setup.py", "setup.cfg", "pyproject.toml", "tox.ini", "noxfile.py", "cargo.toml", "build.rs"),
        *("build.gradle", "build.gradle.kts", "pom.xml", "gemfile", "dockerfile", "build.xml", "configure.ac"),
    ]
)


class Programs(msgspec.Struct, frozen=True):
    """What was found."""

    paths: tuple[str, ...] = ()
    """The first of them, by name."""
    count: int = 0
    complete: bool = True
    """False where not all of it could be looked through: there is too much, or the command closed a folder."""

    def __bool__(self) -> bool:
        return bool(self.count) or not self.complete


def now() -> int:
    """Return the time from which on a change counts."""
    return time.clock_gettime_ns(_COARSE)


async def find_programs(roots: Iterable[str], apart: frozenset[str], since: int) -> Programs:
    """Look through workspaces; what lies apart could not be changed. Others get their turn in between."""
    roots = tuple(roots)
    found: set[str] = set()
    looked, complete = 0, True
    for root in roots:
        for entry in _walk(root, apart, since):
            looked += 1
            if looked > _MOST_ENTRIES:
                return _name(found, complete=False)
            if looked % _AT_ONCE == 0:
                await asyncio.sleep(0)
            if entry is None:
                complete = False
            elif (path := _find(entry, root, roots, since)) is not None:
                found.add(printable(path))
    return _name(found, complete=complete)


def _name(found: set[str], *, complete: bool) -> Programs:
    return Programs(tuple(sorted(found)[:_MOST_NAMED]), len(found), complete=complete)


def _walk(root: str, apart: frozenset[str], since: int) -> Iterator[os.DirEntry[str] | None]:
    """Yield everything below a folder; None for a changed folder that can not be looked into."""
    folders = [root]
    for folder in folders:
        try:
            entries = list(os.scandir(folder))
        except OSError:
            if _may_have_changed(folder, since):
                yield None
            continue
        for entry in entries:
            if entry.path in apart or entry.path.endswith("/.git/objects"):
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            yield entry


def _may_have_changed(folder: str, since: int) -> bool:
    try:
        return os.lstat(folder).st_ctime_ns >= since
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _find(entry: os.DirEntry[str], root: str, roots: tuple[str, ...], since: int) -> str | None:
    """Return what is to be named because of this entry, if anything."""
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return None  # gone since
    if found.st_ctime_ns < since or stat.S_ISDIR(found.st_mode) or _is_inert(entry.path):
        return None
    if stat.S_ISLNK(found.st_mode):
        target = os.path.realpath(entry.path)
        if not any(within(target, each) for each in roots):
            return entry.path
    elif found.st_mode & _ANYONE_EXECUTES:
        return entry.path
    return store_part(entry.path) or (entry.path if _decides(entry.path[len(root) :]) else None)


def _is_inert(path: str) -> bool:
    return path.endswith(".sample") and "/.git/hooks/" in path  # git makes them with a repository, and runs none


def _decides(path: str) -> bool:
    """Tell whether tools obey a file by its name; a repository's store is looked at by itself."""
    if "/.git/" in path:
        return False
    return path.rpartition("/")[2].lower() in _BUILD_FILES or is_control_plane(path)
