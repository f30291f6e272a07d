"""A profile made real: every path found on the disk, every secret by its name, every protected name accounted for."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping

import msgspec

from assent.model import SandboxProfile, within
from assent.sandbox import roots
from assent.sandbox.errors import Unavailable
from assent.sandbox.repositories import find_obeyed
from assent.sandbox.secrets import find_secrets
from assent.sandbox.user import User, find_user

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/nix/store")
"""Without these no program starts: they are read in every profile."""
_ONLY_IF_THERE = ("assent.yaml",)
"""A new one can only tighten what holds, and everyone in the project would stumble over a stand-in."""
_MOST_LINKS_LOOKED_AT = 512
_MOST_MODULES = 64


class Boundary(msgspec.Struct, frozen=True):
    """What will be set up."""

    profile: SandboxProfile
    """With real paths, and with everything that is hidden or protected by name."""
    user: User
    mount_points: tuple[str, ...]
    """Folders on the way to a protected or hidden path: as mounts they can not be renamed."""


def settle(profile: SandboxProfile, environ: Mapping[str, str] = os.environ) -> Boundary:
    """Make a profile real, or raise `Unavailable`: what can not be held is not started."""
    user = find_user(profile.write_roots and roots.real_roots(profile, ()), environ)
    write = roots.real_roots(profile, user.homes)
    read = tuple(real for r in profile.read_roots if (real := roots.real_path(r)) is not None)
    named = {*read, *write}
    protected = tuple(dict.fromkeys(p for p in _protected(profile, write, user.homes) if p not in named))
    _refuse_links(protected)
    hidden = (*_mask(profile.masked), *find_secrets(user.homes, write, environ))
    masked = tuple(dict.fromkeys(p for p in hidden if p not in named))
    settled = msgspec.structs.replace(
        profile,
        cwd=roots.find_folder(profile.cwd, write),
        read_roots=read if "/" in read else tuple(dict.fromkeys((*_system(), *read))),
        write_roots=write,
        masked=masked,
        protected=protected,
    )
    points = _on_the_way((*protected, *(m for m in masked if os.path.lexists(m))), write)
    return Boundary(settled, user, points)


def _system() -> tuple[str, ...]:
    return tuple(path for path in SYSTEM if os.path.isdir(path) and not os.path.islink(path))


def _mask(paths: Iterable[str]) -> list[str]:
    return [real for path in paths if (real := roots.real_path(path)) is not None]


def _protected(profile: SandboxProfile, write: tuple[str, ...], homes: tuple[str, ...]) -> Iterable[str]:
    """Yield what is protected by real names: the profile's list, submodules, Assent's own code and Python."""
    real_roots = {root: os.path.realpath(root) for root in profile.write_roots}
    for path in profile.protected:
        root = next((r for r in real_roots if within(path, r)), None)
        if root is None:
            continue
        real = real_roots[root] + path[len(root.rstrip("/")) :]
        if not real.endswith(_ONLY_IF_THERE) or os.path.lexists(real):
            yield _first_missing(real, real_roots[root])
    for root in write:
        yield from _stores(os.path.join(root, ".git", "modules"))
        if os.path.isdir(os.path.join(root, ".git")):
            yield from (_first_missing(p, root) for p in find_obeyed(root, homes) if within(p, root) and p != root)
    for own in (sys.prefix, sys.base_prefix, os.path.dirname(os.path.dirname(os.path.abspath(__file__)))):
        if any(within(os.path.realpath(own), root) for root in write):
            yield os.path.realpath(own)


def _first_missing(path: str, root: str) -> str:
    """Return the path, or the first folder on the way to it that is not there, or is none."""
    here = root
    for name in path[len(root) + 1 :].split("/"):
        here = f"{here}/{name}"
        if not os.path.isdir(here) or os.path.islink(here):
            return here
        if name == ".git" and not os.path.lexists(os.path.join(here, "HEAD")):
            return here  # no repository, perhaps the stand-in of another sandbox
    return path


def _stores(folder: str) -> Iterable[str]:
    """Yield what decides what runs in the stores of submodules, which may lie in each other."""
    folders = [folder]
    for place in folders:
        try:
            inner = sorted(e.path for e in os.scandir(place) if e.is_dir(follow_symlinks=False))
        except OSError:
            continue
        for path in inner:
            if os.path.lexists(os.path.join(path, "HEAD")):
                yield from (p for n in ("config", "hooks") if os.path.lexists(p := os.path.join(path, n)))
                folders.append(os.path.join(path, "modules"))
            else:
                folders.append(path)
        if len(folders) > _MOST_MODULES:
            raise Unavailable(f"{folder} holds more submodules than can be protected")


def _refuse_links(protected: Iterable[str]) -> None:
    """Refuse what a mount can not protect: a symbolic link by its name, a file that has another name."""
    for path in protected:
        if os.path.islink(path):
            raise Unavailable(f"{path} is a symbolic link and can not be protected; name it in `write:` to do without")
        for file in _files_of(path):
            if os.lstat(file).st_nlink > 1:
                raise Unavailable(f"{file} has a second name (a hard link), by which it could be written")


def _files_of(path: str) -> Iterable[str]:
    if os.path.isfile(path):
        return [path]
    if not os.path.isdir(path) or path.endswith("/bin"):
        return []
    found = [e.path for e in os.scandir(path) if e.is_file(follow_symlinks=False)]
    return found[:_MOST_LINKS_LOOKED_AT]


def _on_the_way(paths: Iterable[str], write: tuple[str, ...]) -> tuple[str, ...]:
    found = set()
    for path in paths:
        for root in write:
            folder = os.path.dirname(path)
            while within(folder, root) and folder != root:
                found.add(folder)
                folder = os.path.dirname(folder)
    return tuple(sorted(found - set(write)))
