"""The second lock: the same paths once more, as Landlock rules that hold even if the mounts had a mistake."""

from __future__ import annotations

import functools

import msgspec

from assent.model import SandboxProfile

_CREATE_RULESET = 444
_VERSION, _ERRATA = 1, 2

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_MAKE_AND_REMOVE = 0x1FF0
"""Making and removing files, folders and all kinds of special files."""
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_SCOPES = 3
"""No abstract Unix sockets of others, no signals to others."""

LOWEST = 3
"""Before this version a file could be cut short by whoever was refused to write it."""


class Locks(msgspec.Struct, frozen=True):
    """What to tell Landlock."""

    handled: int
    scoped: int
    rules: tuple[tuple[str, int], ...]
    """Paths as seen inside, and the rights below them; rights that a file can not have are left out for it."""

    def plan(self) -> tuple[int, int, int, tuple[tuple[str, int], ...]]:
        """Return it in plain values."""
        return self.handled, self.scoped, _FILE_RIGHTS, self.rules


@functools.cache
def version() -> int:
    """Return the version of Landlock that the kernel speaks; 0 if none."""
    return _ask_kernel(_VERSION)


@functools.cache
def errata() -> int:
    """Return the mended faults that the kernel lists, as bits."""
    return _ask_kernel(_ERRATA)


def _ask_kernel(flag: int) -> int:
    import ctypes  # noqa: PLC0415 - slow to load, and what the kernel says is remembered

    found: int = ctypes.CDLL(None).syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(flag))
    return max(found, 0)


def locks_for(profile: SandboxProfile, writable: tuple[str, ...], abi: int) -> Locks:
    """Say the profile's paths in Landlock's words; `writable` are private places that it may write besides."""
    write = _WRITE_FILE | _MAKE_AND_REMOVE | _REFER | _TRUNCATE | (_IOCTL_DEV if abi >= 5 else 0)
    read = 0 if "/" in profile.read_roots else _EXECUTE | _READ_FILE | _READ_DIR
    rules = [(path, write | read) for path in (*profile.write_roots, *writable)]
    rules += [("/proc", _WRITE_FILE | _TRUNCATE | read)]
    rules += [(path, read) for path in profile.read_roots if read]
    return Locks(write | read, _SCOPES if abi >= 6 else 0, tuple(rules))


def locks_alone(seen: tuple[str, ...], devices: tuple[str, ...], abi: int) -> Locks:
    """Say what may be seen where nothing else hides the rest, and the devices that may be written; nothing may."""
    write = _WRITE_FILE | _MAKE_AND_REMOVE | _REFER | _TRUNCATE | (_IOCTL_DEV if abi >= 5 else 0)
    read = _EXECUTE | _READ_FILE | _READ_DIR
    rules = [(path, read) for path in seen]
    rules += [(path, read | _WRITE_FILE | _IOCTL_DEV & write) for path in devices]
    return Locks(write | read, _SCOPES if abi >= 6 else 0, tuple(rules))
