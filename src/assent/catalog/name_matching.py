"""Finding many names in a path at once, a segment at a time, without regard to case."""

from __future__ import annotations

from collections import defaultdict

import assent.lazy_regex as re
from assent.model import fold

_UNSEEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]|(?<![. ])[. ]++(?=/|$)")
"""Letters that some disks do not tell apart from nothing: invisible ones, and dots or spaces that end a name."""

_ENDS = (".", " ")
_FEW = 16
"""Segments of a path that are looked at one by one; of more, some come again."""


class Names:
    """Names (`.ssh`), patterns (`*.pem`) and short paths (`.git/hooks`) to be found anywhere in a path.

    A name found counts with everything below it.
    """

    def __init__(self, anywhere: tuple[str, ...], from_root: tuple[str, ...] = ()) -> None:
        self._exact = {n.lower() for n in anywhere if "/" not in n and "*" not in n}
        patterns = [_translate(n) for n in anywhere if "/" not in n and "*" in n]
        self._pattern = re.compile("|".join(patterns) or "(?!)")
        self._paths: dict[str, list[str]] = defaultdict(list)
        for name in anywhere:
            if "/" in name:
                self._paths[name.lower().partition("/")[0]].append(name.lower())
        roots = "|".join(_translate(n) for n in from_root)
        self._from_root = re.compile(f"(?:{roots})(?:/|$)") if from_root else None

    def find(self, path: str) -> bool:
        """Tell whether any of the names is in the path."""
        low = fold(path)
        if not low.isascii() or "./" in low or " /" in low or low.endswith(_ENDS):
            low = _UNSEEN.sub("", low)
        if self._from_root is not None and self._from_root.match(low):
            return True
        segments = low.split("/")
        if not self._exact.isdisjoint(segments):
            return True
        # A plain loop: this is asked of every part of every word that may be a path.
        fits = self._pattern.fullmatch
        for segment in segments if len(segments) <= _FEW else set(segments):
            if fits(segment) or (segment in self._paths and any(_has(low, p) for p in self._paths[segment])):
                return True
        return False


def _has(path: str, part: str) -> bool:
    if "*" in part:
        return re.search("(?:^|/)" + _translate(part) + "(?:/|$)", path) is not None
    return f"/{part}/" in f"/{path}/"


def _translate(name: str) -> str:
    return re.escape(name.lower()).replace(r"\*", "[^/]*")
