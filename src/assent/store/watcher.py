"""Watch for changes by other processes and nodes, and notify the subscribers. The table is the truth."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from assent.store.cursor import Row

Subscriber: TypeAlias = Callable[[str, str, Any], None]
"""Called with a topic, an id and, for a change made in this process, the new value (otherwise None).

A call is a hint: it may come twice, from any thread, and must return soon. The topic `*` means: read everything again.
"""

_log = logging.getLogger(__name__)


class StopEvent(threading.Event):
    """An event with a file descriptor, so that a selector can wait for it together with a connection."""

    def __init__(self) -> None:
        super().__init__()
        self._near, self._far = socket.socketpair()

    def set(self) -> None:
        """Wake all waiters, for good."""
        super().set()
        self._far.close()

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when the event is set."""
        return self._near.fileno()

    def close(self) -> None:
        """Close the descriptors."""
        self._near.close()
        self._far.close()


class Watch(Protocol):
    """How one database engine reports changes."""

    def wait(self, stop: StopEvent) -> None:
        """Wait until there may be changes."""

    def fetch(self, sql: str, parameters: Sequence[Any]) -> list[Row]:
        """Return the rows of a query."""

    def close(self) -> None:
        """Close it."""


class Watcher(threading.Thread):
    """Reads the `changes` table from where it left off, and reconnects after errors."""

    def __init__(self, connect: Callable[[], Watch], origin: str, notify: Subscriber) -> None:
        super().__init__(name="assent-watcher", daemon=True)
        self._connect = connect
        self._origin = origin
        self._notify = notify
        self._stop_now = StopEvent()
        self._last: int | None = None
        self.reconnects = 0

    def run(self) -> None:
        """Watch until `stop` is called."""
        delay = 0.1
        while not self._stop_now.is_set():
            try:
                self._watch()
                delay = 0.1
            except Exception as error:  # noqa: BLE001 - the watch starts again after any error
                _log.warning("watching the store failed: %s", error)
                self.reconnects += 1
                self._stop_now.wait(delay)
                delay = min(2 * delay, 2.0)

    def stop(self) -> None:
        """Stop the thread and join it."""
        self._stop_now.set()
        if self.is_alive():
            self.join()
        self._stop_now.close()

    def _watch(self) -> None:
        watch = self._connect()
        try:
            if self._last is None:
                self._last = watch.fetch("SELECT coalesce(max(id), 0) FROM changes", ())[0][0]
                self._notify("*", "", None)  # changes before the first read were not reported
            while not self._stop_now.is_set():
                watch.wait(self._stop_now)
                self._last = self._read(watch, self._last)
        finally:
            watch.close()

    def _read(self, watch: Watch, last: int) -> int:
        rows = watch.fetch("SELECT id, origin, topic, ref FROM changes WHERE id >= ? ORDER BY id LIMIT 10000", (last,))
        if last and (not rows or rows[0][0] != last):
            self._notify("*", "", None)  # changes after the last one read may have been deleted
        for position, origin, topic, ref in rows:
            if position > last and origin != self._origin:
                self._notify(topic, ref, None)
        return max((row[0] for row in rows), default=last)
