"""What decides in a folder, made of the policies that hold there; made again when one of their files changes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar

import msgspec

from assent.config.layers import Layers, LivePolicies
from assent.platform.paths import Places, find_places

T = TypeVar("T")
Make: TypeAlias = Callable[[Layers, str | None], T]
"""Makes what decides of the layers in force; with why the files as they are now are not in force, if they are not."""
Follow: TypeAlias = Callable[[LivePolicies, str | None, T | None], None]
"""Hears of each look at the files: their state, the fault before, and what was made anew because they changed."""

MOST_ENGINES = 256


class _Kept(msgspec.Struct, Generic[T]):
    live: LivePolicies
    layers: Layers
    fault: str | None
    made: T


class EngineCache(Generic[T]):
    """Folder → what decides there. Folders of the same project share it; it may be used in any thread."""

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
        self._kept: dict[Places, _Kept[T]] = {}
        self._lock = threading.Lock()

    def find(self, folder: str) -> T:
        """Return what decides in a folder by the files as they are now, or raise `ConfigError`."""
        places = self._locate(folder)
        with self._lock:
            kept = self._kept.pop(places, None)
            if kept is None:
                kept = self._open(folder)
            self._renew(kept)
            self._kept[places] = kept
            if len(self._kept) > self._most:
                del self._kept[next(iter(self._kept))]
            return kept.made

    def _open(self, folder: str) -> _Kept[T]:
        live = self._load(folder)
        layers = live.current()
        return _Kept(live, layers, live.fault, self._make(layers, live.fault))

    def _renew(self, kept: _Kept[T]) -> None:
        live, before = kept.live, kept.fault
        layers = live.current()
        is_new = layers is not kept.layers or live.fault != before
        if is_new:
            kept.layers, kept.fault, kept.made = layers, live.fault, self._make(layers, live.fault)
        self._follow(live, before, kept.made if is_new else None)
