"""The keys of the other nodes of a shared store, kept beside one's own as they were first seen.

What a neighbour signed is so recognised without the store. A key that the store gives a known neighbour later is not
believed: whoever can write the database could put it there. The first one is believed, and so it is told: whoever can
write the database could be the neighbour.
"""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH118

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable
from typing import TypeAlias

import msgspec

from assent.model import AssentError, ConfigError, StoreError
from assent.platform.files import find_private, write_private
from assent.store.cursor import Cursor

FILE_NAME = "nodes.json"
LOOK_SECONDS = 5.0
"""How often a node looks whether it has new neighbours."""
Keys: TypeAlias = dict[str, str]
"""Public keys in hex, by the ids of their nodes."""
_HEADS = "SELECT writer, key FROM heads WHERE writer <> ?"
_log = logging.getLogger(__name__)
_decode = msgspec.json.Decoder(Keys).decode


def neighbour_file(home: str) -> str:
    """Return where the keys of the neighbours are."""
    return os.path.join(home, "keys", FILE_NAME)


def read_neighbours(home: str) -> Keys:
    """Return the keys that are known; `StoreError` if they cannot be read."""
    path = neighbour_file(home)
    try:
        data = find_private(path, suggestion="make its mode 0600")
        return {} if data is None else _decode(data)
    except (ConfigError, msgspec.MsgspecError, ValueError) as error:
        raise StoreError(f"the keys of other nodes in `{path}` cannot be read: {error}") from None


class Neighbours:
    """Looks for the keys of new neighbours, tells of them, and keeps them in a home."""

    def __init__(self, own: str, home: str, tell: Callable[[Cursor, Keys], None]) -> None:
        """`tell` records in the same job whose keys are new, and what they are."""
        self._own = own
        self._home = home
        self._tell = tell
        self._known = set(read_neighbours(home))

    def are_new(self, cursor: Cursor) -> bool:
        """Tell whether there is somebody in the store who is not known yet."""
        return any(writer not in self._known for writer, _ in cursor.fetch(_HEADS, self._own))

    def learn(self, cursor: Cursor) -> None:
        """Keep the keys of whoever is new, once it is recorded that they are."""
        seen = {writer: bytes(key).hex() for writer, key in cursor.fetch(_HEADS, self._own)}
        new = {writer: key for writer, key in seen.items() if writer not in self._known}
        if new:
            self._tell(cursor, new)
            cursor.after_commit(functools.partial(self._keep, new))

    def _keep(self, new: Keys) -> None:
        self._known |= new.keys()
        try:
            write_private(neighbour_file(self._home), msgspec.json.encode(new | read_neighbours(self._home)))
        except (OSError, AssentError) as error:
            _log.warning("the keys of other nodes could not be kept: %s", error)
