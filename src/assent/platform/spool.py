"""A spool folder in Assent's home for events written while no daemon runs."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH108, PTH118, PTH208

from __future__ import annotations

import contextlib
import os
import time

from assent.platform.files import find_private, make_private_folder, write_private

_FOLDER = "spool"
_MOST = 1000


def leave(home: str, data: bytes) -> None:
    """Append an item durably."""
    folder = os.path.join(home, _FOLDER)
    make_private_folder(folder)
    write_private(os.path.join(folder, f"{time.time_ns():020d}-{os.urandom(8).hex()}"), data)


def list_left(home: str) -> list[str]:
    """Return the names of the oldest items, a limited number at once."""
    try:
        names = os.listdir(os.path.join(home, _FOLDER))
    except FileNotFoundError:
        return []
    return sorted(name for name in names if not name.startswith("."))[:_MOST]


def read_left(home: str, name: str) -> bytes:
    """Return the content of an item."""
    return find_private(os.path.join(home, _FOLDER, name), suggestion="make its mode 0600") or b""


def drop_left(home: str, name: str) -> None:
    """Delete an item after it was imported."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(home, _FOLDER, name))
