"""Seccomp user notifications: receive system calls that wait, and answer them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct

import msgspec

_RECEIVE, _SEND, _IS_VALID, _ADD_FD, _SET_FLAGS = 0xC0502100, 0xC0182101, 0x40082102, 0x40182103, 0x40082104
_NOTIFICATION = struct.Struct("=QIIiIQ6Q")
_RESPONSE = struct.Struct("=QqiI")
_FD = struct.Struct("=QIIII")
_CONTINUE, _SEND_WITH_FD, _SYNC_WAKE_UP = 1, 2, 1
_OPENAT2, _RESOLVE_NO_SYMLINKS, _AT_FDCWD = 437, 4, -100


class Notification(msgspec.Struct, frozen=True, gc=False):
    """A system call that waits."""

    id: int
    pid: int
    number: int
    arguments: tuple[int, ...]


class Listener:
    """The descriptor that the kernel sends notifications to."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._buffer = bytearray(_NOTIFICATION.size)
        self._empty = bytes(_NOTIFICATION.size)
        # Caller and supervisor take turns on one processor: much quicker, on kernels that support it.
        with contextlib.suppress(OSError):
            fcntl.ioctl(descriptor, _SET_FLAGS, _SYNC_WAKE_UP)

    def receive(self) -> Notification | None:
        """Return the next notification; None if its process has ended."""
        self._buffer[:] = self._empty
        try:
            fcntl.ioctl(self.descriptor, _RECEIVE, self._buffer, True)  # noqa: FBT003 - into this buffer
        except OSError:
            return None
        found = _NOTIFICATION.unpack(self._buffer)
        return Notification(found[0], found[1], found[3], found[6:])

    def let(self, question: int) -> None:
        """Let the kernel continue with the system call."""
        self._send(_RESPONSE.pack(question, 0, 0, _CONTINUE))

    def refuse(self, question: int, errno: int) -> None:
        """Make the call fail."""
        self._send(_RESPONSE.pack(question, 0, -errno, 0))

    def hand_in(self, question: int, descriptor: int, *, close_on_exec: bool) -> None:
        """Answer the call with a file that was opened here."""
        flags = os.O_CLOEXEC if close_on_exec else 0
        try:
            fcntl.ioctl(self.descriptor, _ADD_FD, _FD.pack(question, _SEND_WITH_FD, descriptor, 0, flags))
        except OSError:
            return

    def is_waiting(self, question: int) -> bool:
        """Tell whether the system call still waits: then what was read before belongs to it."""
        try:
            fcntl.ioctl(self.descriptor, _IS_VALID, question.to_bytes(8, "little"))
        except OSError:
            return False
        return True

    def _send(self, response: bytes) -> None:
        try:
            fcntl.ioctl(self.descriptor, _SEND, response)
        except OSError:
            return


def open_plain(path: str, flags: int, mode: int) -> int:
    """Open a path without following symbolic links, and without waiting for the other end of a pipe."""
    all_flags = flags | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
    how = struct.pack("=QQQ", all_flags, mode if flags & os.O_CREAT else 0, _RESOLVE_NO_SYMLINKS)
    import ctypes  # noqa: PLC0415 - slow to load, and needed only after a yes

    libc = ctypes.CDLL(None, use_errno=True)
    found: int = libc.syscall(_OPENAT2, _AT_FDCWD, os.fsencode(path), how, ctypes.c_size_t(len(how)))
    if found < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    if not flags & os.O_NONBLOCK:
        os.set_blocking(found, True)
    return found
