"""Whether what stands inside is what was planned: every mount at its own place, of the very path that was meant.

bubblewrap follows links, and what another command in the same workspace makes a link of in the meantime would be shown,
or left unhidden. So the kernel's own table is held against the plan before the command begins.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from assent.model import within
from assent.sandbox.errors import Moved
from assent.sandbox.mountinfo import Disks, parse, read_mounts
from assent.sandbox.mounts import Mount

_LARGEST_PIECE = 1 << 16
_COVERED = ("empty", "mask")


def check_standing(table: int, mounts: Iterable[Mount], binds: Iterable[tuple[str, str]]) -> None:
    """Raise `Moved` unless what is mounted inside, by the table, is this; `binds` are folders of ours, on top."""
    mounts, binds = tuple(mounts), tuple(binds)
    # Of several at one place the last lies on top.
    inside = {row.point: row.origin for row in parse(b"".join(_read(table)))}
    disks = Disks(read_mounts())
    below = [mount for mount in mounts if mount.kind != "private" and not any(within(mount.path, p) for _, p in binds)]
    for mount in below:
        found, own = inside.get(mount.path), disks.find(mount.path)
        if found is None or (found == own) == (mount.kind in _COVERED):
            raise Moved(f"{mount.path} was replaced while the sandbox was set up")
    for source, place in binds:
        if inside.get(place) != disks.find(os.path.realpath(source)):
            raise Moved(f"{place} was replaced while the sandbox was set up")


def _read(descriptor: int) -> Iterator[bytes]:
    while piece := os.read(descriptor, _LARGEST_PIECE):
        yield piece
