"""Reports to the daemon that a program does not wait for: a background thread sends them in order.

While the daemon is unreachable, reports are kept in Assent's home, and this program or the next one with the same token
delivers them. If only the answer was lost, a report is sent twice; the daemon recognises it by its id. Lost reports are
logged by the program, and reported to the daemon.
"""

from __future__ import annotations

import itertools
import logging
import os
import threading
import time
from collections import deque
from typing import TypeAlias

import msgspec

from assent.model import encode
from assent.sdk.client.clients import ApiError, Client, UnreachableError
from assent.sdk.client.unsent_reports import Backlog

MOST_WAITING = 10_000
"""How many are held in memory where they cannot be kept on disk."""
MOST_AT_ONCE = 100
SEND_SECONDS = 10.0
CLOSE_SECONDS = 15.0
"""A request that is under way ends before closing gives up: what it held is kept then."""
_PASSING = (408, 429, 500, 502, 503, 504)
"""Refusals that may pass: too much at once, a daemon that is being stopped, or somebody in between."""
_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_encode = msgspec.json.Encoder(enc_hook=str).encode
_log = logging.getLogger(__name__)


def _write(event: dict[str, object]) -> bytes:
    """Encode an event, also one with invalid text."""
    try:
        return _encode(event)
    except UnicodeEncodeError:
        return encode(event)


def _new_name() -> str:
    return os.urandom(8).hex()


class Item(msgspec.Struct, frozen=True, array_like=True):
    """One event of a session."""

    session: str
    cwd: str | None
    event: msgspec.Raw


Items: TypeAlias = list[Item]


class Outbox:
    """Reports of one program."""

    def __init__(self, client: Client, backlog: Backlog) -> None:
        self._client = client
        self._backlog = backlog
        self._items: deque[Item] = deque()
        self._news = threading.Condition()
        self._closing = False
        self._thread: threading.Thread | None = None
        self._numbers = itertools.count()
        self._pause = 0.0
        self._name = _new_name()
        self._told_lost = 0
        self.lost = 0
        """How many can never be delivered."""
        if backlog.names():
            self._start()

    def put(self, session: str, cwd: str | None, event: dict[str, object]) -> None:
        """Queue an event, from any thread."""
        item = Item(session, cwd, msgspec.Raw(_write({**event, "reportId": _new_name()})))
        with self._news:
            if len(self._items) >= MOST_WAITING:
                self._lose(1, "too many wait, and they cannot be kept on disk")
                return
            self._items.append(item)
            self._news.notify()
        self._start()

    def close(self) -> None:
        """Send the rest, or keep it for the next program; log what is lost."""
        with self._news:
            thread, self._closing = self._thread, True
            self._news.notify()
        if thread is not None:
            thread.join(CLOSE_SECONDS)
        left = self._take()
        if left and not self._keep(left):
            self._lose(len(left), "the daemon is away, and they cannot be kept on disk")
        if waiting := self._backlog.names():
            _log.warning(
                "%d pieces of reports wait in %s for the daemon to be back", len(waiting), self._backlog.folder
            )

    def _start(self) -> None:
        with self._news:
            if self._thread is None and not self._closing:
                self._thread = threading.Thread(target=self._run, name="assent-outbox", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while self._wait():
            delivered = self._deliver_kept()
            items = self._take(MOST_AT_ONCE)
            left = self._send(items, again=self._pause > 0) if delivered else items
            if left and not self._keep(left):
                with self._news:
                    self._items.extendleft(reversed(left))
            # What another program is delivering is looked at again, but not at once.
            away = bool(left) or not delivered or (not items and bool(self._backlog.names()))
            self._pause = min(max(2 * self._pause, _PAUSE), _LONGEST_PAUSE) if away else 0.0
            if self._closing and away:
                return

    def _wait(self) -> bool:
        """Wait for work; return False once there will be no more."""
        with self._news:
            if self._pause and not self._closing:
                self._news.wait_for(lambda: self._closing, self._pause)
            self._news.wait_for(lambda: self._items or self._closing or self._backlog.names())
            return bool(self._items or self._backlog.names())

    def _take(self, most: int | None = None) -> Items:
        with self._news:
            count = len(self._items) if most is None else min(most, len(self._items))
            return [self._items.popleft() for _ in range(count)]

    def _deliver_kept(self) -> bool:
        """Deliver kept reports, the oldest first; return False if the daemon is unreachable."""
        for name in self._backlog.names():
            with self._backlog.reading(name) as lines:
                if not lines:
                    continue
                left = self._send(self._read(lines), again=True)
                if left:
                    self._keep(left, name)
                    return False
                self._backlog.drop(name)
        return True

    def _read(self, lines: list[bytes]) -> Items:
        items = []
        for line in lines:
            try:
                items.append(msgspec.json.decode(line, type=Item))
            except (msgspec.MsgspecError, UnicodeError):
                self._lose(1, "what was kept of it cannot be read")
        return items

    def _keep(self, items: Items, name: str = "") -> bool:
        name = name or f"{time.time_ns():020d}-{os.getpid()}-{next(self._numbers)}"
        return self._backlog.keep(name, [_encode(item) for item in items])

    def _send(self, items: Items, *, again: bool) -> Items:
        """Send reports, and return those to send again later."""
        if self.lost and not self._tell_of_loss(items):
            return items
        sent = 0
        for (session, cwd), group in itertools.groupby(items, key=lambda item: (item.session, item.cwd)):
            events = [item.event for item in group]
            if not self._report(session, cwd, events, again=again):
                return items[sent:]
            sent += len(events)
        return []

    def _report(self, session: str, cwd: str | None, events: list[msgspec.Raw], *, again: bool) -> bool:
        try:
            self._client.report_events(session, events, cwd=cwd, again=again or None)
        except UnreachableError as error:
            _log.warning("the daemon did not take %d events, which are kept: %s", len(events), error)
            return False
        except ApiError as error:
            if error.status in _PASSING:
                _log.warning("the daemon did not take %d events, which are kept: %s", len(events), error)
                return False
            if len(events) > 1:  # one that it cannot take does not speak for the others
                halves = events[: len(events) // 2], events[len(events) // 2 :]
                return all(self._report(session, cwd, half, again=again) for half in halves)
            self._lose(1, f"the daemon refused it: {error}")
        return True

    def _tell_of_loss(self, items: Items) -> bool:
        if not items:
            return True
        text = f"{self.lost} reports of this program were lost"
        try:
            warning = {"type": "runtime.warning", "summary": text, "reportId": f"{self._name}-{self._told_lost}"}
            self._client.report_events(items[0].session, [warning], cwd=items[0].cwd, again=True)
        except UnreachableError:
            return False
        except ApiError as error:
            return error.status not in _PASSING
        self.lost = 0
        self._told_lost += 1
        return True

    def _lose(self, count: int, why: str) -> None:
        self.lost += count
        _log.error("LOST: %d reports of what became of calls: %s", count, why)
