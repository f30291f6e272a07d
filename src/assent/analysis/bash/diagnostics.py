"""What is noted while a line is read."""

from __future__ import annotations

from assent.analysis.bash.charset import STEPS

_ARRAYS = frozenset(
    [
        "BASH_ALIASES",
        "BASH_ARGC",
        "BASH_ARGV",
        "BASH_CMDS",
        "BASH_LINENO",
        "BASH_REMATCH",
        "BASH_SOURCE",
        "BASH_VERSINFO",
        "COPROC",
        "DIRSTACK",
        "FUNCNAME",
        "GROUPS",
        "MAPFILE",
        "PIPESTATUS",
    ]
)
"""Variables that are arrays from the start, or from when bash sets them."""


class Notes:
    """What was found wrong, shared by everyone who reads parts of one line. The first fault is kept."""

    __slots__ = ("arrays", "fault", "lists", "maps", "retries", "steps")

    def __init__(self) -> None:
        self.fault: str | None = None
        self.retries = 8
        self.steps = STEPS
        self.arrays = _ARRAYS
        self.lists: frozenset[str] = frozenset()
        self.maps: frozenset[str] = frozenset()
        """Arrays whose elements have names: what is assigned to them may be names and values in turn."""

    def blame(self, reason: str) -> None:
        """Remember that something could not be read."""
        if self.fault is None:
            self.fault = reason

    def array(self, name: str) -> None:
        """Remember that a variable is an array, wherever in the line it became one."""
        self.arrays |= {name}
        self._compare()

    def list(self, name: str) -> None:
        """Remember a declaration whose value may be text in brackets: for an array bash reads that as its elements."""
        self.lists |= {name}
        self._compare()

    def _compare(self) -> None:
        if self.lists & self.arrays:
            self.blame("a declaration evaluates text as array elements")
