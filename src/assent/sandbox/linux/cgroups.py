"""Limit a whole tree of processes with a control group, where one can be made. Root has no other limit."""

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
"""How long to wait until a group is empty. After that, the next launcher removes it."""


class ControlGroup:
    """The control group of one sandbox; without effect if none can be made."""

    def __init__(self, limits: Limits) -> None:
        self._folder: str | None = None
        self.entry = -1
        """A process that writes `0` to this file joins the group, with its later child processes; -1 is none."""
        self.mechanism = Mechanism("cgroup", "", enforced=False)
        wanted = {"pids.max": limits.processes, "memory.max": limits.memory_bytes}
        for version, parent, entry in _parents():
            if self._make(parent, wanted, entry):
                self.mechanism = Mechanism("cgroup", version, enforced=True)
                return

    def _make(self, parent: str, wanted: dict[str, int | None], entry: str) -> bool:
        _sweep(parent)
        folder = os.path.join(parent, f"{_PREFIX}{os.getpid()}-{os.urandom(6).hex()}")
        try:
            os.mkdir(folder)
        except OSError:
            return False
        try:
            # Never creates the files: a folder without them is not a control group.
            _set(os.path.join(folder, "pids.max"), str(wanted["pids.max"] or "max"))
            memory = os.path.join(folder, "memory.max")
            if wanted["memory.max"] is not None and os.path.exists(memory):
                _set(memory, str(wanted["memory.max"]))
            self.entry = os.open(os.path.join(folder, entry), os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            os.rmdir(folder)
            return False
        self._folder = folder
        return True

    def shut(self, *, entered: bool) -> None:
        """Let no more processes join; `entered` says whether the sandbox did."""
        if self.entry >= 0:
            os.close(self.entry)
            self.entry = -1
        self.mechanism = Mechanism("cgroup", self.mechanism.version, enforced=self.mechanism.enforced and entered)

    @property
    def entries(self) -> tuple[int, ...]:
        """Return the descriptors that a process inherits to join."""
        return () if self.entry < 0 else (self.entry,)

    @property
    def is_there(self) -> bool:
        """Tell whether the group still exists."""
        return self._folder is not None

    def remove(self) -> None:
        """Remove the group, unless it still has processes."""
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
        """Wait until the group is removed: the last process of a killed sandbox takes a moment to end."""
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
    """Return the folders in which this process may make groups, and the name of the file to join them.

    In version 1 a thread can move itself, which is quick. Version 2 moves whole processes.
    """
    try:
        with open("/proc/self/cgroup", encoding="utf-8", errors="surrogateescape") as file:
            rows = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return []
    second = [(f"v2 {m}", m + path, "cgroup.procs") for _, kinds, path in rows if not kinds for m in _MOUNTS]
    first = [("v1 pids", _FIRST + path, "tasks") for _, kinds, path in rows if "pids" in kinds.split(",")]
    found = ((version, parent.rstrip("/"), entry) for version, parent, entry in (*second, *first))
    return [row for row in found if os.access(row[1], os.W_OK) and _counts(row[1], row[2])]


def _counts(parent: str, entry: str) -> bool:
    """Tell whether groups below this one can be limited."""
    if not os.path.exists(os.path.join(parent, entry)):
        return False  # not a control group
    try:
        with open(os.path.join(parent, "cgroup.subtree_control"), encoding="ascii") as file:
            return "pids" in file.read().split()
    except FileNotFoundError:
        return True  # version 1 has no such file


def _sweep(parent: str) -> None:
    """Remove the groups of killed launchers, except groups that still have processes."""
    try:
        names = [name for name in os.listdir(parent) if name.startswith(_PREFIX)]
    except OSError:
        return
    for name in names:
        with contextlib.suppress(OSError):
            if not os.path.exists("/proc/" + name.split("-")[1]):
                os.rmdir(os.path.join(parent, name))
