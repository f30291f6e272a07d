"""What a word may be that is no constant: texts of the line from which it was chosen, printed or put together.

Nothing is proved by them. They only tell, where a word is known when the line runs, what its author may have meant.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from assent.model import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from assent.analysis.ir import Word

MADE = "\ufdd1"
"""Stands in a hint for text that the line itself makes up, by means that are not followed."""
FITS = "\ufdd2"
"""Stands before an expression: of a name it is only known that this is found in it."""
FOREIGN = "\ufdd3"
"""Stands in a hint for what a program prints of which nobody knows what it says."""
MOST = 64
"""Hints that a word may have; one that may be more is made up."""


def texts(value: str, hints: tuple[str, ...]) -> tuple[str, ...]:
    """Give all that something may be: its hints, or what it says; nothing if that is not known at all."""
    if hints:
        return hints
    return () if value == UNKNOWN else (value,)


def merged(*groups: Iterable[str]) -> tuple[str, ...]:
    """Put hints side by side; too many of them are as good as none."""
    found: dict[str, None] = {}
    for text in itertools.chain(*groups):
        found[text] = None
        if len(found) > MOST:
            return (MADE,)
    return tuple(found)


def combined(parts: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Put hints one behind the other, each with each."""
    found: tuple[str, ...] = ("",)
    for part in parts:
        if len(found) * len(part) > MOST:
            return (MADE,)
        found = tuple(before + after for before in found for after in part)
    return tuple(dict.fromkeys(MADE if MADE in text else text for text in found))


def nearest(hints: tuple[str, ...]) -> Iterator[str]:
    """Give hints as plain patterns: what is found at any depth, as the first of these; all of a folder, as nothing."""
    for hint in hints:
        if "/**/" in hint:
            yield from (hint.replace("/**/", "/"), hint.replace("/**/", "/*/"))
        elif FITS not in hint and FOREIGN not in hint and not hint.endswith("/**"):
            yield hint


def split(hints: tuple[str, ...]) -> tuple[str, ...]:
    """Give the words that hints become where they are not quoted."""
    return merged(piece for hint in hints for piece in hint.split())


def parted(hints: tuple[str, ...], separators: str) -> tuple[str, ...]:
    """Give hints and what is between these characters in them; of separators that are not known, anything."""
    if UNKNOWN in separators:
        return (MADE,) if hints else ()
    table = str.maketrans(dict.fromkeys(separators, " "))
    return merged(hints, split(tuple(hint.translate(table) for hint in hints)))


def of_word(word: Word) -> tuple[str, ...]:
    """Give all that a word may be."""
    return texts(word.text, word.hints)
