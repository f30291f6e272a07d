"""The mounts of a boundary as arguments of bubblewrap: outer folders before inner ones, which override them."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping
from typing import Literal, TypeAlias

import msgspec

from assent.model import within
from assent.sandbox.linux.mechanisms import Bubblewrap
from assent.sandbox.mounts.reachable import Reach
from assent.sandbox.profiles.boundary import Boundary
from assent.sandbox.profiles.git_repositories import HOOKS

Kind: TypeAlias = Literal["write", "way", "read", "private", "protect", "empty", "mask"]

PRIVATE = ("/tmp", "/var/tmp", "/run", "/var/run")  # noqa: S108 - these are the sandbox's own
"""Empty inside, and removed with the sandbox. The last is often a link to the third."""
INNER = "/run/assent"
"""Assent's own folder inside."""
PYTHON = f"{INNER}/python"
CACHE = f"{INNER}/cache"
PROFILE = f"{INNER}/profile.json"
"""The profile in force, for processes inside."""

_STEERING = ("/proc/acpi", "/proc/fs", "/proc/scsi")
"""Controls of the kernel, as in `/proc/sys`: root can use them without capabilities, and bubblewrap shows them. No
command needs them."""

_STRENGTH: dict[Kind, int] = {"private": 0, "read": 1, "way": 2, "write": 3, "protect": 4, "empty": 4, "mask": 5}
_COVERS: tuple[Kind, ...] = ("way", "protect", "empty", "mask")


class Mount(msgspec.Struct, frozen=True):
    """One path, and how it is mounted inside."""

    path: str
    kind: Kind


def plan_mounts(boundary: Boundary, empty: tuple[str, ...] = ()) -> tuple[Mount, ...]:
    """Return the mounts in order; of two kinds for one path the stronger counts.

    `empty` are placeholders for protected paths. Paths that no process inside can reach are left out: bubblewrap has no
    more privileges than they, and could not mount there.
    """
    profile = boundary.profile
    said: list[tuple[str, Kind]] = [(path, "private") for path in _private()]
    said += [(path, "read") for path in profile.read_roots if path != "/"]
    said += [(profile.cwd, "read")] if profile.cwd and _is_hidden(profile.cwd) else []
    said += [(path, "write") for path in profile.write_roots]
    said += [(path, "way") for path in boundary.mount_points]
    held = [path for path in profile.protected if os.path.lexists(path)]
    said += [(path, "empty" if path in empty and os.path.isdir(path) else "protect") for path in held]
    # A path that no longer exists needs no hiding, and bubblewrap cannot mount on it.
    there = (path for path in profile.masked if os.path.lexists(path))
    said += [(path, "mask") for path in there if not _is_hidden(path) or _is_shown(path, boundary)]
    strongest: dict[str, Kind] = {}
    reaches = Reach(boundary.user)
    for path, kind in said:
        if kind in _COVERS and not reaches(path):
            continue
        if path not in strongest or _STRENGTH[kind] > _STRENGTH[strongest[path]]:
            strongest[path] = kind
    return tuple(Mount(path, strongest[path]) for path in sorted(strongest, key=_order))


def still_there(mounts: tuple[Mount, ...]) -> tuple[Mount, ...]:
    """Leave out hidden paths that no longer exist: bubblewrap cannot mount on them."""
    return tuple(mount for mount in mounts if mount.kind != "mask" or os.path.lexists(mount.path))


def _order(path: str) -> tuple[int, str]:
    return path.count("/"), path


def _private() -> list[str]:
    return [path for path in PRIVATE if os.path.isdir(path) and not os.path.islink(path)]


def _is_hidden(path: str) -> bool:
    return any(within(path, place) for place in PRIVATE)


def _is_shown(path: str, boundary: Boundary) -> bool:
    """Tell whether a read or write root shows a path of a private folder."""
    shown = (*boundary.profile.read_roots, *boundary.profile.write_roots)
    return any(within(path, root) for root in shown if root != "/")


def mount_words(mounts: tuple[Mount, ...], *, everything: bool) -> list[str]:
    """Return bubblewrap's arguments for these mounts; `everything`: all other paths are readable."""
    kinds = {mount.path: mount.kind for mount in mounts}
    holding = {above for path in kinds for above in _above(path)}
    # For each bind, bubblewrap reads the whole table of mounts: bind early while the table is small.
    early = [mount for mount in mounts if _is_bound(mount) and not any(a in kinds for a in _above(mount.path))]
    words = ["--ro-bind", "/", "/"] if everything else _links()
    words += [word for mount in early for word in _lay(mount, holding)]
    words += ["--dev", "/dev", "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"]
    words += [word for place in _STEERING if os.path.isdir(place) for word in ("--perms", "0555", "--tmpfs", place)]
    for mount in mounts:
        if mount not in early:
            words += [*_folders_above(mount.path, kinds), *_lay(mount, holding)]
    return words


def _is_bound(mount: Mount) -> bool:
    if mount.path.startswith(("/dev", "/proc")):
        return False  # inside, these are new
    return mount.kind not in ("private", "empty") and not (mount.kind == "mask" and os.path.isdir(mount.path))


def _lay(mount: Mount, holding: Container[str]) -> list[str]:
    match mount.kind:
        case "private":
            return ["--perms", "1777", "--tmpfs", mount.path]
        case "read" | "protect":
            return ["--ro-bind", mount.path, mount.path]
        case "write" | "way":
            return ["--bind", mount.path, mount.path]
        case "empty":
            # Files created there disappear with the sandbox. Read-only mounts would take much longer.
            entered = os.path.basename(mount.path) not in HOOKS
            return ["--perms", "0555" if entered else "0444", "--tmpfs", mount.path]
        case "mask" if os.path.isdir(mount.path):
            return ["--perms", "0111" if mount.path in holding else "0000", "--tmpfs", mount.path]
        case "mask":
            # On a mount without devices, this device cannot be opened.
            return ["--ro-bind", "/dev/null", mount.path]


def _above(path: str) -> list[str]:
    """Return the folders above a path, the nearest first, without `/`."""
    names = path.split("/")
    return ["/".join(names[:count]) for count in range(len(names) - 1, 1, -1)]


def _folders_above(path: str, kinds: Mapping[str, Kind]) -> list[str]:
    """Return the arguments that create the folders above a path that lies in a private or hidden folder."""
    missing: list[str] = []
    for folder in _above(path):
        if folder in kinds:
            empty = kinds[folder] in ("private", "mask")
            return [word for new in reversed(missing) for word in ("--perms", "0755", "--dir", new)] if empty else []
        missing.append(folder)
    return []


def _links() -> list[str]:
    """Return the links of the root that programs rely on (`/bin` → `usr/bin`)."""
    links = [e for e in os.scandir("/") if e.is_symlink()]
    return [word for entry in links for word in ("--symlink", os.readlink(entry.path), entry.path)]


def namespace_words(wrap: Bubblewrap, *, network: bool, dropped: bool) -> list[str]:
    """Return bubblewrap's arguments for everything but mounts.

    `dropped`: root starts bubblewrap, and the first program inside changes to another user. Only root can open every
    mounted folder, so there is no user namespace then.
    """
    words = ["--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL"]
    words += [] if network else ["--unshare-net"]
    if dropped:
        words += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        words += ["--unshare-user"]
        words += ["--disable-userns", "--assert-userns-disabled"] if wrap.disable_userns else []
    return [*words, "--new-session", "--die-with-parent", "--clearenv"]
