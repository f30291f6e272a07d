"""Whether what stands inside is what was planned: every mount at its own place, of the very path that was meant.

bubblewrap follows links, and what another command in the same workspace makes a link of in the meantime would be shown,
or left unhidden. So the kernel's own table is held against the plan before the command begins.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from assent.model import within
from assent.sandbox.errors import Moved
from assent.sandbox.linux.mountinfo import Disks, Origin, parse, read_mounts
from assent.sandbox.mounts.plan import Mount

_LARGEST_PIECE = 1 << 16
_COVERED = ("empty", "mask")


class ExpectedMount(NamedTuple):
    """What is to be seen at a path inside: this, or, if it is covered, anything else."""

    path: str
    origin: Origin
    covered: bool = False


def expect(mounts: Iterable[Mount], binds: Iterable[tuple[str, str]]) -> tuple[ExpectedMount, ...]:
    """Say what must be mounted inside; `binds` are folders of ours, on top."""
    binds, disks = tuple(binds), Disks(read_mounts())
    below = [m for m in mounts if m.kind != "private" and not any(within(m.path, place) for _, place in binds)]
    planned = (ExpectedMount(m.path, disks.find(m.path), m.kind in _COVERED) for m in below)
    return (*planned, *(ExpectedMount(place, disks.find(os.path.realpath(source))) for source, place in binds))


def check_standing(table: int, places: Iterable[ExpectedMount]) -> None:
    """Raise `Moved` unless what is mounted inside, by the table, is this."""
    # Of several at one place the last lies on top.
    inside = {row.point: row.origin for row in parse(b"".join(_read(table)))}
    for place in places:
        found = inside.get(place.path)
        if found is None or (found == place.origin) == place.covered:
            raise Moved(f"{place.path} was replaced while the sandbox was set up")


def _read(descriptor: int) -> Iterator[bytes]:
    while piece := os.read(descriptor, _LARGEST_PIECE):
        yield piece
