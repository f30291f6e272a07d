"""Symbolic links: where a path really leads, and by which other names the control plane is found."""

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
"""Names that are looked through for one folder. Where there are more, all of it counts as led to."""
DEEPEST = 4
"""Folders inside one another that are looked into."""
_NO_NAMES = frozenset({"", ".", ".."})
_NAME_ONLY = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK) | os.O_CLOEXEC


def follow_links(path: str) -> str | None:
    """Follow symbolic links in an absolute path; None where the kernel would refuse the path too."""
    try:
        if not path.startswith("/") or (len(path) * 4 > LONGEST_PATH and len(os.fsencode(path)) > LONGEST_PATH):
            return None
        return _ask_kernel(path) or _ask_parent(path) or os.path.realpath(path)
    except (OSError, ValueError, RecursionError):
        return None


def _ask_kernel(path: str) -> str | None:
    """Have the kernel say what it would open; much quicker than walking the path, where it can.

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
    """Resolve a file that does not exist yet by the folder it would be in."""
    folder, name = os.path.split(path)
    if name in _NO_NAMES or os.path.lexists(path):
        return None
    parent = _ask_kernel(folder)
    return _ask_above(path) if parent is None else os.path.join(parent, name)


def _ask_above(path: str) -> str | None:
    """Resolve a file that is not there, and its folder neither, by the last folder on the way that is."""
    names = path.split("/")
    if not _NO_NAMES.isdisjoint(names[1:]):
        return None
    there, missing = 1, len(names) - 1
    while there < missing - 1:  # what is missing has nothing in it, so there is one place where it begins
        middle = (there + missing) // 2
        if _is_missing("/".join(names[:middle])):
            missing = middle
        else:
            there = middle
    above = _ask_kernel("/".join(names[:there]) or "/") if _is_missing("/".join(names[:missing])) else None
    return None if above is None else os.path.join(above, *names[there:])


def _is_missing(path: str) -> bool:
    """Tell whether nothing is there, not even a link that leads nowhere."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


class _TooManyError(Exception):
    """There are more names than anybody looks through."""


def find_control_links(folder: str) -> tuple[str, ...]:
    """List what a project's or a home's control plane is by other names: the ends of its symbolic links."""
    try:
        return tuple(sorted(set(_walk(folder, "", [MOST_NAMES], DEEPEST))))
    except _TooManyError:
        return (folder,)


def find_led_to(path: str, inner: str) -> tuple[str, ...]:
    """List where the control plane is, there or not, by way of one link, by the name it has in a project or a home."""
    below = ("",) if is_control_plane(f"/{inner}") else control_plane_below(inner)
    target = follow_links(path) if below else None
    if target is None:
        return ()
    found = [os.path.join(target, name).rstrip("/") for name in below]
    # What is found there may be a link once more.
    return tuple(dict.fromkeys((*found, *(real for name in found if (real := follow_links(name)) is not None))))


def _walk(folder: str, named: str, left: list[int], depth: int) -> Iterator[str]:
    """Yield where the links in a folder lead that goes by this name, and those in the folders to look into."""
    for name, is_link, is_folder in _list(folder, left, first=not named):
        inner = f"{named}/{name}" if named else name
        path = os.path.join(folder, name)
        if is_link:
            yield from find_led_to(path, inner)
        if is_folder and depth and holds_control_plane(inner):
            yield from _walk(path, inner, left, depth - 1)


def _list(folder: str, left: list[int], *, first: bool) -> Iterator[tuple[str, bool, bool]]:
    """Yield the links and folders in a folder; nothing of one that can not be looked into.

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
        return False  # a link that leads in a circle
