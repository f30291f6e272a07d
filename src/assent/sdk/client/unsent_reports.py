"""Unsent reports, kept in Assent's home; the next program with the same token delivers them."""

# Paths are strings here, as in `assent.model`.
# ruff: noqa: PTH108, PTH118, PTH208

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator

from assent.model import AssentError
from assent.model.canonical_json import digest
from assent.platform.files import find_private, make_private_folder, write_private
from assent.platform.paths import assent_home

_FOLDER = "outbox"
_MOST_FILES = 10_000


class Backlog:
    """The unsent reports for one daemon and token: one file for each batch, named in order of age."""

    def __init__(self, url: str, token: str, home: str | None = None) -> None:
        self._home = home or assent_home(os.environ)
        self._folder = os.path.join(self._home, _FOLDER, digest(["assent.outbox.v1", url, token])[:24])

    @property
    def folder(self) -> str:
        """Return where it is kept."""
        return self._folder

    def keep(self, name: str, pieces: list[bytes]) -> bool:
        """Write reports to disk; return False if that fails."""
        try:
            if len(self.names()) >= _MOST_FILES:
                return False
            for folder in (self._home, os.path.dirname(self._folder), self._folder):  # noqa: PTH120 - as above
                make_private_folder(folder)
            write_private(os.path.join(self._folder, name), b"\n".join(pieces))
        except (OSError, AssentError):
            return False
        return True

    def names(self) -> list[str]:
        """Return what is kept, the oldest first."""
        try:
            return sorted(name for name in os.listdir(self._folder) if not name.startswith("."))
        except OSError:
            return []

    @contextlib.contextmanager
    def reading(self, name: str) -> Iterator[list[bytes]]:
        """Yield a batch by its name; nothing if another program delivers it, or has delivered it."""
        path = os.path.join(self._folder, name)
        with contextlib.ExitStack() as stack:
            try:
                lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
                stack.callback(os.close, lock)
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                held = find_private(path, suggestion="make its mode 0600")
            except (OSError, AssentError):
                held = None
            yield [] if held is None else held.split(b"\n")

    def drop(self, name: str) -> None:
        """Forget what was delivered."""
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(self._folder, name))
