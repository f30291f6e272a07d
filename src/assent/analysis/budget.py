"""What reading one call has taken so far: whatever is looked at costs something, and there is an end to it.

What there is no more room for is not looked at, and so the call is not safe. The units are of no meaning to anybody
but each other: they are about as dear as what they stand for is slow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from assent.budget import step

if TYPE_CHECKING:
    from assent.analysis.resources.paths import Located

T = TypeVar("T")
Names: TypeAlias = Callable[[str], Sequence[tuple[str, bool]] | None]

MOST_WORK = 3_000
"""What reading one call may cost."""
COMMAND = 4
"""What it costs to read a command …"""
WORDS = 8
"""… one more for so many words that are what they are, or for each that is made up …"""
PATH = 5
"""… to look a path up, or into a folder …"""
LETTERS = 128
"""… one more for so many letters of it …"""
PATTERN = 64
"""… to tell what a pattern may find …"""
SIGNS = 4
"""… one more for so many signs of it …"""
MENTION = 1
"""… to tell whether a part of a word is a path …"""
LONG = 64
"""… one more for so many letters of it …"""
FOLDER = 20
"""… and to ask the disk about a folder as a whole."""
MOST_NAMES = 12_000
"""Names that are looked through for one call. Where there are more, what nobody saw counts as the control plane."""
LISTING = 8
"""What it costs to list a folder, beside the names in it …"""
AGAIN = 2
"""… so many times less if it was listed before …"""
CHECK = 8
"""… and to hold one of them against a pattern."""
TOO_MUCH = "too many paths to analyse"


class Meter:
    """Counts down for one call, and keeps what was found out for it: the disk is asked everything once."""

    __slots__ = ("known", "left", "located", "names")

    def __init__(self) -> None:
        self.left = MOST_WORK
        self.names = MOST_NAMES
        self.located: dict[tuple[str, str | None], Located] = {}
        """Where texts lead from a folder."""
        self.known: dict[object, Any] = {}
        """Everything else."""

    def spend(self, cost: int) -> bool:
        """Take from what is left; False if that was not enough."""
        self.left -= cost
        return self.left >= 0

    def weigh(self, pattern: str) -> bool:
        """Pay for a pattern, which is dear only once; False if what is left was not enough."""
        if pattern in self.known:
            return self.spend(PATH)
        self.known[pattern] = True
        return self.spend(PATTERN + len(pattern) // SIGNS)

    def once(self, key: object, find: Callable[[], T]) -> T:
        """Return what is found by a key, and found once."""
        if key not in self.known:
            step(8)
            self.known[key] = find()
        found: T = self.known[key]
        return found

    def ask(self, question: Callable[..., T], *given: str) -> T:
        """Ask the disk about a folder as a whole."""
        key = (question, *given)
        if key not in self.known:
            step(8)
            self.left -= FOLDER
            self.known[key] = question(*given)
        answer: T = self.known[key]
        return answer

    def list_names(self, names: Names, folder: str) -> Sequence[tuple[str, bool]] | None:
        """List what is in a folder; None if that cannot be told, or if there are more than are looked through."""
        if self.names < 0:
            return None
        again = (names, folder) in self.known
        listed = self.once((names, folder), lambda: names(folder))
        cost = (LISTING + len(listed or ())) // (AGAIN if again else 1)
        self.names -= cost
        self.left -= cost // WORDS
        return listed if self.names >= 0 else None
