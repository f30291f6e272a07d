"""The sandbox profiles by name, for a given place."""

from __future__ import annotations

import functools
import operator
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from assent.catalog.sensitive_paths import PROTECTED
from assent.model import (
    NET_CONNECT,
    SAFE,
    AssentError,
    Extensible,
    Layer,
    Limits,
    Network,
    Operation,
    Policy,
    ProfileSpec,
    Reading,
    SandboxProfile,
)

if TYPE_CHECKING:
    from assent.analysis.resources.paths import Place

NAMES = ("read-only", "workspace-write", "agent", "off")
SANDBOX = "workspace-write"
"""The profile that modes use when they run something in the sandbox."""
LIMITS = Limits(processes=4096)
"""What holds unless a profile says otherwise: enough for any build, too little for a fork bomb."""


class Demands(msgspec.Struct, frozen=True):
    """The profiles that policies name."""

    own: tuple[str, ...] = ()
    """By the user and the organisation …"""
    others: tuple[str, ...] = ()
    """… and by projects and runs, which may only tighten what holds without them."""
    specs: dict[str, ProfileSpec] = {}
    """What the user and the organisation wrote down, by name."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return all of them."""
        return tuple(dict.fromkeys((*self.own, *self.others)))

    def boundary(self, place: Place, least: str | None = None) -> SandboxProfile | None:
        """Return the boundary that is demanded here; `least` is what holds where the user's side names none."""
        own = intersect(profile(name, place, self.specs) for name in self.own)
        if own is None and least is not None:
            own = profile(least, place)
        return intersect((own, *(profile(name, place, self.specs) for name in self.others)))


def demands(policies: Sequence[Policy]) -> Demands:
    """Gather what policies say about profiles."""
    own = dict.fromkeys(p.profile for p in policies if p.profile and p.layer >= Layer.USER)
    others = dict.fromkeys(p.profile for p in policies if p.profile and p.layer < Layer.USER)
    return Demands(tuple(own), tuple(others), written_profiles(policies))


def written_profiles(policies: Sequence[Policy]) -> dict[str, ProfileSpec]:
    """Return the profiles that the user and the organisation define, by name; the organisation's count."""
    trusted = [p for p in policies if p.layer >= Layer.USER]
    return {s.name: s for p in sorted(trusted, key=lambda p: p.layer.rank) for s in p.profiles}


def profile(name: str, place: Place, specs: Mapping[str, ProfileSpec] | None = None) -> SandboxProfile | None:
    """Return the boundary a profile sets here; `off` sets none."""
    match name:
        case "off":
            return None
        case "read-only" | "workspace-write" | "agent":
            return _built_in(name, place)
        case _:
            spec = specs.get(name) if specs else None
            if spec is None:
                known = ", ".join((*NAMES, *(specs or ())))
                raise AssentError(f'no sandbox profile is called "{name}"; there are {known}')
            return apply(spec, place)


def _built_in(name: Extensible, place: Place) -> SandboxProfile:
    own = place.facts.assent_paths
    if name == "read-only":
        return SandboxProfile(name=name, mode=name, cwd=place.cwd, masked=own, process_limits=LIMITS)
    return SandboxProfile(
        name=name,
        mode=name,
        cwd=place.cwd,
        write_roots=place.workspace,
        masked=own,
        protected=_protect(place.workspace),
        network=Network("hosts", place.facts.sandbox_hosts if name == "workspace-write" else ()),
        unix_sockets=name == "agent",
        process_limits=LIMITS,
    )


def apply(spec: ProfileSpec, place: Place) -> SandboxProfile:
    """Return the built-in profile that a written one extends, with what it changes."""
    base = _built_in(spec.extends, place)
    write = base.write_roots if spec.write is None else _paths(spec.write, place)
    read = base.read_roots if spec.read is None else tuple(dict.fromkeys((*_paths(spec.read, place), *write)))
    said = {f: getattr(spec.limits, f) for f in Limits.__struct_fields__ if getattr(spec.limits, f) is not None}
    return msgspec.structs.replace(
        base,
        name=spec.name,
        read_roots=read,
        write_roots=write,
        masked=tuple(dict.fromkeys((*base.masked, *_paths(spec.masked, place)))),
        # Whoever names a protected path itself means it.
        protected=tuple(p for p in _protect(write) if p not in write),
        network=base.network if spec.network is None else spec.network,
        environment=spec.environment,
        unix_sockets=base.unix_sockets if spec.unix_sockets is None else spec.unix_sockets,
        ask=spec.ask,
        process_limits=msgspec.structs.replace(base.process_limits, **said),
    )


def _protect(roots: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(posixpath.join(root, name) for root in roots for name in PROTECTED)


def _paths(written: tuple[str, ...], place: Place) -> tuple[str, ...]:
    """Make paths absolute: a relative one counts from each root of the workspace."""
    found = (posixpath.join(root, path) for path in written for root in place.workspace or ("/",))
    return tuple(dict.fromkeys("/" + posixpath.normpath(path).lstrip("/") for path in found))


def intersect(boundaries: Iterable[SandboxProfile | None]) -> SandboxProfile | None:
    """Combine boundaries: only what all of them let through."""
    real = [b for b in boundaries if b is not None]
    return functools.reduce(operator.and_, real) if real else None


def can_hold(boundary: SandboxProfile, reading: Reading) -> bool:
    """Tell whether everything the call is known to do stays inside; opaque code is held by the kernel."""
    return reading.unreadable is None and all(_holds(boundary, o, reading) for o in reading.operations)


def _holds(boundary: SandboxProfile, operation: Operation, reading: Reading) -> bool:
    if operation.kind is not NET_CONNECT:
        return not operation.known or boundary.holds(operation.kind, operation.target or operation.resource)
    # What is dangerous about a command that contacts a host is what it says there: the boundary lets that through.
    owner = None if operation.owner is None else reading.operations[operation.owner]
    sends = owner is not None and owner.tier is not SAFE
    return not sends and boundary.holds(operation.kind, operation.resource)
