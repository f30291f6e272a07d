"""The sandbox profiles by name, for a given place."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable

from assent.model import NET_CONNECT, AssentError, Network, Reading, SandboxProfile
from assent.reading.paths import Place

NAMES = ("read-only", "workspace-write", "agent", "off")
SANDBOX = "workspace-write"
"""The profile that modes use when they run something in the sandbox."""


def profile(name: str, place: Place) -> SandboxProfile | None:
    """Return the boundary a profile sets here; `off` sets none."""
    own = place.facts.assent_paths
    match name:
        case "off":
            return None
        case "read-only":
            return SandboxProfile(name=name, mode="read-only", cwd=place.cwd, masked=own)
        case "workspace-write" | "agent":
            return SandboxProfile(
                name=name,
                mode="workspace-write" if name == "workspace-write" else "agent",
                cwd=place.cwd,
                write_roots=place.workspace,
                masked=own,
                network=Network("hosts", ()),
            )
        case _:
            raise AssentError(f'no sandbox profile is called "{name}"; there are {", ".join(NAMES)}')


def intersect(boundaries: Iterable[SandboxProfile | None]) -> SandboxProfile | None:
    """Combine boundaries: only what all of them let through."""
    real = [b for b in boundaries if b is not None]
    return functools.reduce(operator.and_, real) if real else None


def can_hold(boundary: SandboxProfile, reading: Reading) -> bool:
    """Tell whether everything the call is known to do stays inside; opaque code is held by the kernel."""
    return reading.unreadable is None and all(
        boundary.holds(o.kind, o.target or o.resource) for o in reading.operations if o.known or o.kind is NET_CONNECT
    )
