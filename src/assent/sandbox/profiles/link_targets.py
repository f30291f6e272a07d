"""Find the targets of links in protected folders: they need the same protection."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from assent.model import within
from assent.platform.symlinks import follow_links
from assent.sandbox.errors import Unavailable

_MOST_ENTRIES = 5000
_DEEPEST = 4
_MOST_STEPS = 200


def find_led_to(protected: Iterable[str], write: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield link targets in a workspace, each with its root, or raise `Unavailable`.

    A target that is a folder is searched for links too.
    """
    held = [path for path in protected if os.path.isdir(path) and not os.path.islink(path)]
    waiting, left = [(folder, 0) for folder in held], _MOST_ENTRIES
    for folder, depth in waiting:
        entries = _list(folder)
        left -= len(entries)
        if left < 0:
            return
        for entry in entries:
            if entry.is_symlink():
                found = _lead(entry.path, held, write)
                if found is not None:
                    yield found
                    held.append(found[0])
                    waiting.append((found[0], depth + 1))
            elif depth + 1 < _DEEPEST and entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, depth + 1))


def _list(folder: str) -> list[os.DirEntry[str]]:
    try:
        return list(os.scandir(folder))
    except OSError:
        return []


def _lead(link: str, held: list[str], write: tuple[str, ...]) -> tuple[str, str] | None:
    """Return the target of a link in a workspace, unless it is protected already."""
    target = follow_links(link)
    if target is None or any(within(target, path) for path in held) or any(within(root, target) for root in write):
        return None
    root = next((root for root in write if within(target, root)), None)
    if root is None:
        return None
    # A command can replace a link in its workspace.
    for hop in _hops(link):
        if any(within(hop, root) for root in write) and not any(within(hop, path) for path in held):
            raise Unavailable(f"{hop} is a symbolic link and cannot be protected, and {link} leads through it")
    return target, root


def _hops(link: str) -> Iterator[str]:
    """Yield the links between a link and its target."""
    said = os.readlink(link)
    at, names = "/" if said.startswith("/") else os.path.dirname(link), said.split("/")
    for _ in range(_MOST_STEPS):
        if not names:
            return
        here = os.path.normpath(os.path.join(at, names.pop(0) or "."))
        if os.path.islink(here):
            yield here
            said = os.readlink(here)
            names = [*said.split("/"), *names]
            at = "/" if said.startswith("/") else at
        else:
            at = here
