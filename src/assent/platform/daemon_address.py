"""The address of this user's daemon: socket and owner's token in Assent's home."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

SOCKET_NAME = "assent.sock"
ASK_FOLDER = "ask"
"""The folder of a second socket that accepts only requests of agents, whatever the token."""
TOKEN_FILE = "token"  # noqa: S105 - a file's name
"""The token of the owner's command line."""
_LONGEST = 100
"""The longest path that fits into a socket address."""


@contextlib.contextmanager
def short_name(folder: str) -> Iterator[str]:
    """Yield a path of the folder that is short enough for a socket address."""
    if len(os.fsencode(folder)) + len(SOCKET_NAME) < _LONGEST:
        yield folder
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
