"""Bind an answer to the files that a call runs and the folder it runs in, as they were when the person was asked.

A yes to `bash deploy.sh` is a yes to the content of that file. A file that cannot be read in full never counts as
unchanged.
"""

# Paths are strings here, as in the model.
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
"""Of a larger file, the inode, size and times of change are compared instead of the content."""
LARGEST_TOTAL = 64 << 20
MOST_PATHS = 512
"""How many files are fingerprinted for one call."""
_CLOCK_STEP = 2_000_000_000
"""Nanoseconds after which two changes of a file surely have different timestamps."""
ABSENT = "absent"
FOLDED = "*"
"""The path of the one fingerprint that stands for very many files."""
UNREADABLE = ""
"""The fingerprint of a file that cannot be read: it equals nothing, not even itself."""

Bound: TypeAlias = tuple[tuple[str, str], ...]
"""Paths, each with the fingerprint of what was found there."""


def bind(call: ToolCall, session: Session, decision: Decision) -> Decision:
    """Return a decision with the fingerprints of its files, or with the fact that they cannot be read. Reads files."""
    readable = can_read_files(decision, session)
    bound = fingerprint_files(call, session, decision) if readable else ()
    fact = f"{len(bound)} bound" if readable else "not bound: the agent's disk is not seen from here"
    reading = decision.reading
    reading = msgspec.structs.replace(reading, bound=bound, facts={**reading.facts, "files": fact})
    return msgspec.structs.replace(decision, reading=reading)


def can_read_files(decision: Decision, session: Session) -> bool:
    """Tell whether the call is about files of this machine."""
    return not session.remote and decision.reading.facts.get("disk") == "known"


def fingerprint_files(call: ToolCall, session: Session, decision: Decision) -> Bound:
    """Fingerprint every file that a call runs or loads code from, and those that a tool is about to change."""
    run = {o.target or o.resource for o in decision.reading.operations if o.kind is FS_EXEC}
    fingerprinter = _Fingerprinter()
    found = dict(_fingerprint(first_of(_paths(call, session.workspace, decision), MOST_PATHS), run, fingerprinter))
    if find_tool(call.tool).shape == "command":
        found |= _fold({k: v for k, v in _fingerprint_named(call, decision, fingerprinter).items() if k not in found})
    return tuple(sorted(found.items()))


def _fingerprint(paths: Iterable[str], run: AbstractSet[str], fingerprinter: _Fingerprinter) -> Bound:
    found = {path: state for named in paths for path, state in fingerprinter.at(named, is_run=named in run)}
    return tuple(sorted(found.items())) if len(found) <= MOST_PATHS else ((UNKNOWN, UNREADABLE),)


def _fingerprint_named(call: ToolCall, decision: Decision, fingerprinter: _Fingerprinter) -> dict[str, str]:
    """Fingerprint the existing files that a command names, whatever it does with them."""
    operations = decision.reading.operations
    named = find_named(call, decision.reading)
    if named is None:
        return {UNKNOWN: UNREADABLE}
    fingerprinter.most = MOST_NAMES
    patterns = sorted(set(find_patterns(call, operations)))
    return {path: state for each in (*named, *patterns) for path, state in fingerprinter.at(each, is_run=False)}


def _fold(found: dict[str, str]) -> dict[str, str]:
    """Combine very many fingerprints into one; an unreadable file keeps its own."""
    if len(found) <= MOST_PATHS:
        return found
    unreadable = {path: state for path, state in found.items() if state == UNREADABLE}
    return {**dict(itertools.islice(unreadable.items(), 1)), FOLDED: digest(sorted(found.items()))}


def fingerprint_programs(programs: Collection[str]) -> Bound:
    """Fingerprint files that are run."""
    return _fingerprint(programs, set(programs), _Fingerprinter())


def find_change(before: Bound, now: Bound) -> str | None:
    """Return what changed between two sets of fingerprints; None if nothing did."""
    old, new = dict(before), dict(now)
    for path in sorted(old.keys() | new.keys()):
        if old.get(path) != new.get(path):
            return _describe_change(path, old.get(path, ABSENT), new.get(path, ABSENT))
    return None


def find_unreadable(bound: Bound) -> str | None:
    """Return which file cannot be read; None if all can."""
    for path, state in bound:
        if state == UNREADABLE:
            what = "the command runs too many files" if path == UNKNOWN else f"`{path}` cannot be read as a file"
            return f"{what}: Assent can't check that what runs is what was approved"
    return None


def _describe_change(path: str, old: str, new: str) -> str:
    if path == FOLDED:
        return "one of the files that the command names changed"
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
            # The target of a link, not the link: another target is another path.
            yield from (p for p in (operation.target or operation.resource,) if UNKNOWN not in p and p.startswith("/"))


class _Fingerprinter:
    """Fingerprints many files, and reads at most `LARGEST_TOTAL` bytes of them together."""

    def __init__(self) -> None:
        self._left = LARGEST_TOTAL
        self.most = MOST_PATHS
        """How many files of one folder are fingerprinted."""

    def at(self, path: str, *, is_run: bool) -> Iterator[tuple[str, str]]:
        """Yield the fingerprint of a path, or of each file that a glob matches; of a folder that is run, its files."""
        folder, name = os.path.split(path)
        if UNKNOWN in path or "\0" in path:
            yield path, UNREADABLE
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
            return UNREADABLE
        if stat.S_ISDIR(status.st_mode):
            return _identify(path)
        if not stat.S_ISREG(status.st_mode):
            return UNREADABLE
        self._left -= min(status.st_size, LARGEST_FILE)
        stamp = _stamp(status)
        return (_hash(path, stamp) if self._left >= 0 else "") or f"unread {digest(stamp)}"

    def _among(self, folder: str, pattern: str) -> Iterator[tuple[str, str]]:
        """Yield the fingerprints of the files in a folder whose names match; subfolders do not count."""
        try:
            with os.scandir(folder) as entries:
                names = sorted(entry.name for entry in entries if fnmatch.fnmatchcase(entry.name, pattern))
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError:
            names = [pattern] * (self.most + 1)
        if len(names) > self.most:
            yield os.path.join(folder, pattern), UNREADABLE
            return
        paths = [os.path.join(folder, name) for name in names]
        yield from ((_printable(path), self._file(path)) for path in paths if not os.path.isdir(path))


def _printable(path: str) -> str:
    """Return a path as valid text, whatever bytes its name has."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _identify(folder: str) -> str:
    """Return the fingerprint of a folder: its real path and inode."""
    try:
        status = os.stat(folder)
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT
    except (OSError, ValueError):
        return UNREADABLE
    return digest([os.fsencode(os.path.realpath(folder)).hex(), status.st_dev, status.st_ino])


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    # The ctime, unlike the mtime, cannot be set back.
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _hash(path: str, stamp: tuple[int, ...]) -> str:
    """Hash a file, from the cache unless it changed just now and may change again with the same timestamp."""
    return hash_file(path, stamp) if time.time_ns() - stamp[-1] > _CLOCK_STEP else hash_file.__wrapped__(path, stamp)


@functools.lru_cache(maxsize=1024)
def hash_file(path: str, _stamp: tuple[int, ...]) -> str:
    """Return the SHA-256 of a file as of this stamp; empty if it cannot be read in full."""
    try:
        # O_NONBLOCK: opening a pipe that replaced the file must not block.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123 - as above
            whole = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            data = file.read(LARGEST_FILE + 1) if whole else b""
    except (OSError, ValueError):
        return ""
    return hashlib.sha256(data).hexdigest() if whole and len(data) <= LARGEST_FILE else ""
