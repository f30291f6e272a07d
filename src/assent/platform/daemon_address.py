"""Where the daemon of this user is found: its socket and its owner's token, both in Assent's home."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

SOCKET_NAME = "assent.sock"
ASK_FOLDER = "ask"
"""Holds a second socket of the same name, over which one can ask and nothing else, whatever one's token."""
TOKEN_FILE = "token"  # noqa: S105 - a file's name
"""What the command line of the owner answers with."""
_LONGEST = 100
"""Names longer than this do not fit into a socket's address."""


@contextlib.contextmanager
def short_name(folder: str) -> Iterator[str]:
    """Lend a folder's name that fits into a socket's address, however long the real one is."""
    if len(os.fsencode(folder)) + len(SOCKET_NAME) < _LONGEST:
        yield folder
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
