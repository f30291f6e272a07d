"""Where strategies come from: Assent's own, the user's, and folders that a person named. No client names another."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH116, PTH118, PTH120, PTH207

from __future__ import annotations

import glob
import os
import stat

import msgspec

from assent.model import ConfigError, ForbiddenError, within
from assent.platform.paths import find_project
from assent.runs.strategies.strategy import Strategy, load_strategy

BUNDLED = os.path.join(os.path.dirname(__file__), "bundled")
_ENDINGS = (".yaml", ".yml")


class Library(msgspec.Struct, frozen=True):
    """The folders whose strategies anybody may run who may start a run."""

    folders: tuple[str, ...] = (BUNDLED,)

    def list(self) -> list[tuple[str, Strategy]]:
        """Return what lies ready; a file that cannot be read is left out."""
        found = []
        files = (glob.glob(os.path.join(glob.escape(folder), "*.yaml")) for folder in self.folders)
        for path in (path for each in files for path in sorted(each)):
            try:
                found.append((path, load_strategy(path)))
            except ConfigError:
                continue
        return found

    def find(self, wanted: str, cwd: str | None, *, anywhere: bool) -> str:
        """Return the file of a strategy, by its name or its path; `anywhere`: also in a folder that is none of these.

        Raises `ConfigError`, or `ForbiddenError` for a path that leads elsewhere: whoever starts runs could have had
        one of them write what is there.
        """
        if "/" not in wanted and not wanted.endswith(_ENDINGS):
            wanted = self._by_name(wanted)
        if not wanted.startswith("/"):
            if cwd is None:
                raise ConfigError("strategyPath must be absolute, or relative to a cwd that is given")
            wanted = os.path.join(cwd, wanted)
        real = os.path.realpath(wanted)
        if os.path.dirname(real) in map(os.path.realpath, self.folders):
            return _check(real)
        if anywhere:
            return wanted
        named = ", ".join(f"`{folder}`" for folder in self.folders)
        raise ForbiddenError(f"only an admin may start `{wanted}`: strategies of others come from {named}")

    def check_folder(self, cwd: str) -> None:
        """Raise `ConfigError` for a folder in which a run could write what others run as a strategy."""
        for folder in map(os.path.realpath, self.folders):
            if within(cwd, folder) or within(folder, cwd):
                raise ConfigError(f"`{cwd}` cannot be a workspace: strategies come from `{folder}`")

    def _by_name(self, wanted: str) -> str:
        ready = {strategy.name: path for path, strategy in self.list()}
        if wanted not in ready:
            raise ConfigError(f"there is no strategy `{wanted}`; there are {', '.join(ready)}")
        return ready[wanted]


def open_library(config_home: str | None, folders: tuple[str, ...] = ()) -> Library:
    """Return the library of a daemon, or raise `ConfigError` for a folder that agents may write."""
    for folder in folders:
        project = find_project(folder)
        if project is not None:
            reason = f"strategies cannot come from `{folder}`: agents may write in the project `{project}`"
            raise ConfigError(reason, suggestion="name a folder outside of every project")
    own = (os.path.join(config_home, "strategies"),) if config_home else ()
    return Library((BUNDLED, *own, *folders))


def _check(path: str) -> str:
    """Return a file of the library that nobody but its owner can have written."""
    for each in (path, os.path.dirname(path)):
        try:
            status = os.stat(each)
        except OSError as error:
            raise ConfigError(f"`{each}` cannot be read: {error.strerror}") from None
        if status.st_mode & stat.S_IWOTH:
            raise ConfigError(f"`{each}` can be written by others", suggestion=f"chmod o-w {each}")
    return path
