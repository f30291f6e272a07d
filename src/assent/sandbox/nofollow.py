"""Reaching into folders that a sandboxed command writes: whatever links it put there are not followed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

_FLAGS = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def opened(path: str) -> Iterator[int]:
    """Lend a folder by its real path, or raise `OSError`: also where one on the way has become a link."""
    descriptor = os.open("/", _FLAGS)
    try:
        for name in filter(None, path.split("/")):
            inner = os.open(name, _FLAGS, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def made(folder: int, name: str) -> Iterator[int]:
    """Lend a folder inside another, made if need be; whatever else has its name is removed."""
    try:
        os.mkdir(name, 0o700, dir_fd=folder)
    except FileExistsError:
        if not _is_folder(folder, name):
            os.unlink(name, dir_fd=folder)
            os.mkdir(name, 0o700, dir_fd=folder)
    descriptor = os.open(name, _FLAGS, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _is_folder(folder: int, name: str) -> bool:
    try:
        os.close(os.open(name, _FLAGS, dir_fd=folder))
    except OSError:
        return False
    return True
