"""Describe a waiting system call: read its arguments from the memory of the process.

The descriptions are for people. They enforce nothing, because the process can change its memory before the kernel
reads it.
"""

from __future__ import annotations

import os
import re
import socket
from typing import TypeAlias

from assent.model import FS_WRITE, NET_CONNECT, OperationKind, Violation, printable
from assent.sandbox.linux.seccomp_notify import Notification

Place: TypeAlias = tuple[int | None, int]
"""Which arguments name a path: the folder it starts from (None: the working directory), and its text."""

PATHS: dict[str, tuple[Place, ...]] = {
    "open": ((None, 0),),
    "openat": ((0, 1),),
    "creat": ((None, 0),),
    "truncate": ((None, 0),),
    "rename": ((None, 0), (None, 1)),
    "renameat": ((0, 1), (2, 3)),
    "renameat2": ((0, 1), (2, 3)),
    "mkdir": ((None, 0),),
    "mkdirat": ((0, 1),),
    "rmdir": ((None, 0),),
    "unlink": ((None, 0),),
    "unlinkat": ((0, 1),),
    "link": ((None, 1),),
    "linkat": ((2, 3),),
    "symlink": ((None, 1),),
    "symlinkat": ((1, 2),),
    "mknod": ((None, 0),),
    "mknodat": ((0, 1),),
    "chmod": ((None, 0),),
    "fchmodat": ((0, 1),),
    "fchmodat2": ((0, 1),),
}
MAKERS = frozenset({"mkdir", "mkdirat", "mknod", "mknodat", "link", "linkat", "symlink", "symlinkat"})
"""System calls that fail anyway if the path exists."""
RENAMES = frozenset({"rename", "renameat", "renameat2"})
"""System calls that create or replace their second path, and fail anyway if the first does not exist."""
OPENERS = {"open": (1, 2), "openat": (2, 3), "creat": (None, 1)}
"""Which arguments are the flags and the mode of an open."""
_DESCRIPTOR = re.compile(r"/(?:proc/(?:thread-)?self|dev)/fd/(\d{1,9})")
"""The path of an open descriptor."""
_AT_FDCWD = 0xFFFFFF9C
_LONGEST = 4096
_PAGE = 4096
_MOST_OPEN = 64


class ProcessMemory:
    """Read the memory of processes; a few stay open, because most calls come from them."""

    def __init__(self) -> None:
        self._open: dict[int, int] = {}

    def read(self, pid: int, size: int, address: int) -> bytes:
        """Return bytes of a process, up to the first missing page, or raise `OSError`."""
        known = self._open.get(pid)
        if known is not None:
            data = os.pread(known, size, address)
            if data:
                return data
            os.close(self._open.pop(pid))  # after an exec, or the pid was reused
        if len(self._open) >= _MOST_OPEN:
            self.close()
        self._open[pid] = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        return os.pread(self._open[pid], size, address)

    def close(self) -> None:
        """Close all of them."""
        while self._open:
            os.close(self._open.popitem()[1])


def read_targets(name: str, question: Notification, memory: ProcessMemory) -> list[str] | None:
    """Return the paths that a system call names, made absolute; None if they cannot be read."""
    found = []
    try:
        for folder, text in PATHS[name]:
            path = _read_text(question.pid, question.arguments[text], memory)
            found.append(_absolute(question, folder, path))
    except (OSError, OverflowError):
        return None
    return found


def _read_text(pid: int, address: int, memory: ProcessMemory) -> str:
    # A page at a time: the text may end just before one that is not there.
    data = memory.read(pid, _PAGE - address % _PAGE, address)
    while b"\0" not in data and len(data) < _LONGEST:
        piece = memory.read(pid, _PAGE, address + len(data))
        if not piece:
            break
        data += piece
    return os.fsdecode(data.partition(b"\0")[0])


def _absolute(question: Notification, folder: int | None, path: str) -> str:
    if not path.startswith("/"):
        descriptor = _AT_FDCWD if folder is None else question.arguments[folder] & 0xFFFFFFFF
        start = "cwd" if descriptor == _AT_FDCWD else f"fd/{descriptor}"
        path = os.path.join(os.readlink(f"/proc/{question.pid}/{start}"), path)
    found = "/" + os.path.normpath(path).lstrip("/")
    if (again := _DESCRIPTOR.fullmatch(found)) is not None:
        opened = os.readlink(f"/proc/{question.pid}/fd/{again[1]}")
        return opened if opened.startswith("/") else found
    return found


def read_peer(question: Notification, memory: ProcessMemory) -> str | None:
    """Return the peer of a connect: `address:port`, or a path; None for other families."""
    try:
        data = memory.read(question.pid, min(question.arguments[2], 128), question.arguments[1])
    except (OSError, OverflowError):
        return None
    family = int.from_bytes(data[:2], "little")
    port = int.from_bytes(data[2:4])
    if family == socket.AF_INET and len(data) >= 8:
        return f"{socket.inet_ntop(socket.AF_INET, data[4:8])}:{port}"
    if family == socket.AF_INET6 and len(data) >= 24:
        return f"[{socket.inet_ntop(socket.AF_INET6, data[8:24])}]:{port}"
    if family == socket.AF_UNIX and data[2:3] not in (b"", b"\0"):
        return os.fsdecode(data[2:].partition(b"\0")[0])
    return None


def is_loopback(peer: str) -> bool:
    """Tell whether a peer is the sandbox's loopback."""
    return peer.startswith(("127.", "[::1]", "[::ffff:127.", "0.0.0.0:", "[::]:"))


def describe(operation: OperationKind, resource: str, mechanism: str, pid: int) -> Violation:
    """Make a violation, with the program and command line of the process."""
    return Violation(operation, printable(resource), mechanism, pid, _program(pid), _command_line(pid))


def write_of(path: str, pid: int) -> Violation:
    """Describe a write that is outside the boundary."""
    return describe(FS_WRITE, path, "mounts", pid)


def connect_of(peer: str, pid: int) -> Violation:
    """Describe a connection that is outside the boundary."""
    return describe(NET_CONNECT, peer, "network namespace", pid)


def _program(pid: int) -> str | None:
    try:
        return printable(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return None


def _command_line(pid: int) -> str | None:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read(1024).replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return None


def umask_of(pid: int) -> int:
    """Return the umask of a process."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            line = next(line for line in file if line.startswith("Umask:"))
        return int(line.split()[1], 8)
    except (OSError, StopIteration, ValueError):
        return 0o077
