"""Filters of system calls, as the kernel reads them: a small assembler for classic BPF."""

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
    """Return the answer that makes a call fail with this error."""
    return _ERRNO | errno


def answer(value: int) -> Code:
    """End with an answer."""
    return ((_RET, 0, 0, value),)


def load_number() -> Code:
    """Look at the number of the call."""
    return ((_LOAD, 0, 0, _NUMBER),)


def load_arch() -> Code:
    """Look at the ABI of the call."""
    return ((_LOAD, 0, 0, _ARCH),)


def load_argument(index: int) -> Code:
    """Look at the low half of an argument: all that the flags and families compared here have."""
    return ((_LOAD, 0, 0, _ARGS + 8 * index),)


def when_equal(value: int, then: Code) -> Code:
    """Go through `then` only if what was looked at is this value."""
    return ((_JEQ, 0, len(then), value), *then)


def unless_equal(value: int, then: Code) -> Code:
    """Go through `then` only if what was looked at is another value."""
    return ((_JEQ, len(then), 0, value), *then)


def when_at_least(value: int, then: Code) -> Code:
    """Go through `then` only if what was looked at is this large."""
    return ((_JGE, 0, len(then), value), *then)


def when_any_bit(mask: int, then: Code) -> Code:
    """Go through `then` only if one of these bits is set."""
    return ((_JSET, 0, len(then), mask), *then)


def assemble(code: Code) -> bytes:
    """Return the program as the kernel takes it."""
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)
