"""What an answer is bound to: the files that a call runs and the folder it runs in, as they were when it was asked for.

A person who says yes to `bash deploy.sh` says yes to what is in that file. What can not be looked at whole never counts
as unchanged.
"""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH112, PTH116, PTH118

from __future__ import annotations

import fnmatch
import functools
import hashlib
import itertools
import os
import stat
import time
from collections.abc import Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import TypeAlias

import msgspec

from assent.analysis.programs.code_sources import expand_loads
from assent.analysis.tools.names import find_tool
from assent.decisions.grants.named_files import MOST_NAMES, find_folders, find_named, find_patterns, first_of
from assent.model import FS_EXEC, FS_WRITE, UNKNOWN, Decision, Session, ToolCall, digest

LARGEST_FILE = 8 << 20
"""Of a larger file, size, place and times of change are compared instead of what is in it."""
LARGEST_TOTAL = 64 << 20
MOST_PATHS = 512
"""Files that are looked at for one call."""
_SETTLED = 2_000_000_000
"""Nanoseconds after which two changes of a file surely have different times."""
ABSENT = "absent"
FOLDED = "*"
"""Stands for all the files that a line names, where there are very many."""
UNSEEN = ""
"""Stands for what can not be looked at: it equals nothing, not even itself."""

Bound: TypeAlias = tuple[tuple[str, str], ...]
"""Paths, each with what was found there."""


def bind(call: ToolCall, session: Session, decision: Decision) -> Decision:
    """Return a decision that says what it is bound to, or that it is not. Reads files."""
    seen = is_seen(decision, session)
    bound = look(call, session, decision) if seen else ()
    said = f"{len(bound)} bound" if seen else "not bound: the agent's disk is not seen from here"
    reading = decision.reading
    reading = msgspec.structs.replace(reading, bound=bound, facts={**reading.facts, "files": said})
    return msgspec.structs.replace(decision, reading=reading)


def is_seen(decision: Decision, session: Session) -> bool:
    """Tell whether the disk that a call is about can be looked at."""
    return not session.remote and decision.reading.facts.get("disk") == "known"


def look(call: ToolCall, session: Session, decision: Decision) -> Bound:
    """Look at everything that a call runs or takes code from, and at what a tool is about to change."""
    run = {o.target or o.resource for o in decision.reading.operations if o.kind is FS_EXEC}
    looking = _Look()
    seen = dict(_look(first_of(_paths(call, session.workspace, decision), MOST_PATHS), run, looking))
    if find_tool(call.tool).shape == "command":
        seen |= _fold({k: v for k, v in _look_named(call, decision, looking).items() if k not in seen})
    return tuple(sorted(seen.items()))


def _look(paths: Iterable[str], run: AbstractSet[str], looking: _Look) -> Bound:
    seen = {path: state for named in paths for path, state in looking.at(named, is_run=named in run)}
    return tuple(sorted(seen.items())) if len(seen) <= MOST_PATHS else ((UNKNOWN, UNSEEN),)


def _look_named(call: ToolCall, decision: Decision, looking: _Look) -> dict[str, str]:
    """Look at the files that a line names, whatever it does with them. Of those that are not there nothing is kept."""
    operations = decision.reading.operations
    named = find_named(call, decision.reading)
    if named is None:
        return {UNKNOWN: UNSEEN}
    looking.most = MOST_NAMES
    patterns = sorted(set(find_patterns(call, operations)))
    return {path: state for each in (*named, *patterns) for path, state in looking.at(each, is_run=False)}


def _fold(seen: dict[str, str]) -> dict[str, str]:
    """Keep very many files as one; what is not seen stays by its name."""
    if len(seen) <= MOST_PATHS:
        return seen
    unseen = {path: state for path, state in seen.items() if state == UNSEEN}
    return {**dict(itertools.islice(unseen.items(), 1)), FOLDED: digest(sorted(seen.items()))}


def look_at(programs: Collection[str]) -> Bound:
    """Look at files that are run."""
    return _look(programs, set(programs), _Look())


def find_change(before: Bound, now: Bound) -> str | None:
    """Say what is no longer what it was; None if everything is."""
    old, new = dict(before), dict(now)
    for path in sorted(old.keys() | new.keys()):
        if old.get(path) != new.get(path):
            return _say_changed(path, old.get(path, ABSENT), new.get(path, ABSENT))
    return None


def find_unseen(bound: Bound) -> str | None:
    """Say what can not be looked at; None if everything can."""
    for path, state in bound:
        if state == UNSEEN:
            what = (
                "the command runs too many files"
                if path == UNKNOWN
                else f"`{path}` is not a file of which that can be told"
            )
            return f"{what}: Assent can't check that what runs is what was approved"
    return None


def _say_changed(path: str, old: str, new: str) -> str:
    if path == FOLDED:
        return "one of the files that it names changed"
    if path.endswith("/"):
        return f"the working directory `{path.rstrip('/') or '/'}` is another folder now"
    if old == ABSENT:
        return f"`{path}` did not exist then"
    return f"`{path}` is gone" if new == ABSENT else f"`{path}` changed"


def _paths(call: ToolCall, workspace: tuple[str, ...], decision: Decision) -> Iterator[str]:
    reading = decision.reading
    shape = find_tool(call.tool).shape
    if shape == "command":
        yield from (os.path.join(folder, "") for folder in find_folders(call))
    for operation in reading.operations:
        yield from expand_loads(operation.loads, workspace)
        if operation.kind is FS_EXEC or (operation.kind is FS_WRITE and shape == "write"):
            # Where a link leads is part of it: another target is another path.
            yield from (p for p in (operation.target or operation.resource,) if UNKNOWN not in p and p.startswith("/"))


class _Look:
    """One look at many files, which together are not read beyond a bound."""

    def __init__(self) -> None:
        self._left = LARGEST_TOTAL
        self.most = MOST_PATHS
        """How many files in a folder are looked at."""

    def at(self, path: str, *, is_run: bool) -> Iterator[tuple[str, str]]:
        """Yield what is found at a path, or behind a pattern of names; of a folder that is run, with its files."""
        folder, name = os.path.split(path)
        if UNKNOWN in path or "\0" in path:
            yield path, UNSEEN
        elif path.endswith("/"):
            yield path, _identify(path)
        elif "*" in name and not os.path.lexists(path):
            yield from self._among(folder, name)
        else:
            yield path, self._file(path)
            if is_run and os.path.isdir(path):
                yield from self._among(path, "*")

    def _file(self, path: str) -> str:
        try:
            status = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return ABSENT
        except (OSError, ValueError):
            return UNSEEN
        if stat.S_ISDIR(status.st_mode):
            return _identify(path)
        if not stat.S_ISREG(status.st_mode):
            return UNSEEN
        self._left -= min(status.st_size, LARGEST_FILE)
        stamp = _stamp(status)
        return (_hash(path, stamp) if self._left >= 0 else "") or f"unread {digest(stamp)}"

    def _among(self, folder: str, pattern: str) -> Iterator[tuple[str, str]]:
        """Yield the files in a folder whose names fit; folders in it do not count."""
        try:
            with os.scandir(folder) as entries:
                names = sorted(entry.name for entry in entries if fnmatch.fnmatchcase(entry.name, pattern))
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError:
            names = [pattern] * (self.most + 1)
        if len(names) > self.most:
            yield os.path.join(folder, pattern), UNSEEN
            return
        paths = [os.path.join(folder, name) for name in names]
        yield from ((_shown(path), self._file(path)) for path in paths if not os.path.isdir(path))


def _shown(path: str) -> str:
    """Return a path as text that can be written down, whatever bytes its name has."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _identify(folder: str) -> str:
    """Name the folder that a path leads to."""
    try:
        status = os.stat(folder)
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT
    except (OSError, ValueError):
        return UNSEEN
    return digest([os.fsencode(os.path.realpath(folder)).hex(), status.st_dev, status.st_ino])


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    # The time of the last change of status, unlike that of the content, can not be set back.
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _hash(path: str, stamp: tuple[int, ...]) -> str:
    """Hash a file, or remember how it was hashed; not one that changed just now, and may again with the same stamp."""
    return hash_file(path, stamp) if time.time_ns() - stamp[-1] > _SETTLED else hash_file.__wrapped__(path, stamp)


@functools.lru_cache(maxsize=1024)
def hash_file(path: str, _stamp: tuple[int, ...]) -> str:
    """Return the SHA-256 of a file as of this stamp; empty if it can not be read whole."""
    try:
        # O_NONBLOCK: a pipe put in the file's place must not make anyone wait.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123 - as above
            whole = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            data = file.read(LARGEST_FILE + 1) if whole else b""
    except (OSError, ValueError):
        return ""
    return hashlib.sha256(data).hexdigest() if whole and len(data) <= LARGEST_FILE else ""
