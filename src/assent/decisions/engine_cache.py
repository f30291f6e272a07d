"""Folder → engine: built from the policies in force there, and rebuilt when one of their files changes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar

import msgspec

from assent.config.layers import Layers, LivePolicies
from assent.platform.paths import Places, find_places

T = TypeVar("T")
Make: TypeAlias = Callable[[Layers, str | None], T]
"""Builds an engine from the layers in force; the text says why the current files are not in force, if they are not."""
Follow: TypeAlias = Callable[[LivePolicies, str | None, T | None], None]
"""Called after each check of the files: with their state, the fault before, and the engine if it was rebuilt."""

MOST_ENGINES = 256


class _CacheEntry(msgspec.Struct, Generic[T]):
    live: LivePolicies
    layers: Layers
    fault: str | None
    engine: T


class EngineCache(Generic[T]):
    """Folder → engine. Folders of the same project share one. Any thread may use the cache."""

    def __init__(
        self,
        make: Make[T],
        *,
        load: Callable[[str], LivePolicies] = LivePolicies,
        locate: Callable[[str], Places] = find_places,
        follow: Follow[T] = lambda _live, _before, _made: None,
        most: int = MOST_ENGINES,
    ) -> None:
        self._make = make
        self._load = load
        self._locate = locate
        self._follow = follow
        self._most = most
        self._entries: dict[Places, _CacheEntry[T]] = {}
        self._lock = threading.Lock()

    def find(self, folder: str) -> T:
        """Return the engine of a folder for the files as they are now, or raise `ConfigError`."""
        places = self._locate(folder)
        with self._lock:
            entry = self._entries.pop(places, None)
            if entry is None:
                entry = self._open(folder)
            self._renew(entry)
            self._entries[places] = entry
            if len(self._entries) > self._most:
                del self._entries[next(iter(self._entries))]
            return entry.engine

    def _open(self, folder: str) -> _CacheEntry[T]:
        live = self._load(folder)
        layers = live.current()
        return _CacheEntry(live, layers, live.fault, self._make(layers, live.fault))

    def _renew(self, entry: _CacheEntry[T]) -> None:
        live, before = entry.live, entry.fault
        layers = live.current()
        is_new = layers is not entry.layers or live.fault != before
        if is_new:
            entry.layers, entry.fault, entry.engine = layers, live.fault, self._make(layers, live.fault)
        self._follow(live, before, entry.engine if is_new else None)
