"""Collect the facts about the machine that decisions need, so that analysis and policy do no I/O."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH113, PTH115, PTH116, PTH117, PTH118, PTH119, PTH120

from __future__ import annotations

import functools
import os
import sys
import time
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from assent.budget import step
from assent.model import ConfigError, Facts
from assent.platform.cpu_clock import processor_time
from assent.platform.files import find_private
from assent.platform.paths import MANAGED_FILE, assent_home, user_file, user_home
from assent.platform.repository_settings import find_trap
from assent.platform.symlinks import find_control_links, follow_links

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

ENDPOINTS = ("127.0.0.1:7422", "localhost:7422", "[::1]:7422")
MOST_NAMES = 10_000
"""The most names of a folder that are searched."""
MOST_LISTED = 50_000
"""The most names of a folder that are listed."""
MOST_LINKS = 40
"""The most symbolic links that are followed, as in the kernel."""
HOOKS_FILE = "hooks.json"
CASE_INSENSITIVE = sys.platform in ("darwin", "win32")

_INSTALLED = ("site-packages", "dist-packages")
_VARIABLES = ("HOME", "ASSENT_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")

_Stamp: TypeAlias = tuple[int, int, int, int] | None


def observe(
    environ: Mapping[str, str] = os.environ,
    *,
    now: Callable[[], float] = time.time,
    managed_file: str = MANAGED_FILE,
) -> Facts:
    """Return the facts. Assent's own files are read again only if their stat data changed."""
    home, watched = _watched(managed_file, *map(environ.get, _VARIABLES))
    paths, files = _own_places(watched, tuple(map(_stamp, watched)))
    return Facts(
        now=now(),
        home=home,
        resolve=follow_links,
        trap=find_trap,
        path=_search_path(environ.get("PATH", "")),
        is_program=is_program,
        exists=exists,
        has_dashes=has_dashes,
        control_links=find_control_links,
        names=list_names,
        case_insensitive=CASE_INSENSITIVE,
        assent_paths=paths,
        assent_files=files,
        assent_endpoints=ENDPOINTS,
        sandbox=False,
        clock=processor_time,
    )


@functools.lru_cache(maxsize=16)
def _search_path(path: str) -> tuple[str, ...]:
    """Split a search path; an empty part is the working directory."""
    return tuple(dict.fromkeys(part or "." for part in path.split(os.pathsep))) if path else ()


def is_program(path: str) -> bool:
    """Return whether a file is executable."""
    return os.path.isfile(path) and os.access(path, os.X_OK)


def exists(path: str) -> bool:
    """Return whether a path exists; a dangling link does not."""
    try:
        return os.access(path, os.F_OK)  # faster than `stat`, which raises for a missing file
    except ValueError:
        return False


def has_dashes(folder: str) -> bool | None:
    """Return whether a folder has a name that starts with a dash; None if unknown or too many names."""
    try:
        with os.scandir(folder) as names:
            for seen, entry in enumerate(names):
                if entry.name.startswith("-"):
                    return True
                if seen >= MOST_NAMES:
                    return None
    except (OSError, ValueError):
        return None
    return False


def list_names(folder: str) -> list[tuple[str, bool]] | None:
    """Return the names in a folder and which are folders; None if unknown or too many."""
    found: list[tuple[str, bool]] = []
    try:
        with os.scandir(folder) as names:
            for entry in names:
                step()
                found.append((entry.name, entry.is_dir(follow_symlinks=False)))
                if len(found) > MOST_LISTED:
                    return None
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, ValueError):
        return None
    return found


class Observer:
    """Collects facts for a long-running process: the time at each call, Assent's files once a second."""

    def __init__(self, environ: Mapping[str, str] = os.environ, *, now: Callable[[], float] = time.time) -> None:
        self._environ = dict(environ)
        self._now = now
        self._second = -1
        self._facts = Facts()

    def __call__(self) -> Facts:
        """Return the current facts."""
        now = self._now()
        if int(now) != self._second:
            self._facts, self._second = observe(self._environ, now=lambda: now), int(now)
        return self._facts


def _stamp(path: str) -> _Stamp:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return (status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns)


@functools.lru_cache(maxsize=16)
def _watched(managed: str, *values: str | None) -> tuple[str | None, tuple[str, ...]]:
    """Return the home and the paths to watch, cached by environment."""
    environ = {name: value for name, value in zip(_VARIABLES, values, strict=True) if value is not None}
    ours = assent_home(environ)
    return user_home(environ), (ours, os.path.join(ours, HOOKS_FILE), managed, user_file(environ))


@functools.lru_cache(maxsize=16)
def _own_places(watched: tuple[str, ...], _stamps: tuple[_Stamp, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    ours, hooks, managed, user = watched
    strategies = os.path.join(os.path.dirname(user), "strategies")
    written = [managed, user, strategies, *_read_hooks(hooks), *_program()]
    links = [link for path in (ours, *written) for link in _find_links(path)]
    return _both_names([ours]), tuple(dict.fromkeys((*_both_names(written), *links)))


@functools.cache
def _program() -> tuple[str, ...]:
    """Return the files that run as Assent: its programs, other names of them, and its code."""
    beside = os.path.join(os.path.dirname(sys.executable), "assent")
    code = os.path.dirname(os.path.dirname(__file__))
    # A checkout is under development, not an installation.
    found = [code] if os.path.basename(os.path.dirname(code)) in _INSTALLED else []
    if not is_program(beside):
        return tuple(found)
    real = os.path.realpath(beside)
    named = [os.path.join(folder, "assent") for folder in os.get_exec_path() if os.path.isabs(folder)]
    return tuple(dict.fromkeys((*found, beside, *(n for n in named if os.path.realpath(n) == real))))


def _find_links(path: str) -> list[str]:
    """Return the symbolic links on the way to a path: replacing one changes what the path means."""
    found: list[str] = []
    at, parts = "/", path.split("/")[::-1]
    while parts and len(found) < MOST_LINKS:
        part = parts.pop()
        step = os.path.normpath(os.path.join(at, part))
        try:
            target = os.readlink(step)
        except (OSError, ValueError):
            at = step
            continue
        found.append(step)
        at = "/" if os.path.isabs(target) else at
        parts += target.split("/")[::-1]
    return [link for link in found if os.access(os.path.dirname(link), os.W_OK)]


def _both_names(paths: Iterable[str]) -> tuple[str, ...]:
    """Return each path as written and resolved."""
    names = [name for path in paths for name in (path, follow_links(path)) if name is not None]
    return tuple(dict.fromkeys(names))


def _read_hooks(path: str) -> list[str]:
    data = find_private(path, suggestion="make its mode 0600")
    if data is None:
        return []
    try:
        files = msgspec.json.decode(data, type=list[str])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        files = [""]
    if not all(os.path.isabs(file) for file in files):
        message = "the file is damaged: expected a list of absolute paths"
        raise ConfigError(message, file=path, suggestion="delete it and run `assent init` for each agent again")
    return files
