"""Limits on a whole tree of processes, where the machine lets us make a control group. Root has no other limit."""

from __future__ import annotations

import asyncio
import contextlib
import glob
import os

from assent.model import Limits, Mechanism

_PREFIX = "assent-"
_MOUNTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
_PAUSE = 0.005
_TRIES = 6000
"""So often it is looked whether a group is empty: for half a minute. Later the next launcher removes it."""


class Group:
    """A control group of one sandbox; without any effect where none can be made."""

    def __init__(self, limits: Limits) -> None:
        self._folder: str | None = None
        self.mechanism = Mechanism("cgroup", "", enforced=False)
        wanted = {"pids.max": limits.processes, "memory.max": limits.memory_bytes}
        for version, parent in _parents():
            if self._make(parent, wanted):
                self.mechanism = Mechanism("cgroup", version, enforced=True)
                return

    def _make(self, parent: str, wanted: dict[str, int | None]) -> bool:
        _sweep(parent)
        folder = os.path.join(parent, f"{_PREFIX}{os.getpid()}-{os.urandom(6).hex()}")
        try:
            os.mkdir(folder)
        except OSError:
            return False
        try:
            # A folder that is no control group has no such files, and must not get them.
            _set(os.path.join(folder, "pids.max"), str(wanted["pids.max"] or "max"))
            memory = os.path.join(folder, "memory.max")
            if wanted["memory.max"] is not None and os.path.exists(memory):
                _set(memory, str(wanted["memory.max"]))
        except OSError:
            os.rmdir(folder)
            return False
        self._folder = folder
        return True

    def add(self, pidfd: int) -> None:
        """Put a process in; what it starts from now on is in too."""
        if self._folder is None:
            return
        try:
            with open(f"/proc/self/fdinfo/{pidfd}", encoding="ascii") as file:
                pid = next(line.split()[1] for line in file if line.startswith("Pid:"))
            _set(os.path.join(self._folder, "cgroup.procs"), pid)
        except (OSError, StopIteration):
            self.mechanism = Mechanism("cgroup", self.mechanism.version, enforced=False)

    @property
    def is_there(self) -> bool:
        """Tell whether it has yet to be removed."""
        return self._folder is not None

    def remove(self) -> None:
        """Remove it, unless there are processes in it still."""
        if self._folder is None:
            return
        try:
            os.rmdir(self._folder)
        except FileNotFoundError:
            pass
        except OSError:
            return
        self._folder = None

    async def removed(self) -> None:
        """Wait until it is removed: the kernel needs a moment to take the last process of a killed sandbox away."""
        for _ in range(_TRIES):
            self.remove()
            if not self.is_there:
                return
            await asyncio.sleep(_PAUSE)


def find_group(limits: Limits) -> Mechanism:
    """Tell whether a control group can be made here."""
    group = Group(limits)
    group.remove()
    return group.mechanism


def _set(path: str, value: str) -> None:
    with open(path, "r+", encoding="ascii") as file:
        file.write(value)


def _parents() -> list[tuple[str, str]]:
    """Return the folders in which this process may have groups of its own."""
    try:
        with open("/proc/self/cgroup", encoding="utf-8", errors="surrogateescape") as file:
            rows = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return []
    second = [(f"v2 {m}", m + path) for _, kinds, path in rows if not kinds for m in _MOUNTS]
    first = [("v1 pids", "/sys/fs/cgroup/pids" + path) for _, kinds, path in rows if "pids" in kinds.split(",")]
    return [(version, parent.rstrip("/")) for version, parent in (*second, *first) if os.access(parent, os.W_OK)]


def _sweep(parent: str) -> None:
    """Remove what killed launchers left: a group that still has processes can not be removed."""
    for folder in glob.glob(os.path.join(glob.escape(parent), _PREFIX + "*")):
        with contextlib.suppress(OSError):
            if not os.path.exists("/proc/" + os.path.basename(folder).split("-")[1]):
                os.rmdir(folder)
