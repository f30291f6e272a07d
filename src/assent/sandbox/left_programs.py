"""Find files that a sandboxed command left in its workspace and that may run later, outside the sandbox.

A file counts if it, or a folder above it, was changed or moved while the command ran, and if it is executable, is a
file that tools obey (under any of its names), or is a link that leads out of the workspace or that tools look for. The
kernel keeps the time of the last change, and no program can set it. A survey from before the run shows moved folders.
"""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from assent.catalog.sensitive_paths import control_plane_below, is_control_plane, may_begin_control_plane
from assent.model import printable, within
from assent.platform.paths import ancestors
from assent.platform.symlinks import find_led_to
from assent.sandbox.profiles.git_repositories import store_part
from assent.sandbox.profiles.secret_paths import EMPTY_SURVEY, Survey

_COARSE = getattr(time, "CLOCK_REALTIME_COARSE", 5)
"""The clock that the kernel uses for the times of changes."""
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
    """The files that were found."""

    paths: tuple[str, ...] = ()
    """The first of them, sorted."""
    count: int = 0
    complete: bool = True
    """False if some files were not checked: there are too many, or the command closed a folder."""

    def __bool__(self) -> bool:
        return bool(self.count) or not self.complete


def now() -> int:
    """Return the current time on the clock of changes."""
    return time.clock_gettime_ns(_COARSE)


class Before(NamedTuple):
    """The state before the command ran."""

    since: int
    """When the command began."""
    survey: Survey = EMPTY_SURVEY
    """Where each folder was."""


class _Found(NamedTuple):
    """An entry of the workspace."""

    entry: os.DirEntry[str]
    moved: bool
    """Whether a folder above it was moved."""


class _Names:
    """Count the hard links found of each file: a file with more links was changed outside the workspace too."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, int], tuple[int, list[str]]] = {}

    def add(self, entry: os.DirEntry[str]) -> None:
        """Count one hard link."""
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            return
        if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            self._found.setdefault((status.st_dev, status.st_ino), (status.st_nlink, []))[1].append(entry.path)

    def known_elsewhere(self) -> list[str]:
        """Return one path of each file that has hard links elsewhere."""
        return [paths[0] for count, paths in self._found.values() if count > len(paths)]


async def find_programs(roots: Iterable[str], apart: frozenset[str], before: Before) -> Programs:
    """Search workspaces, without the paths in `apart`, which cannot have changed. Yields to other tasks meanwhile."""
    roots = tuple(roots)
    found: set[str | None] = set()
    changed: list[str] = []
    led_to: set[str] = set()
    names = _Names()
    looked, complete = 0, True
    for root in roots:
        for each in _walk(root, apart, before):
            looked += 1
            if looked > _MOST_ENTRIES:
                complete = False
                break
            if looked % _AT_ONCE == 0:
                await asyncio.sleep(0)
            if each is None:
                complete = False
                continue
            if each.entry.is_symlink():
                led_to.update(_leads(each.entry, root))
            if _is_new(each, before.since):
                changed.append(each.entry.path)
                found.add(_name_for(each.entry, root, roots))
                names.add(each.entry)
    found.update(path for path in changed if led_to and not led_to.isdisjoint(ancestors(path)))
    found.update(names.known_elsewhere())
    return _name({printable(path) for path in found if path is not None}, complete=complete)


def _name(found: set[str], *, complete: bool) -> Programs:
    return Programs(tuple(sorted(found)[:_MOST_NAMED]), len(found), complete=complete)


def _walk(root: str, apart: frozenset[str], before: Before) -> Iterator[_Found | None]:
    """Yield everything below a folder; None for a changed folder that cannot be read."""
    folders = [(root, False)]
    for folder, moved in folders:
        try:
            entries = list(os.scandir(folder))
        except OSError:
            if _may_have_changed(folder, before.since):
                yield None
            continue
        for entry in entries:
            if entry.path in apart or entry.path.endswith("/.git/objects"):
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append((entry.path, moved or _is_moved(entry, before)))
            yield _Found(entry, moved)


def _is_moved(entry: os.DirEntry[str], before: Before) -> bool:
    """Tell whether a folder was elsewhere or missing before. Without a survey of its parent, go by its times."""
    numbers, listed = before.survey
    if entry.path in numbers or os.path.dirname(entry.path) in listed:
        return numbers.get(entry.path) != entry.inode()
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    return found.st_ctime_ns >= before.since > found.st_mtime_ns


def _may_have_changed(folder: str, since: int) -> bool:
    try:
        return os.lstat(folder).st_ctime_ns >= since
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _is_new(found: _Found, since: int) -> bool:
    """Tell whether a file was made, changed or renamed while the command ran."""
    if found.entry.is_dir(follow_symlinks=False):
        return False
    return found.moved or _may_have_changed(found.entry.path, since)


def _leads(entry: os.DirEntry[str], root: str) -> tuple[str, ...]:
    """Return the targets of a link that tools look for."""
    if not may_begin_control_plane(entry.name) and not is_control_plane(entry.path[len(root) :]):
        return ()
    return find_led_to(entry.path, entry.path[len(root) + 1 :])


def _name_for(entry: os.DirEntry[str], root: str, roots: tuple[str, ...]) -> str | None:
    """Return the path to report for a new or changed entry, if any."""
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return None  # gone since
    path, inner = entry.path, entry.path[len(root) :]
    if _is_inert(path):
        return None
    if stat.S_ISLNK(found.st_mode):
        target = os.path.realpath(path)
        if not any(within(target, each) for each in roots) or control_plane_below(inner):
            return path
    elif found.st_mode & _ANYONE_EXECUTES:
        return path
    return store_part(path) or (path if _decides(inner) else None)


def _is_inert(path: str) -> bool:
    return (
        path.endswith(".sample") and "/.git/hooks/" in path
    )  # git creates these with a repository and never runs them


def _decides(path: str) -> bool:
    """Tell whether tools obey a file because of its name; `store_part` covers the store of a repository."""
    if "/.git/" in path:
        return False
    return path.rpartition("/")[2].lower() in _BUILD_FILES or is_control_plane(path)
