"""Placeholders for protected paths that do not exist: a mount needs a file or folder to cover.

Each placeholder is recorded in a journal before it is made (a folder with a slash at its end). All sandboxes that need
it share it, and the last one removes it. The next sandbox removes placeholders of a killed one.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import os
from collections.abc import Iterable, Iterator
from typing import Self

import msgspec

from assent.platform.files import make_private_folder
from assent.platform.paths import ancestors
from assent.sandbox import nofollow
from assent.sandbox.errors import Unavailable
from assent.sandbox.profiles.git_repositories import HOOKS

FOLDER_MODE, HOOK_MODE = 0o755, 0o444
"""git would take an executable folder with the name of a hook for a program."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OLD = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LOCK = "lock"
_SUFFIX = ".places"
_CONTENTS = {"commondir": b".\n"}
"""The content of files that must not be empty: the common folder of a store is the store."""
_CANNOT = (errno.EACCES, errno.EPERM, errno.EROFS)


class Placeholders:
    """The placeholders of one sandbox."""

    def __init__(
        self,
        folder: str,
        paths: Iterable[str],
        owner: tuple[int, int] | None = None,
        files: frozenset[str] = frozenset(),
    ) -> None:
        """Make missing paths as folders, which git ignores; `files` as files, because git reads those.

        `folder` holds the journal; `owner` owns the workspace.
        """
        self._folder = folder
        self._owner = owner
        self._files = files
        self._journal = os.path.join(folder, os.urandom(8).hex() + _SUFFIX)
        make_private_folder(folder)
        with _locked(folder):
            live = _sweep(folder)
            missing = [e for path in paths if (e := self._entry(path)) in live or not os.path.lexists(path)]
            self.descriptor = _write_down(self._journal, missing)
            # A process with this descriptor keeps the placeholders: bubblewrap would create missing paths.
            try:
                new = self._make(entry for entry in missing if entry not in live)
                self.made = tuple(_path(entry) for entry in missing if entry in live or entry in new)
            except (OSError, Unavailable) as error:
                self._remove(frozenset())
                raise Unavailable(f"a protected path cannot be held: {error}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def add(self, path: str) -> bool:
        """Make one more, for a path that was just removed; tell whether it exists now, or raise `Unavailable`."""
        with _locked(self._folder):
            entries, entry = _read(self._journal), self._entry(path)
            if entry not in entries:
                os.pwrite(self.descriptor, msgspec.json.encode([*entries, entry]), 0)  # longer than the old content
            try:
                return bool(self._make([entry]))
            except OSError:
                return False

    def release(self) -> None:
        """Remove the placeholders that no other sandbox needs. A second call does nothing."""
        if self.descriptor >= 0:
            with _locked(self._folder):
                self._remove(_sweep(self._folder, but=self._journal))

    def _remove(self, needed: frozenset[str]) -> None:
        _remove_all(self._journal, needed)
        os.close(self.descriptor)
        self.descriptor = -1

    def _entry(self, path: str) -> str:
        return path if path in self._files else path + "/"

    def _make(self, entries: Iterable[str]) -> list[str]:
        """Make placeholders, and return those that were made: none where no process can create files.

        Raise `Unavailable` where the folder is closed now and the command could open it.
        """
        made = []
        for place, group in itertools.groupby(entries, lambda entry: os.path.dirname(_path(entry))):
            with self._trying(place), nofollow.open_folder(place) as folder:
                for entry in group:
                    with self._trying(place):
                        self._make_one(folder, entry)
                        made.append(entry)
        return made

    @contextlib.contextmanager
    def _trying(self, place: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno not in _CANNOT:
                raise
            if (closed := _find_closed(place)) is not None and os.stat(closed).st_uid == self._uid:
                raise Unavailable(
                    f"{closed} is closed to its owner, and the command could open it: run `chmod u+wx` on it first"
                ) from None

    @property
    def _uid(self) -> int:
        return os.geteuid() if self._owner is None else self._owner[0]

    def _make_one(self, folder: int, entry: str) -> None:
        name = os.path.basename(_path(entry))
        if entry.endswith("/"):
            os.mkdir(name, FOLDER_MODE if name not in HOOKS else HOOK_MODE, dir_fd=folder)
        else:
            with open(os.open(name, _NEW, 0o644, dir_fd=folder), "wb") as file:
                file.write(_content(name))
        if self._owner is not None:
            os.chown(name, *self._owner, dir_fd=folder, follow_symlinks=False)


def _find_closed(place: str) -> str | None:
    """Return the first folder down to this one that the process cannot enter, or cannot write at the end."""
    way = [*reversed(list(ancestors(place)))]
    return next((f for f in way if not os.access(f, os.X_OK | (os.W_OK if f == place else 0))), None)


def _path(entry: str) -> str:
    return entry.removesuffix("/")


def _content(name: str) -> bytes:
    return _CONTENTS.get(name, b"")


def _write_down(journal: str, paths: list[str]) -> int:
    """Write the journal, and keep it locked while any process has it open."""
    try:
        descriptor = os.open(journal, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(descriptor, msgspec.json.encode(paths))
    except OSError as error:
        raise Unavailable(f"{journal} cannot be written: {error.strerror}") from None
    return descriptor


@contextlib.contextmanager
def _locked(folder: str) -> Iterator[None]:
    descriptor = os.open(os.path.join(folder, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _sweep(folder: str, but: str = "") -> frozenset[str]:
    """Remove the placeholders of dead sandboxes, and return those of living ones."""
    dead, live = [], set[str]()
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if not name.endswith(_SUFFIX) or path == but:
            continue
        if _is_live(path):
            live.update(_read(path))
        else:
            dead.append(path)
    for path in dead:
        _remove_all(path, frozenset(live) | (frozenset(_read(but)) if but else frozenset()))
    return frozenset(live)


def _is_live(journal: str) -> bool:
    try:
        descriptor = os.open(journal, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _read(journal: str) -> list[str]:
    try:
        with open(journal, "rb") as file:
            return msgspec.json.decode(file.read(), type=list[str])
    except (OSError, msgspec.MsgspecError):
        return []


def _remove_all(journal: str, needed: frozenset[str]) -> None:
    left = (entry for entry in reversed(_read(journal)) if entry not in needed)
    for place, group in itertools.groupby(left, lambda entry: os.path.dirname(_path(entry))):
        with contextlib.suppress(OSError), nofollow.open_folder(place) as folder:
            for entry in group:
                _remove_one(folder, entry)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(journal)


def _remove_one(folder: int, entry: str) -> None:
    """Remove a placeholder, unless it was replaced."""
    name = os.path.basename(_path(entry))
    with contextlib.suppress(OSError):
        if entry.endswith("/"):
            os.rmdir(name, dir_fd=folder)
            return
        content = _content(name)
        with open(os.open(name, _OLD, dir_fd=folder), "rb") as file:
            same = file.read(len(content) + 1) == content
        if same:
            os.unlink(name, dir_fd=folder)
