"""Check that the mounts inside are those of the plan, each at its path and from the intended source.

bubblewrap follows links, and another command in the same workspace may replace a folder by a link during set-up: the
wrong folder would be shown, or a secret not hidden. So the kernel's table is compared with the plan before the command
begins.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from assent.model import within
from assent.sandbox.errors import PathReplaced
from assent.sandbox.linux.mountinfo import Disks, Origin, parse, read_mounts
from assent.sandbox.mounts.plan import Mount

_LARGEST_PIECE = 1 << 16
_COVERED = ("empty", "mask")


class ExpectedMount(NamedTuple):
    """The source that must be mounted at a path inside; if `covered`, any other source."""

    path: str
    origin: Origin
    covered: bool = False


def expect(mounts: Iterable[Mount], binds: Iterable[tuple[str, str]]) -> tuple[ExpectedMount, ...]:
    """List what must be mounted inside; `binds` are Assent's own folders, on top."""
    binds, disks = tuple(binds), Disks(read_mounts())
    below = [m for m in mounts if m.kind != "private" and not any(within(m.path, place) for _, place in binds)]
    planned = (ExpectedMount(m.path, disks.find(m.path), m.kind in _COVERED) for m in below)
    return (*planned, *(ExpectedMount(place, disks.find(os.path.realpath(source))) for source, place in binds))


def check_mounts(table: int, places: Iterable[ExpectedMount]) -> None:
    """Raise `PathReplaced` unless the table has these mounts."""
    # Of several mounts at one path the last is on top.
    inside = {row.point: row.origin for row in parse(b"".join(_read(table)))}
    for place in places:
        found = inside.get(place.path)
        if found is None or (found == place.origin) == place.covered:
            raise PathReplaced(f"{place.path} was replaced while the sandbox was set up")


def _read(descriptor: int) -> Iterator[bytes]:
    while piece := os.read(descriptor, _LARGEST_PIECE):
        yield piece
