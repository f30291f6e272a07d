"""Load the policy layers for a working directory, once or kept up to date."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH116

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from assent.config.trust import is_trusted, trust_file
from assent.model import ConfigError, Layer, Mode, Policy, Workspace
from assent.platform.files import Content, find_file
from assent.platform.paths import MANAGED_FILE, Places, find_managed, find_places, find_project_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from assent.config.assent_yaml import Assentfile

Stamp: TypeAlias = tuple[int, ...]
ProjectParser: TypeAlias = "Callable[[bytes, str, bool], Assentfile]"
"""Parses a project's file from its bytes, its path, and whether the user trusts it."""

# A file changed twice within one tick of the file system's clock keeps its stamp, so a recent stamp proves little.
_SETTLED_AFTER = 50_000_000


class Layers(msgspec.Struct, frozen=True, kw_only=True):
    """The policies, most trusted first, and the workspace."""

    policies: tuple[Policy, ...] = ()
    workspace: Workspace = Workspace()
    notices: tuple[str, ...] = ()
    """Notices for the user, such as ignored rules."""


def load_layers(
    cwd: str,
    *,
    environ: Mapping[str, str] = os.environ,
    managed_file: str = MANAGED_FILE,
    managed_owner: int = 0,
) -> Layers:
    """Load every layer for a working directory; raise `ConfigError` for an invalid file."""
    return _load(
        find_places(cwd, environ=environ, managed_file=managed_file, managed_owner=managed_owner), parse_project
    )


class LivePolicies:
    """The layers for a long-running process. Project and workspace stay those of the start."""

    def __init__(
        self,
        cwd: str,
        *,
        environ: Mapping[str, str] = os.environ,
        managed_file: str = MANAGED_FILE,
        managed_owner: int = 0,
        parse: ProjectParser | None = None,
    ) -> None:
        self._parse = parse or parse_project
        self._places = find_places(cwd, environ=environ, managed_file=managed_file, managed_owner=managed_owner)
        self._lock = threading.Lock()
        files = (managed_file, self._places.user_file, self._places.project_file)
        self._files = (*filter(None, files), trust_file(self._places.assent_home))
        self._stamps, self._settled = _read_stamps(self._files)
        self._good = self._shown = _load(self._places, self._parse)
        self.fault: str | None = None
        """Why the current files are not in force."""

    @property
    def notices(self) -> tuple[str, ...]:
        """Notices about the layers in force."""
        return self._shown.notices

    def current(self) -> Layers:
        """Return the layers, reloaded if a file changed. While a file is invalid, the previous ones stay in force."""
        with self._lock:
            stamps, settled = _read_stamps(self._files)
            if stamps != self._stamps or not self._settled:
                self._reload()
                self._stamps, self._settled = stamps, settled
            return self._shown

    def _reload(self) -> None:
        try:
            self._good = self._shown = _load(self._places, self._parse)
            self.fault = None
        except ConfigError as error:
            self.fault = str(error)
            notice = f"the previous rules stay in force: {error}"
            self._shown = msgspec.structs.replace(self._good, notices=(notice, *self._good.notices))


def _read_stamps(files: tuple[str, ...]) -> tuple[tuple[Stamp, ...], bool]:
    stamps = tuple(_stamp(file) for file in files)
    newest = max(stamp[-1] for stamp in stamps)
    return stamps, time.time_ns() - newest > _SETTLED_AFTER


def _stamp(path: str) -> Stamp:
    try:
        status = os.stat(path)
    except OSError as error:
        return (error.errno or 0, 0)
    # ctime, unlike mtime, cannot be set back.
    return (status.st_mtime_ns, status.st_size, status.st_ino, status.st_dev, status.st_ctime_ns)


def _load(places: Places, parse: ProjectParser) -> Layers:
    files = [file for file in (_managed(places), _user(places), _project(places, parse)) if file is not None]
    fixed = [name for file in files for root in file.settings.workspace for name in (root, os.path.realpath(root))]
    found = Workspace() if fixed and places.workspace.guessed else places.workspace
    policies = tuple(file.policy for file in files)
    return Layers(
        policies=policies,
        workspace=Workspace(tuple(dict.fromkeys((*found.roots, *fixed))), found.guessed),
        notices=tuple(notice for policy in policies for notice in _describe_ignored(policy)),
    )


def _parse(content: Content, file: str, layer: Layer, *, home: str | None) -> Assentfile:
    from assent.config.assent_yaml import parse_assentfile  # noqa: PLC0415 - as in `parse_project`

    return parse_assentfile(content.data, file, layer=layer, home=home)


def _managed(places: Places) -> Assentfile | None:
    content = find_managed(places.managed_file, places.managed_owner)
    if content is None:
        return None
    return _parse(content, places.managed_file, Layer.MANAGED, home=places.home)


def _user(places: Places) -> Assentfile | None:
    content = find_file(places.user_file)
    if content is None:
        return None
    return _parse(content, places.user_file, Layer.USER, home=places.home)


def parse_project(data: bytes, path: str, trusted: bool) -> Assentfile:  # noqa: FBT001 - as `ProjectParser` says
    """Parse a project's file."""
    from assent.config.assent_yaml import parse_assentfile  # noqa: PLC0415 - slow to load, and most projects have no such file

    return parse_assentfile(data, path, layer=Layer.PROJECT, trusted=trusted)


def _project(places: Places, parse: ProjectParser) -> Assentfile | None:
    path = places.project_file
    content = None if path is None else find_project_file(path)
    if path is None or content is None:
        return None
    # Compare and parse the same bytes: the file may change in between.
    return parse(content.data, path, is_trusted(path, content.data, home=places.assent_home))


def _describe_ignored(policy: Policy) -> list[str]:
    if policy.layer is not Layer.PROJECT:
        return []
    notices = []
    count = len(policy.allow) + len(policy.read.allow) + len(policy.write.allow)
    if count and not policy.trusted:
        rules = "1 allow rule" if count == 1 else f"{count} allow rules"
        notices.append(f"project rules are not trusted: {rules} ignored; run `assent trust`")
    if policy.mode is Mode.BYPASS:
        notices.append("a project cannot loosen the mode: bypassPermissions ignored")
    if policy.classifier is False:
        notices.append("a project cannot disable the classifier: ignored")
    return notices
