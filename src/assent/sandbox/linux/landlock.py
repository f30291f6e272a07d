"""The paths of a profile as Landlock rules: a second lock, in case the mounts have a mistake."""

from __future__ import annotations

import functools

import msgspec

from assent.model import SandboxProfile

_CREATE_RULESET = 444
_VERSION, _ERRATA = 1, 2

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_MAKE_AND_REMOVE = 0x1FF0
"""Creating and removing files, folders and special files."""
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_SCOPES = 3
"""No abstract Unix sockets of other processes, no signals to them."""

LOWEST = 3
"""Before this version a process without the right to write a file could truncate it."""


class Locks(msgspec.Struct, frozen=True):
    """A Landlock ruleset."""

    handled: int
    scoped: int
    rules: tuple[tuple[str, int], ...]
    """Paths inside, and the rights below them. A file gets only the rights that files can have."""

    def plan(self) -> tuple[int, int, int, tuple[tuple[str, int], ...]]:
        """Return the ruleset as plain values."""
        return self.handled, self.scoped, _FILE_RIGHTS, self.rules


@functools.cache
def version() -> int:
    """Return the kernel's version of Landlock; 0 if it has none."""
    return _ask_kernel(_VERSION)


@functools.cache
def errata() -> int:
    """Return the kernel's list of fixed faults, as bits."""
    return _ask_kernel(_ERRATA)


def _ask_kernel(flag: int) -> int:
    import ctypes  # noqa: PLC0415 - slow to load, and what the kernel says is remembered

    found: int = ctypes.CDLL(None).syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(flag))
    return max(found, 0)


def locks_for(profile: SandboxProfile, writable: tuple[str, ...], abi: int) -> Locks:
    """Convert the paths of a profile to a ruleset; `writable` are private folders that may be written too."""
    write = _WRITE_FILE | _MAKE_AND_REMOVE | _REFER | _TRUNCATE | (_IOCTL_DEV if abi >= 5 else 0)
    read = 0 if "/" in profile.read_roots else _EXECUTE | _READ_FILE | _READ_DIR
    rules = [(path, write | read) for path in (*profile.write_roots, *writable)]
    rules += [("/proc", _WRITE_FILE | _TRUNCATE | read)]
    rules += [(path, read) for path in profile.read_roots if read]
    return Locks(write | read, _SCOPES if abi >= 6 else 0, tuple(rules))


def locks_alone(seen: tuple[str, ...], devices: tuple[str, ...], abi: int) -> Locks:
    """Make a read-only ruleset for use without mounts: readable paths, and devices that may be written."""
    write = _WRITE_FILE | _MAKE_AND_REMOVE | _REFER | _TRUNCATE | (_IOCTL_DEV if abi >= 5 else 0)
    read = _EXECUTE | _READ_FILE | _READ_DIR
    rules = [(path, read) for path in seen]
    rules += [(path, read | _WRITE_FILE | _IOCTL_DEV & write) for path in devices]
    return Locks(write | read, _SCOPES if abi >= 6 else 0, tuple(rules))
