"""Open folders that a sandboxed command can write, without following any link that it put there."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

_FLAGS = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def open_folder(path: str) -> Iterator[int]:
    """Open a folder by its real path, or raise `OSError`: also if a folder on the way became a link."""
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
def make_folder(folder: int, name: str) -> Iterator[int]:
    """Open a folder inside another and create it if needed; anything else with its name is removed."""
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
