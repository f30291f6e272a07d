"""Boundaries without namespaces: Landlock and seccomp alone.

Inside another sandbox, these locks add to those of the outer one. Elsewhere they enforce a profile without writes and
network, for an ordinary user. Everything else is `Unavailable`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from assent.model import Mechanism, Network, SandboxProfile, within
from assent.platform.paths import assent_home
from assent.sandbox.errors import Unavailable
from assent.sandbox.linux import landlock, seccomp_filter
from assent.sandbox.linux.mechanisms import Machine
from assent.sandbox.mounts import plan
from assent.sandbox.profiles.boundary import Boundary, make_boundary

_LOWEST_ALONE = 6
"""Before this version of Landlock a command could signal other processes of its user."""
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
_HIDDEN = (*plan.PRIVATE, "/dev")
_MOST_RULES = 4000


class BareBoundary(msgspec.Struct, frozen=True):
    """A boundary of locks alone, and the sandbox around it, if any."""

    boundary: Boundary
    locks: landlock.Locks
    outer: SandboxProfile | None = None
    changes_nothing: bool = False
    """Not even modes or times, which Landlock does not check."""
    offline: bool = True

    def mechanisms(self, machine: Machine) -> tuple[Mechanism, ...]:
        """List the mechanisms, in force or not."""
        wrap, *locks = machine.mechanisms()
        around = () if self.outer is None else (Mechanism("sandbox around it", self.outer.name, enforced=True),)
        return (Mechanism(wrap.name, wrap.version, enforced=False), *locks, *around)


def find_outer() -> SandboxProfile | None:
    """Return the boundary that this process runs in, if any: every sandbox has a file with its profile."""
    try:
        with open(plan.PROFILE, "rb") as file:
            return msgspec.json.decode(file.read(), type=SandboxProfile)
    except (OSError, msgspec.MsgspecError):
        return None


def lock_inside(
    wished: SandboxProfile, outer: SandboxProfile, machine: Machine, environ: Mapping[str, str]
) -> BareBoundary:
    """Make a boundary inside another sandbox, from what both allow."""
    _demand(machine, landlock.LOWEST)
    boundary = make_boundary(wished, environ, has_mounts=False)
    profile = boundary.profile
    if profile.write_roots and set(profile.write_roots) != set(outer.write_roots):
        raise Unavailable("inside a sandbox, a command can write where that sandbox does, or nowhere")
    for path in (*profile.masked, *(p for p in profile.protected if os.path.lexists(p))):
        if not any(within(path, held) for held in (*outer.masked, *outer.protected)) and _is_open(path, outer):
            raise Unavailable(f"inside a sandbox, {path} cannot be hidden or protected")
    network = _narrow(profile.network, outer.network)
    both = msgspec.structs.replace(profile, network=network, unix_sockets=profile.unix_sockets and outer.unix_sockets)
    writable = (*plan.PRIVATE, "/dev") if not profile.write_roots else (*plan.PRIVATE, "/dev", plan.CACHE)
    locks = landlock.locks_for(both, writable, machine.landlock)
    return BareBoundary(
        msgspec.structs.replace(boundary, profile=both),
        locks,
        outer,
        changes_nothing=not profile.write_roots,
        offline=network != outer.network,
    )


def _is_open(path: str, outer: SandboxProfile) -> bool:
    """Tell whether the outer sandbox gives access to a path."""
    return os.access(path, os.R_OK) or any(within(path, root) for root in outer.write_roots)


def _narrow(wished: Network, outer: Network) -> Network:
    """Return the network that both allow: that of the outer sandbox, or none."""
    both = wished & outer
    if both.mode == outer.mode and set(both.hosts) == set(outer.hosts):
        return outer
    if both.mode == "off" or not both.hosts:
        return Network("off")
    raise Unavailable("inside a sandbox, a command can reach the hosts of that sandbox, or none")


def lock_alone(wished: SandboxProfile, machine: Machine, environ: Mapping[str, str]) -> BareBoundary:
    """Make a read-only boundary without bubblewrap."""
    _demand(machine, _LOWEST_ALONE)
    if wished.write_roots or wished.unix_sockets or wished.network.mode == "full" or wished.network.hosts:
        raise Unavailable("without bubblewrap, only a profile without writes and network can be enforced")
    if os.geteuid() == 0:
        raise Unavailable("without bubblewrap, no boundary can be enforced for root")
    hidden = (*wished.masked, assent_home(environ))
    boundary = make_boundary(msgspec.structs.replace(wished, masked=hidden, network=Network("off")), environ)
    profile = boundary.profile
    # Hides the command lines of other processes; the process's own folder cannot be told from theirs.
    processes = (os.path.join("/proc", name) for name in os.listdir("/proc") if name.isdecimal())
    apart = (*profile.masked, *_HIDDEN, *processes)
    roots = (
        *(r for r in profile.read_roots if r != "/"),
        profile.cwd or "/",
        *("/" for r in profile.read_roots if r == "/"),
    )
    seen = dict.fromkeys(path for root in roots for path in carve(root, [p for p in apart if p != root]))
    return BareBoundary(boundary, landlock.locks_alone(tuple(seen), _DEVICES, machine.landlock), changes_nothing=True)


def carve(root: str, hidden: Iterable[str]) -> Iterator[str]:
    """Yield folders and files that together cover everything below a root except hidden paths.

    Files created later beside a hidden path are not covered, and so not visible.
    """
    inner = [path for path in hidden if within(path, root)]
    if not inner:
        yield root
        return
    if root in inner:
        return
    try:
        names = sorted(os.listdir(root))
    except OSError:
        return
    if len(names) > _MOST_RULES:
        raise Unavailable(f"{root} has too many files to hide some of them")
    for name in names:
        path = os.path.join(root, name)
        if not os.path.islink(path):
            yield from carve(path, inner)


def _demand(machine: Machine, version: int) -> None:
    seccomp_filter.machine()
    if not machine.seccomp:
        raise Unavailable("no sandbox can be set up here: " + "; ".join(machine.missing))
    if machine.landlock < version:
        raise Unavailable(f"the kernel's Landlock is too old for this: ABI {machine.landlock}, needed {version}")
