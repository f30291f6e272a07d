"""Resolve symbolic links, and find other names of control-plane files."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH115, PTH118

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from assent.catalog.sensitive_paths import (
    control_plane_below,
    holds_control_plane,
    is_control_plane,
    may_begin_control_plane,
)
from assent.platform.paths import LONGEST_PATH

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_NAMES = 50_000
"""The most names searched in one folder. Above that, the whole folder counts as a link target."""
DEEPEST = 4
"""The deepest nesting of folders that is searched."""
_NO_NAMES = frozenset({"", ".", ".."})
_NAME_ONLY = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK) | os.O_CLOEXEC


def follow_links(path: str) -> str | None:
    """Resolve symbolic links in an absolute path; None if the kernel would refuse it."""
    try:
        if not path.startswith("/") or (len(path) * 4 > LONGEST_PATH and len(os.fsencode(path)) > LONGEST_PATH):
            return None
        return _ask_kernel(path) or _ask_parent(path) or os.path.realpath(path)
    except (OSError, ValueError, RecursionError):
        return None


def _ask_kernel(path: str) -> str | None:
    """Ask the kernel for the resolved path, which is much faster than walking it.

    Raises `OSError` for more links than it follows: whoever walks the path might follow them all.
    """
    try:
        handle = os.open(path, _NAME_ONLY)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise
        return None
    try:
        name = os.readlink(f"/proc/self/fd/{handle}")
    except OSError:
        return None
    finally:
        os.close(handle)
    return name if name.startswith("/") and not name.endswith(" (deleted)") else None


def _ask_parent(path: str) -> str | None:
    """Resolve a missing file through its folder."""
    folder, name = os.path.split(path)
    if name in _NO_NAMES or os.path.lexists(path):
        return None
    parent = _ask_kernel(folder)
    return _ask_above(path) if parent is None else os.path.join(parent, name)


def _ask_above(path: str) -> str | None:
    """Resolve a missing file in a missing folder through the last existing folder."""
    names = path.split("/")
    if not _NO_NAMES.isdisjoint(names[1:]):
        return None
    there, missing = 1, len(names) - 1
    while there < missing - 1:  # binary search: everything below a missing folder is missing too
        middle = (there + missing) // 2
        if _is_missing("/".join(names[:middle])):
            missing = middle
        else:
            there = middle
    above = _ask_kernel("/".join(names[:there]) or "/") if _is_missing("/".join(names[:missing])) else None
    return None if above is None else os.path.join(above, *names[there:])


def _is_missing(path: str) -> bool:
    """Return whether nothing exists at a path, not even a dangling link."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


class _TooManyError(Exception):
    """A folder has more names than are searched."""


def find_control_links(folder: str) -> tuple[str, ...]:
    """Return other names of the control plane of a project or home: the targets of its symbolic links."""
    try:
        return tuple(sorted(set(_walk(folder, "", [MOST_NAMES], DEEPEST))))
    except _TooManyError:
        return (folder,)


def find_led_to(path: str, inner: str) -> tuple[str, ...]:
    """Return the control-plane paths, existing or not, that one link leads to."""
    below = ("",) if is_control_plane(f"/{inner}") else control_plane_below(inner)
    target = follow_links(path) if below else None
    if target is None:
        return ()
    found = [os.path.join(target, name).rstrip("/") for name in below]
    # The target may be a link again.
    return tuple(dict.fromkeys((*found, *(real for name in found if (real := follow_links(name)) is not None))))


def _walk(folder: str, named: str, left: list[int], depth: int) -> Iterator[str]:
    """Yield the targets of the links in a folder and in the folders below it."""
    for name, is_link, is_folder in _list(folder, left, first=not named):
        inner = f"{named}/{name}" if named else name
        path = os.path.join(folder, name)
        if is_link:
            yield from find_led_to(path, inner)
        if is_folder and depth and holds_control_plane(inner):
            yield from _walk(path, inner, left, depth - 1)


def _list(folder: str, left: list[int], *, first: bool) -> Iterator[tuple[str, bool, bool]]:
    """Yield the links and folders in a folder; nothing if it cannot be read.

    In the first folder, where there may be very many, only those with a name that matters.
    """
    try:
        with os.scandir(folder) as names:
            for entry in names:
                left[0] -= 1
                if left[0] < 0:
                    raise _TooManyError
                if first and not may_begin_control_plane(entry.name):
                    continue
                is_link = entry.is_symlink()
                if is_link or entry.is_dir(follow_symlinks=False):
                    yield entry.name, is_link, _is_folder(entry)
    except (OSError, ValueError):
        return


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a link loop
