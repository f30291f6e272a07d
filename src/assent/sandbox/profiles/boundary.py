"""Apply a profile to this machine: find its paths, every secret, and every protected file on the disk."""

from __future__ import annotations

import functools
import os
import stat
import sys
from collections.abc import Iterable, Mapping
from itertools import islice

import msgspec

from assent.model import SandboxProfile, within
from assent.platform.facts import observe
from assent.platform.paths import ancestors, user_file
from assent.sandbox.errors import Unavailable
from assent.sandbox.profiles import workspace_roots
from assent.sandbox.profiles.git_repositories import Kind, find_obeyed, find_stores, is_settings_file
from assent.sandbox.profiles.link_targets import find_led_to
from assent.sandbox.profiles.secret_paths import EMPTY_SURVEY, Survey, find_secrets
from assent.sandbox.profiles.user import User, find_user
from assent.sandbox.redeem.launcher import loaded_packages

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/nix/store")
"""No program starts without these, so every profile reads them."""
_ONLY_IF_THERE = ("assent.yaml",)
"""A new one can only tighten the policy, and a placeholder would disturb others in the project."""
_MOST_LINKS_LOOKED_AT = 512
_DEEPEST_LINKS = 4
_INSTALLED = ("site-packages", "dist-packages")
_real = functools.cache(os.path.realpath)
"""For paths that do not change while this process runs."""


class Boundary(msgspec.Struct, frozen=True):
    """A profile as it will be enforced."""

    profile: SandboxProfile
    """With real paths, and every hidden or protected path."""
    user: User
    files: frozenset[str]
    """Protected paths that are read as files: a missing one gets a file as placeholder, not a folder."""
    mount_points: tuple[str, ...]
    """Folders above a protected or hidden path: as mounts they cannot be renamed."""
    survey: Survey = EMPTY_SURVEY
    """The folders of the workspace before the command ran."""

    @property
    def held(self) -> tuple[str, ...]:
        """Return the paths in write roots that must not be written, where only mounts prevent it."""
        profile = self.profile
        return (*profile.protected, *(m for m in profile.masked if any(within(m, r) for r in profile.write_roots)))


def make_boundary(
    profile: SandboxProfile, environ: Mapping[str, str] = os.environ, *, has_mounts: bool = True
) -> Boundary:
    """Apply a profile to this machine, or raise `Unavailable` if it cannot be enforced.

    `has_mounts`: mounts in a write root are other volumes, not mounts of an outer sandbox.
    """
    user = find_user(profile.write_roots and workspace_roots.real_roots(profile, ()), environ)
    write = workspace_roots.real_roots(profile, user.homes)
    read = tuple(real for r in profile.read_roots if (real := workspace_roots.real_path(r)) is not None)
    named = {*read, *write}
    obeyed = {p: kind for root in write for p, kind in _obeyed(root, user.homes) if p not in named}
    own = tuple(_own_files(environ))
    protected = tuple(dict.fromkeys((*(p for p in _protected(profile, write, own) if p not in named), *obeyed)))
    files = frozenset(p for p in protected if is_settings_file(p) or obeyed.get(p) == "file" or p in own)
    _refuse_links(protected)
    led_to = (_first_missing(path, root) for path, root in find_led_to(protected, write) if path not in named)
    protected = tuple(dict.fromkeys((*protected, *led_to)))
    foreign = (path for path in workspace_roots.find_mounts(write if has_mounts else ()) if path not in named)
    protected = tuple(dict.fromkeys((*protected, *foreign)))
    survey = Survey({}, set())
    hidden = (*_mask(profile.masked), *find_secrets(user.homes, write, environ, survey))
    masked = tuple(dict.fromkeys(p for p in hidden if p not in named))
    settled = msgspec.structs.replace(
        profile,
        cwd=workspace_roots.find_folder(profile.cwd, write),
        read_roots=read if "/" in read else tuple(dict.fromkeys((*_system(), *read))),
        write_roots=write,
        masked=masked,
        protected=protected,
    )
    points = _on_the_way((*protected, *(m for m in masked if os.path.lexists(m))), write, (*protected, *masked))
    return Boundary(settled, user, files, points, survey)


def _system() -> tuple[str, ...]:
    return tuple(path for path in SYSTEM if os.path.isdir(path) and not os.path.islink(path))


def _mask(paths: Iterable[str]) -> list[str]:
    return [real for path in paths if (real := workspace_roots.real_path(path)) is not None]


def _obeyed(root: str, homes: tuple[str, ...]) -> Iterable[tuple[str, Kind]]:
    """Yield paths inside a root that git's settings name, or the first missing folder above each."""
    if os.path.isdir(os.path.join(root, ".git")):
        for path, kind in find_obeyed(root, homes):
            if within(path, root) and path != root:
                found = _first_missing(path, root)
                yield found, kind if found == path else "folder"


def _own_files(environ: Mapping[str, str]) -> Iterable[str]:
    """Yield files that Assent obeys, under every name: the user's rules, and existing settings of agents."""
    yield user_file(environ)
    yield os.path.realpath(user_file(environ))
    yield from filter(os.path.lexists, observe(environ).assent_files)


def _protected(profile: SandboxProfile, write: tuple[str, ...], files: Iterable[str]) -> Iterable[str]:
    """Yield protected real paths: the profile's list, other git stores, Assent's own files, code and Python."""
    yield from (_first_missing(path, root) for path in files for root in write if within(path, root))
    real_roots = {root: os.path.realpath(root) for root in profile.write_roots}
    for path in profile.protected:
        root = next((r for r in real_roots if within(path, r)), None)
        if root is None:
            continue
        real = real_roots[root] + path[len(root.rstrip("/")) :]
        if not real.endswith(_ONLY_IF_THERE) or os.path.lexists(real):
            yield _first_missing(real, real_roots[root])
    for root in write:
        yield from (_first_missing(path, root) for path in find_stores(os.path.join(root, ".git")))
    for own in _own_code():
        if any(within(_real(own), root) for root in write):
            yield _real(own)


def _own_code() -> tuple[str, ...]:
    return (sys.prefix, sys.base_prefix, *_loaded())


@functools.cache
def _loaded() -> tuple[str, ...]:
    """Return what launcher, daemon and commands load: their virtual environment, or else their packages.

    The launcher runs the base Python, whose prefix does not name the virtual environment.
    """
    return tuple(dict.fromkeys(_environment_of(_real(package)) or package for package in loaded_packages()))


def _environment_of(package: str) -> str | None:
    above = list(ancestors(package))[1:]
    made = (folder for folder in above if os.path.exists(os.path.join(folder, "pyvenv.cfg")))
    return next(made, None) or (above[0] if os.path.basename(above[0]) in _INSTALLED else None)


def _first_missing(path: str, root: str) -> str:
    """Return the path, or the first path above it that is missing or is not a folder."""
    here = root
    for name in path[len(root) + 1 :].split("/"):
        here = f"{here}/{name}"
        if not os.path.isdir(here) or os.path.islink(here):
            return here
        if name == ".git" and not os.path.lexists(os.path.join(here, "HEAD")):
            return here  # not a repository, perhaps the placeholder of another sandbox
    return path


def _refuse_links(protected: Iterable[str]) -> None:
    """Refuse what a mount cannot protect: a symbolic link, and a file with another hard link."""
    for path in protected:
        try:
            found = os.lstat(path)
        except OSError:
            continue  # missing, or not reachable
        if stat.S_ISLNK(found.st_mode):
            raise Unavailable(
                f"{path} is a symbolic link and cannot be protected; name it in `write:` to run without protection"
            )
        try:
            linked = next((file for file, count in _files_of(path, found) if count > 1), None)
        except OSError as error:
            raise Unavailable(f"{path} cannot be searched for hard links: {error.strerror}") from None
        if linked is not None:
            raise Unavailable(f"{linked} has another hard link, through which a command could write it")


def _files_of(path: str, found: os.stat_result) -> Iterable[tuple[str, int]]:
    """Yield files and their number of hard links; files of Python and of installed packages may have several."""
    if stat.S_ISREG(found.st_mode):
        yield path, found.st_nlink
    if stat.S_ISDIR(found.st_mode) and not path.endswith("/bin"):
        deepest = 1 if path in map(_real, _own_code()) else _DEEPEST_LINKS
        files = (entry for entry in _walk(path, deepest) if entry.is_file(follow_symlinks=False))
        yield from ((e.path, e.stat(follow_symlinks=False).st_nlink) for e in islice(files, _MOST_LINKS_LOOKED_AT))


def _walk(folder: str, deepest: int) -> Iterable[os.DirEntry[str]]:
    entries = list(os.scandir(folder))
    yield from entries
    for entry in entries if deepest > 1 else ():
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path, deepest - 1)


def _on_the_way(paths: Iterable[str], write: tuple[str, ...], covered: Iterable[str]) -> tuple[str, ...]:
    """Return the folders between a write root and these paths, except in covered folders, which are not writable."""
    found = set()
    held = frozenset(covered).difference(write)
    for path in paths:
        for root in write:
            folder = os.path.dirname(path)
            while within(folder, root) and folder != root:
                found.add(folder)
                folder = os.path.dirname(folder)
    return tuple(sorted(folder for folder in found.difference(write) if _is_written(folder, write, held)))


def _is_written(folder: str, write: tuple[str, ...], held: frozenset[str]) -> bool:
    """Tell whether a folder is writable: the nearest covered folder or write root above it decides."""
    return next((above in write for above in ancestors(folder) if above in write or above in held), False)
