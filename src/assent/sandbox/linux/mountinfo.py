"""The kernel's table of mounts, and the device and path behind each path."""

from __future__ import annotations

import os
import re
from typing import NamedTuple, TypeAlias

from assent.sandbox.errors import Unavailable

TABLE = "/proc/self/mountinfo"
_ESCAPED = re.compile(rb"\\([0-7]{3})")

Origin: TypeAlias = tuple[str, str]
"""A device number, and a path on that device."""


class MountRow(NamedTuple):
    """One row of the table."""

    id: str
    above: str
    """The id of the parent mount."""
    origin: Origin
    point: str


def read_mounts() -> list[MountRow]:
    """Return the mounts of this process, or raise `Unavailable` if they cannot be read."""
    try:
        with open(TABLE, "rb") as file:
            return parse(file.read())
    except (OSError, IndexError):
        raise Unavailable("the table of mounts cannot be read") from None


def parse(table: bytes) -> list[MountRow]:
    """Parse a table, in the order of mounting; raise `IndexError` if it is malformed."""
    lines = os.fsdecode(table).removesuffix("\n").split("\n") if table else []
    rows = [line.split(" ", 5) for line in lines]
    return [MountRow(w[0], w[1], (w[2], _unescape(w[3])), _unescape(w[4])) for w in rows]


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return os.fsdecode(_ESCAPED.sub(lambda found: bytes([int(found[1], 8)]), os.fsencode(text)))


class Disks:
    """Look up the device and path behind a path."""

    def __init__(self, rows: list[MountRow]) -> None:
        self._rows = {(row.above, row.point): row for row in rows}
        known = {row.id for row in rows}
        first = [row for row in rows if row.point == "/" and row.above not in known]
        if not first:
            raise Unavailable("the table of mounts cannot be read")
        self._known = {"/": self._top(first[0], "/")}

    def find(self, path: str) -> Origin:
        """Follow a path from mount to mount, as the kernel does."""
        at = self._at(path)
        device, root = at.origin
        below = path[len(at.point.rstrip("/")) :] if path != at.point else ""
        return device, (root.rstrip("/") + below) or "/"

    def _at(self, path: str) -> MountRow:
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = self._top(self._at(path.rpartition("/")[0] or "/"), path)
        return known

    def _top(self, at: MountRow, path: str) -> MountRow:
        while (over := self._rows.get((at.id, path))) is not None:
            at = over
        return at
