"""Restore mounts that were lost inside a sandbox because a file outside was replaced.

It runs as `python -I -S FILE NAMESPACE KIND PATH …`, outside the sandbox and single-threaded, as the kernel requires:
it enters the sandbox's mount namespace, mounts, and ends. It never follows links.
"""

import _ctypes
import fcntl
import posix
import sys

_OPEN_TREE, _MOVE_MOUNT, _FSOPEN, _FSCONFIG, _FSMOUNT, _MOUNT_SETATTR = 428, 429, 430, 431, 432, 442
_SETNS = {"x86_64": 308, "aarch64": 268}.get(posix.uname().machine, 0)
_GET_OWNER = 0xB701
_NEW_MOUNTS, _NEW_USER = 0x20000, 0x10000000
_CLONE, _CLOEXEC, _NO_FOLLOW, _EMPTY, _RECURSIVE, _HERE = 1, 0o2000000, 0x100, 0x1000, 0x8000, -100
_READ_ONLY, _NO_SETUID, _NO_DEVICES = 1, 2, 4
_SET_STRING, _CREATE, _FROM_DESCRIPTOR = 1, 6, 4


class _Long(_ctypes._SimpleCData):  # type: ignore[type-arg]  # noqa: SLF001 - what `ctypes.c_long` is
    _type_ = "l"


class _Function(_ctypes.CFuncPtr):
    _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
    _restype_ = _Long


_syscall = _Function(_ctypes.dlsym(_ctypes.dlopen(None, 0), "syscall"))  # type: ignore[arg-type]  # as `ctypes` does


def main(argv: list[str]) -> None:
    """Restore all given mounts, or exit with an error message."""
    _enter(int(argv[1]))
    for kind, path in zip(argv[2::2], argv[3::2], strict=True):
        try:
            _lay(kind, path.encode("utf-8", "surrogateescape"))
        except FileNotFoundError:
            continue  # removed again: the next check finds it
        except OSError as error:
            sys.exit(f"{path}: {error.strerror}")


def _enter(mounts: int) -> None:
    owner = fcntl.ioctl(mounts, _GET_OWNER)
    if posix.fstat(owner).st_ino != posix.stat("/proc/self/ns/user").st_ino:
        _do(_SETNS, owner, _NEW_USER)
    _do(_SETNS, mounts, _NEW_MOUNTS)


def _lay(kind: str, path: bytes) -> None:
    if kind == "hide folder":
        made = _do(_FSOPEN, b"tmpfs", 1)
        _do(_FSCONFIG, made, _SET_STRING, b"mode", b"0000", 0)
        _do(_FSCONFIG, made, _CREATE, None, None, 0)
        tree = _do(_FSMOUNT, made, 1, _NO_SETUID | _NO_DEVICES)
    else:
        source = b"/dev/null" if kind == "hide file" else path
        tree = _do(_OPEN_TREE, _HERE, source, _CLONE | _CLOEXEC | _NO_FOLLOW | _RECURSIVE)
        limits = _NO_SETUID | _NO_DEVICES | (0 if kind == "keep" else _READ_ONLY)
        wanted = limits.to_bytes(8, sys.byteorder) + bytes(24)
        _do(_MOUNT_SETATTR, tree, b"", _EMPTY | _RECURSIVE, wanted, len(wanted))
    _do(_MOVE_MOUNT, tree, b"", _HERE, path, _FROM_DESCRIPTOR)


def _do(*words: "int | bytes | None") -> int:
    found: int = _syscall(*words)
    if found < 0:
        number = _ctypes.get_errno()
        raise OSError(number, posix.strerror(number), words[0])
    return found


if __name__ == "__main__":
    main(sys.argv)
