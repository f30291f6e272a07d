"""What a program has to tell the daemon and does not wait for: sent in order, by a thread of its own."""

from __future__ import annotations

import contextlib
import itertools
import logging
import queue
import threading
import time
from typing import Any, TypeAlias

from assent.sdk.client import ApiError, Client, UnreachableError

MOST_WAITING = 10_000
"""Past this many the daemon does not keep up, or is away: what comes then is lost, as the program's log says."""
MOST_AT_ONCE = 100
_TRIES = 4
_PASSING = (429, 503)
"""Refusals that may pass: too much at once, or a daemon that is being stopped."""
_PAUSE = 0.5
_CLOSE_SECONDS = 10.0
_log = logging.getLogger(__name__)
Item: TypeAlias = tuple[str, str | None, dict[str, Any]]


class Outbox:
    """Reports of one program."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._items: queue.Queue[Item | None] = queue.Queue(MOST_WAITING)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def put(self, session: str, cwd: str | None, event: dict[str, Any]) -> None:
        """Have an event told, from any thread."""
        try:
            self._items.put_nowait((session, cwd, event))
        except queue.Full:
            _log.warning("an event was lost: the daemon does not take them")
            return
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="assent-outbox", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Tell what is left, for as long as that can be waited for."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            with contextlib.suppress(queue.Full):
                self._items.put(None, timeout=_CLOSE_SECONDS)
            thread.join(_CLOSE_SECONDS)

    def _run(self) -> None:
        more = True
        while more:
            items = [self._items.get()]
            while len(items) < MOST_AT_ONCE and not self._items.empty():
                items.append(self._items.get())
            more = None not in items
            for (session, cwd), group in itertools.groupby(filter(None, items), key=lambda item: item[:2]):
                self._send(session, cwd, [event for _, _, event in group])

    def _send(self, session: str, cwd: str | None, events: list[dict[str, Any]]) -> None:
        for attempt in range(1, _TRIES + 1):
            try:
                self._client.report_events(session, events, cwd=cwd)
            except (UnreachableError, ApiError) as error:
                lasting = isinstance(error, ApiError) and error.status not in _PASSING
                _log.warning("the daemon did not take %d events: %s", len(events), error)
                if lasting:
                    return
                time.sleep(_PAUSE * attempt)
            else:
                return
