"""Small helpers for file descriptors: files in memory, complete writes, closing many."""

from __future__ import annotations

import array
import contextlib
import os
from collections.abc import Sequence


def memory_file(name: str, data: bytes = b"") -> int:
    """Return a file in memory with this content, to be read from its beginning."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
    fill(descriptor, data)
    return descriptor


def fill(descriptor: int, data: bytes) -> None:
    """Write the content of a file, to be read from its beginning."""
    write_all(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes, in as many writes as the kernel needs."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def close_all(descriptors: Sequence[int] | array.array[int]) -> None:
    """Close descriptors; negative ones are none."""
    for descriptor in descriptors:
        if descriptor >= 0:
            with contextlib.suppress(OSError):
                os.close(descriptor)
