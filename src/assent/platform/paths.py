"""Find Assent's home, the configuration files of each layer, the project and the workspace."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH100, PTH112, PTH116, PTH117, PTH118, PTH120

from __future__ import annotations

import os
import pwd
import sys
from typing import TYPE_CHECKING

import msgspec

from assent.catalog.workspace_roots import refuse_root
from assent.model import ConfigError, Workspace
from assent.platform.files import Content, check_owner, find_file, find_inside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MANAGED_FILE = "/etc/assent/assent.yaml"
FILE_NAME = "assent.yaml"
LONGEST_PATH = 4095
LARGEST_PROJECT_FILE = 256 << 10


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """All paths for one working directory."""

    home: str | None
    assent_home: str
    managed_file: str
    managed_owner: int
    user_file: str
    project_root: str | None
    workspace: Workspace

    @property
    def project_file(self) -> str | None:
        """The project's file, unless it is also another layer's."""
        if self.project_root is None:
            return None
        path = os.path.join(self.project_root, FILE_NAME)
        others = {os.path.realpath(self.user_file), os.path.realpath(self.managed_file)}
        return None if os.path.realpath(path) in others else path


def find_places(
    cwd: str,
    *,
    environ: Mapping[str, str] = os.environ,
    managed_file: str = MANAGED_FILE,
    managed_owner: int = 0,
) -> Places:
    """Find all paths for a working directory. The environment cannot move the managed file."""
    return Places(
        home=user_home(environ),
        assent_home=assent_home(environ),
        managed_file=managed_file,
        managed_owner=managed_owner,
        user_file=user_file(environ),
        project_root=project_root(cwd, environ),
        workspace=workspace_of(cwd, environ),
    )


def user_home(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the home directory, from `HOME` or else from the user database."""
    home = environ.get("HOME", "")
    if os.path.isabs(home):
        return os.path.normpath(home)
    return _database_home()


def assent_home(environ: Mapping[str, str] = os.environ, *, platform: str = sys.platform) -> str:
    """Return the folder of Assent's state: `ASSENT_HOME`, or the platform's data directory."""
    if chosen := environ.get("ASSENT_HOME"):
        if not os.path.isabs(chosen):
            # A relative path would point into the current project.
            raise ConfigError(f"ASSENT_HOME must be an absolute path, not `{chosen}`")
        return os.path.normpath(chosen)
    if platform == "darwin":
        return os.path.join(_known_home(environ), "Library", "Application Support", "assent")
    return os.path.join(_base_folder(environ, "XDG_DATA_HOME", ".local/share"), "assent")


def user_file(environ: Mapping[str, str] = os.environ) -> str:
    """Return the path of the user's configuration."""
    return os.path.join(_base_folder(environ, "XDG_CONFIG_HOME", ".config"), "assent", FILE_NAME)


def _base_folder(environ: Mapping[str, str], name: str, default: str) -> str:
    folder = environ.get(name, "")
    return os.path.normpath(folder if os.path.isabs(folder) else os.path.join(_known_home(environ), default))


def _known_home(environ: Mapping[str, str]) -> str:
    home = user_home(environ)
    if home is None:
        raise ConfigError("home directory unknown", suggestion="set HOME, or ASSENT_HOME and XDG_CONFIG_HOME")
    return home


def find_managed(path: str, owner: int = 0) -> Content | None:
    """Read the organisation's file; raise if anyone but its owner could have written it."""
    content = find_file(path)
    if content is None:
        return None
    folder = os.path.dirname(os.path.realpath(path))
    suggestion = "make root the owner, with mode 0755 for folders and 0644 for files"
    check_owner(path, content.status, (owner,), suggestion=suggestion)
    check_owner(folder, os.stat(folder), (owner,), suggestion=suggestion)
    return content


def find_project_file(path: str) -> Content | None:
    """Read a project's file; None if there is none. It must be small and inside the project."""
    return find_inside(*os.path.split(path), largest=LARGEST_PROJECT_FILE)


def project_root(cwd: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the nearest folder upward with `assent.yaml` or `.git`, else the cwd itself.

    One that cannot be a workspace is passed over while there is another: whoever may write in `.vscode` could put a
    `.git` there, and so leave the project's rules behind.
    """
    start = real_folder(cwd)
    if start is None:
        return None
    marked = [folder for folder in ancestors(start) if _marks_project(folder)]
    return next((folder for folder in marked if refuse_folder(folder, environ) is None), (*marked, start)[0])


def find_project(folder: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the project of a folder, which may not exist yet; None if there is none."""
    above = (each for path in _both_names(folder) for each in ancestors(path))
    return next((each for each in above if _marks_project(each) and refuse_folder(each, environ) is None), None)


def workspace_of(cwd: str, environ: Mapping[str, str] = os.environ) -> Workspace:
    """Return the project root as the workspace; without a project the cwd, as a guess; neither if it cannot be one.

    A root that was reached through a symbolic link is listed under both names.
    """
    root, start = project_root(cwd, environ), real_folder(cwd)
    if root is None or start is None:
        return Workspace()
    guessed = not _marks_project(root) or refuse_folder(root, environ) is not None
    root = start if guessed else root
    shown = os.path.abspath(cwd)
    named = next((folder for folder in ancestors(shown) if os.path.realpath(folder) == root), root)
    if any(refuse_folder(name, environ, named=not guessed) for name in (root, named)):
        return Workspace()
    return Workspace(tuple(dict.fromkeys((root, named))), guessed)


def refuse_folder(folder: str, environ: Mapping[str, str] = os.environ, *, named: bool = True) -> str | None:
    """Return why a folder cannot be a workspace; None if it can. See `refuse_root`."""
    homes = [user_home(environ), _database_home()]
    own = assent_home(environ) if homes[0] is not None or environ.get("ASSENT_HOME") else None
    return refuse_root(_both_names(folder), _both_names(*homes), _both_names(own), named=named)


def _both_names(*paths: str | None) -> tuple[str, ...]:
    names = (name for path in paths if path is not None for name in (os.path.abspath(path), os.path.realpath(path)))
    return tuple(dict.fromkeys(names))


def _database_home() -> str | None:
    try:
        home = pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        return None
    return os.path.normpath(home) if os.path.isabs(home) else None


def real_folder(path: str) -> str | None:
    """Resolve symbolic links to a folder; None if it does not exist."""
    try:
        if len(os.fsencode(path)) > LONGEST_PATH or not path:
            return None
        folder = os.path.realpath(path, strict=True)
    except (OSError, ValueError, RecursionError):
        return None
    return folder if os.path.isdir(folder) else None


def ancestors(folder: str) -> Iterator[str]:
    """Yield a folder and its ancestors, nearest first."""
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _marks_project(folder: str) -> bool:
    return any(os.path.lexists(os.path.join(folder, name)) for name in (FILE_NAME, ".git"))
