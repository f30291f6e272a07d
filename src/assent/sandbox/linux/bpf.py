"""A small assembler for classic BPF, the language of seccomp filters."""

from __future__ import annotations

import struct
from typing import TypeAlias

Code: TypeAlias = tuple[tuple[int, int, int, int], ...]
"""Instructions: operation, jump if true, jump if false, operand."""

ALLOW = 0x7FFF0000
NOTIFY = 0x7FC00000
KILL = 0x80000000
_ERRNO = 0x00050000

_LOAD, _JEQ, _JGE, _JSET, _RET = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _ARGS = 0, 4, 16


def refuse(errno: int) -> int:
    """Return the action that makes a system call fail with this error."""
    return _ERRNO | errno


def answer(value: int) -> Code:
    """End with an action."""
    return ((_RET, 0, 0, value),)


def load_number() -> Code:
    """Load the number of the system call."""
    return ((_LOAD, 0, 0, _NUMBER),)


def load_arch() -> Code:
    """Load the ABI of the system call."""
    return ((_LOAD, 0, 0, _ARCH),)


def load_argument(index: int) -> Code:
    """Load the low half of an argument, which is enough for flags and socket families."""
    return ((_LOAD, 0, 0, _ARGS + 8 * index),)


def when_equal(value: int, then: Code) -> Code:
    """Run `then` only if the loaded value equals this."""
    return ((_JEQ, 0, len(then), value), *then)


def unless_equal(value: int, then: Code) -> Code:
    """Run `then` only if the loaded value differs."""
    return ((_JEQ, len(then), 0, value), *then)


def when_at_least(value: int, then: Code) -> Code:
    """Run `then` only if the loaded value is at least this."""
    return ((_JGE, 0, len(then), value), *then)


def when_any_bit(mask: int, then: Code) -> Code:
    """Run `then` only if one of these bits is set."""
    return ((_JSET, 0, len(then), mask), *then)


def assemble(code: Code) -> bytes:
    """Return the program in the kernel's format."""
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)
