"""Limits on a whole tree of processes, where the machine lets us make a control group. Root has no other limit."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time

from assent.model import Limits, Mechanism

_PREFIX = "assent-"
_MOUNTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
_FIRST = "/sys/fs/cgroup/pids"
_SHORTEST, _LONGEST = 0.0005, 0.02
_SECONDS = 30.0
"""For so long it is looked whether a group is empty. Later the next launcher removes it."""


class ControlGroup:
    """A control group of one sandbox; without any effect where none can be made."""

    def __init__(self, limits: Limits) -> None:
        self._folder: str | None = None
        self.door = -1
        """Whoever writes `0` here is in the group, with all that it starts from then on; -1 where there is none."""
        self.mechanism = Mechanism("cgroup", "", enforced=False)
        wanted = {"pids.max": limits.processes, "memory.max": limits.memory_bytes}
        for version, parent, door in _parents():
            if self._make(parent, wanted, door):
                self.mechanism = Mechanism("cgroup", version, enforced=True)
                return

    def _make(self, parent: str, wanted: dict[str, int | None], door: str) -> bool:
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
            self.door = os.open(os.path.join(folder, door), os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            os.rmdir(folder)
            return False
        self._folder = folder
        return True

    def shut(self, *, entered: bool) -> None:
        """Let nobody else in; `entered` says whether the one it was made for is."""
        if self.door >= 0:
            os.close(self.door)
            self.door = -1
        self.mechanism = Mechanism("cgroup", self.mechanism.version, enforced=self.mechanism.enforced and entered)

    @property
    def doors(self) -> tuple[int, ...]:
        """Return what must be passed on to enter."""
        return () if self.door < 0 else (self.door,)

    @property
    def is_there(self) -> bool:
        """Tell whether it has yet to be removed."""
        return self._folder is not None

    def remove(self) -> None:
        """Remove it, unless there are processes in it still."""
        self.shut(entered=True)
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
        pause, until = _SHORTEST, time.monotonic() + _SECONDS
        while time.monotonic() < until:
            self.remove()
            if not self.is_there:
                return
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST)


def find_group(limits: Limits) -> Mechanism:
    """Tell whether a control group can be made here."""
    group = ControlGroup(limits)
    group.remove()
    return group.mechanism


def _set(path: str, value: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)


def _parents() -> list[tuple[str, str, str]]:
    """Return the folders in which this process may have groups of its own, and by which file one enters those.

    To move a single thread, itself, the kernel need not wait for anybody. The second version moves whole processes.
    """
    try:
        with open("/proc/self/cgroup", encoding="utf-8", errors="surrogateescape") as file:
            rows = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return []
    second = [(f"v2 {m}", m + path, "cgroup.procs") for _, kinds, path in rows if not kinds for m in _MOUNTS]
    first = [("v1 pids", _FIRST + path, "tasks") for _, kinds, path in rows if "pids" in kinds.split(",")]
    found = ((version, parent.rstrip("/"), door) for version, parent, door in (*second, *first))
    return [row for row in found if os.access(row[1], os.W_OK) and _counts(row[1], row[2])]


def _counts(parent: str, door: str) -> bool:
    """Tell whether groups below this one can be limited."""
    if not os.path.exists(os.path.join(parent, door)):
        return False  # no control group at all
    try:
        with open(os.path.join(parent, "cgroup.subtree_control"), encoding="ascii") as file:
            return "pids" in file.read().split()
    except FileNotFoundError:
        return True  # the first version has no such file


def _sweep(parent: str) -> None:
    """Remove what killed launchers left: a group that still has processes can not be removed."""
    try:
        names = [name for name in os.listdir(parent) if name.startswith(_PREFIX)]
    except OSError:
        return
    for name in names:
        with contextlib.suppress(OSError):
            if not os.path.exists("/proc/" + name.split("-")[1]):
                os.rmdir(os.path.join(parent, name))
