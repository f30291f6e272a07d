"""What belongs to Assent: its home, sockets and tokens, its configuration, and the hook entries that it wrote."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TypeAlias

import msgspec

import assent.lazy_regex as re
from assent.model import FS_WRITE, UNKNOWN, Facts, Operation, fold, within

_LONG = 4_096
"""Characters of a text in which letters of other scripts are not looked at closely."""
_ESCAPED = re.compile(r"\\(?:u00([2-7][0-9a-f])|/)")


class Own(msgspec.Struct, frozen=True):
    """What belongs to Assent, its names folded."""

    paths: frozenset[str]
    """Nobody but Assent touches them."""
    below: tuple[str, ...]
    """What every path below these starts with."""
    files: frozenset[str]
    """Read by anybody, written by Assent alone."""
    inside: tuple[str, ...]
    """What every path below one of the files starts with, which may be folders."""

    def harm(self, operation: Operation, name: str) -> str | None:
        """Find a touch of Assent's own files; a tree that is changed as a whole counts with all that is in it."""
        low = fold(name)
        if low in self.paths or low.startswith(self.below):
            return "touches Assent's own files"
        if operation.kind is not FS_WRITE:
            return None
        if operation.sweep and _holds(low, self.paths):
            return "touches Assent's own files"
        if low in self.files or low.startswith(self.inside):
            return "changes Assent's configuration"
        if operation.sweep and _holds(low, self.files):
            return "changes Assent's configuration"
        return None

    def is_at(self, path: str) -> bool:
        """Tell whether a path is Assent's own."""
        low = fold(path)
        return low in self.paths or low in self.files or low.startswith((*self.below, *self.inside))

    def is_after(self, known: str) -> bool:
        """Tell whether a path that starts so, and of which no more is known, may be Assent's own."""
        low = fold(known)
        return low.startswith("/") and any(p.startswith(low) for p in (*self.paths, *self.files))

    def ends(self, path: str) -> tuple[str, ...]:
        """Return what may be meant by a path whose beginning is not known: of a file, two names must agree."""
        names = fold(path.rpartition(UNKNOWN)[2]).strip("/").split("/")
        starts = ["/" + "/".join(names[:count]) for count in range(1, len(names) + 1)]
        found = [p for p in self.paths if p.endswith(tuple(starts))]
        return tuple(sorted([*found, *(f for f in self.files if len(starts) > 1 and f.endswith(tuple(starts[1:])))]))


def own_of(facts: Facts) -> Own:
    """Return what belongs to Assent in this world."""
    return _own(facts.assent_paths, facts.assent_files)


@functools.lru_cache(maxsize=64)
def _own(paths: tuple[str, ...], files: tuple[str, ...]) -> Own:
    low, written = _folded(paths), _folded(files)
    return Own(low, _below(low), written, _below(written))


def mentions_own(text: str, facts: Facts, *, files: bool) -> list[str]:
    """Return what a text mentions of Assent's home; `files`: and of its configuration, which prose may be about."""
    in_home, configured = _needles(facts.assent_paths, facts.assent_files, facts.home)
    needles = in_home + configured if files else in_home
    low = text.lower() if len(text) > _LONG else fold(text)
    if "\\" in low:
        low = f"{low}\n{_ESCAPED.sub(_unescape, low)}"
    return [path for needle, path in needles if needle in low and _is_said(needle, low)]


def _is_said(needle: str, text: str) -> bool:
    """Tell whether a text says a name, and not one that only begins so."""
    start = text.find(needle)
    while start >= 0:
        end = start + len(needle)
        if not text[end : end + 1].isalnum() and text[end : end + 1] not in ("-", "_"):
            return True
        start = text.find(needle, end)
    return False


def _unescape(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else "/"


_Needles: TypeAlias = tuple[tuple[str, str], ...]


@functools.lru_cache(maxsize=64)
def _needles(paths: tuple[str, ...], files: tuple[str, ...], home: str | None) -> tuple[_Needles, _Needles]:
    """Return how texts write what is Assent's own: the whole path, or where it lies below the home directory."""
    above = fold(home).rstrip("/") + "/" if home else "//"
    return tuple(_written(sorted(_folded(paths)), above)), tuple(_written(sorted(_folded(files)), above))


def _written(paths: list[str], above: str) -> Iterator[tuple[str, str]]:
    for path in paths:
        yield path, path
        below = path.removeprefix(above)
        if below != path and "/" in below:
            yield below, path


def _holds(folder: str, paths: frozenset[str]) -> bool:
    return any(within(p, folder) for p in paths)


def _below(paths: frozenset[str]) -> tuple[str, ...]:
    return tuple(p + "/" for p in sorted(paths))


def _folded(paths: tuple[str, ...]) -> frozenset[str]:
    return frozenset(fold(p).rstrip("/") for p in paths)
