"""The log of one node: events are chained in the transaction that writes them, and sealed now and then."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import msgspec

from assent.audit.chain import COLUMNS, genesis, hash_row
from assent.audit.entry import LogEntry, make_entry
from assent.audit.masking import Mask
from assent.audit.seals.node_keys import load_node, new_node
from assent.audit.seals.peer_keys import LOOK_SECONDS, Keys, Neighbours
from assent.audit.seals.seal import SEAL_EVERY, SEAL_SECONDS
from assent.audit.seals.sealer import End, Sealer, check_key
from assent.model import ConfigError, Event, EventType, StoreError
from assent.model.visible_text import visible
from assent.platform.spool import drop_left, list_left, read_left
from assent.store.cursor import Cursor
from assent.store.store import Store

SPOOL = "spool"
"""The topic under which it is known what was taken in."""
REPORTS = "reports"
"""The topic under which it is known which reports were taken in …"""
LATE_REPORTS = 1000
"""… and how many changes of the store a first report may be late, with its repetition before it."""
NOTE_SECONDS = 0.25
"""How long what was noted may wait for company."""
MOST_HELD = 128
"""How much is held back for a reader, who so never waits long."""
_Placed: TypeAlias = tuple[float, LogEntry]
"""An entry, and when it was written."""

_INSERT = f"INSERT INTO events ({', '.join(COLUMNS)}, hash) VALUES ({', '.join('?' * (len(COLUMNS) + 1))})"  # noqa: S608 - constants
_LAST_CHANGE = "SELECT coalesce(max(id), 0) FROM changes"
_TOLD = "SELECT ref FROM changes WHERE id > ? AND topic = ? AND ref IN ({})"
_HEAD = "SELECT seq, hash, (SELECT coalesce(max(position), 0) FROM events) FROM heads WHERE writer = ?"
_UNSEALED = (
    "SELECT seq, hash FROM heads WHERE writer = ? "
    "AND seq > (SELECT coalesce(max(seq), 0) FROM checkpoints WHERE writer = heads.writer)"
)
_log = logging.getLogger(__name__)


def _read_events(home: str, name: str) -> list[Event]:
    """Read what was left. What cannot be read is an event too: somebody touched it."""
    try:
        return msgspec.json.decode(read_left(home, name), type=list[Event])
    except (ConfigError, msgspec.MsgspecError, UnicodeError, RecursionError):
        reason = "an event that was left for the log cannot be read"
        return [_own_event("runtime.error", reason)]


def _own_event(kind: EventType, summary: str) -> Event:
    """Return an event of the log about itself."""
    return Event(type=kind, event_id="", timestamp="", session_id="", sequence=0, payload={"summary": summary})


def _find_told(cursor: Cursor, names: tuple[str, ...], *, since: int) -> frozenset[str]:
    if not names:
        return frozenset()
    return frozenset(ref for (ref,) in cursor.fetch(_TOLD.format(", ".join("?" * len(names))), since, REPORTS, *names))


class Log:
    """Appends events. Several processes may write one node's log: the chain's head lives in the database."""

    def __init__(self, store: Store, home: str | None) -> None:
        """Open the log of the installation in a folder; without one, of this process alone, which anchors nothing."""
        self._store = store
        self._node = new_node() if home is None else load_node(home)
        self._sealer = Sealer(self._node, home)
        self._told_fault = False
        self._listeners: list[Callable[[], None]] = []
        self._notes: list[LogEntry] = []
        self._noting = False
        self.mask = Mask(self._node.salt)
        store.write(self._begin).result()
        self._held: list[_Placed] = []
        """What is written, and chained, as soon as somebody looks."""
        self._last = 0
        self._holds_back = store.postpone(self._write_held)
        self._home = home
        self._tell_fault()
        self.take_in()
        store.every(SEAL_SECONDS, self._is_unsealed, self._seal)
        if home is not None:
            neighbours = Neighbours(self._node.id, home, self._tell_neighbours)
            store.write(neighbours.learn)
            store.every(LOOK_SECONDS, neighbours.are_new, neighbours.learn)

    @property
    def writer(self) -> str:
        """Return whose chain this is."""
        return self._node.id

    @property
    def public_key(self) -> bytes:
        """Return the key that checks what this node signs."""
        return self._node.public_key

    def sign(self, message: bytes) -> bytes:
        """Sign something as this node."""
        return self._node.sign(message)

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Have a function called, from any thread, when this process has written; returns what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def prepare(self, event: Event, about: Any = None) -> LogEntry:
        """Make an event ready to be appended; better not in the writer's thread.

        `about` is the input of the call that it tells of: secrets in it are masked in the event.
        """
        return make_entry(event, self.mask, about)

    def append(self, cursor: Cursor, entries: Iterable[LogEntry]) -> None:
        """Append entries in a job of the store. Their positions are known once the job's future is."""
        for entry in entries:
            cursor.defer(self, entry)

    async def record(self, events: Sequence[Event]) -> tuple[int, ...]:
        """Append events and return their positions once they last."""
        entries = [self.prepare(event) for event in events]
        await self._store.commit(lambda cursor: self.append(cursor, entries))
        return tuple(entry.position for entry in entries)

    async def record_once(self, told: Sequence[tuple[str | None, Event]], *, again: bool) -> None:
        """Append events that whoever tells them may repeat, each by its name once; `again` says that some are repeated.

        How long a name is known here is the store's to say: for thousands of changes; the log has them all.
        """
        entries = [(name, self.prepare(event)) for name, event in told]
        await self._store.commit(lambda cursor: self._append_new(cursor, entries, again=again))

    async def find_told(self, names: Iterable[str]) -> frozenset[str]:
        """Return which of these names events were recorded by."""
        return await self._store.commit(lambda cursor: _find_told(cursor, tuple(names), since=0))

    def _append_new(self, cursor: Cursor, entries: list[tuple[str | None, LogEntry]], *, again: bool) -> None:
        since = 0 if again else int(cursor.fetch(_LAST_CHANGE)[0][0]) - LATE_REPORTS
        known = set(_find_told(cursor, tuple(name for name, _ in entries if name is not None), since=since))
        for name, entry in entries:
            if name in known:
                continue
            if name is not None:
                known.add(name)
                cursor.announce(REPORTS, name)
            self.append(cursor, (entry,))

    def take_in(self) -> None:
        """Append what processes left that did not wait for the store; each event once, whatever happens meanwhile."""
        home = self._home
        for name in [] if home is None else list_left(home):
            entries = [self.prepare(event) for event in _read_events(str(home), name)]
            self._store.write(functools.partial(self._take, str(home), name, entries))

    def _take(self, home: str, name: str, entries: list[LogEntry], cursor: Cursor) -> None:
        if not cursor.fetch("SELECT 1 FROM changes WHERE topic = ? AND ref = ?", SPOOL, name):
            cursor.announce(SPOOL, name)
            self.append(cursor, entries)
        cursor.after_commit(functools.partial(drop_left, home, name))

    def note(self, event: Event | LogEntry) -> None:
        """Append an event with whatever is written next, or soon; for what nobody's answer waits for."""
        self._notes.append(event if isinstance(event, LogEntry) else self.prepare(event))
        if not self._noting:
            self._noting = True
            self._store.every(NOTE_SECONDS, lambda _: bool(self._notes), self._write_notes)

    @property
    def fault(self) -> str | None:
        """Return why nothing is sealed any more; None while all is well."""
        return self._sealer.fault

    async def seal(self) -> None:
        """Seal what is not sealed yet."""
        await self._store.commit(self._seal)

    def close(self) -> None:
        """Write what was noted, and seal what is not sealed yet."""
        self._store.write(self._write_notes).result()
        self._store.write(self._seal).result()

    def _write_notes(self, cursor: Cursor) -> None:
        if self._notes:
            cursor.defer(self, None)

    def finish(self, cursor: Cursor, items: list[LogEntry | None]) -> None:
        """Write all entries of a transaction, and before them what was noted; or have them wait for a reader."""
        if noted := len(self._notes):
            items = [*self._notes[:noted], *items]
            # Kept until it lasts: a transaction that fails leaves it for the next one.
            cursor.after_commit(lambda: self._notes.__delitem__(slice(noted)))
        placed = [(cursor.now, entry) for entry in items if entry is not None]
        if self._holds_back:
            self._hold(cursor, placed)
        else:
            self._write(cursor, placed)
        if self._listeners:
            cursor.after_commit(self._tell)

    def _hold(self, cursor: Cursor, placed: list[_Placed]) -> None:
        """Say where entries will stand in a log that nobody else writes, and keep them."""
        for number, (_, entry) in enumerate(placed, self._last + 1):
            entry.position = entry.seq = number
        cursor.after_commit(lambda: self._keep(placed))

    def _keep(self, placed: list[_Placed]) -> None:
        self._last += len(placed)
        self._held += placed
        if len(self._held) > MOST_HELD:
            self._store.catch_up()

    def _write_held(self, cursor: Cursor) -> None:
        if self._held:
            self._write(cursor, self._held)
            cursor.after_commit(self._held.clear)

    def _write(self, cursor: Cursor, placed: list[_Placed]) -> None:
        """Chain entries and write them, with a seal wherever one is due."""
        writer, sealer = self._node.id, self._sealer
        seq, head, position = self._find_head(cursor)
        ends = sealer.take_over(cursor, seq, head)
        self._tell_fault()
        end, since = sealer.end, sealer.since
        first, rows = seq, []
        for at, entry in placed:
            if since is not None and abs(at - since) > SEAL_SECONDS:
                ends, since = [*ends, end], None
            since = at if since is None else since
            position += 1
            seq += 1
            row = (position, writer, seq, at, *entry.columns)
            head = hash_row(head, row)
            rows.append((*row, head))
            entry.position, entry.seq = position, seq
            end = End(seq, head, position)
            if seq % SEAL_EVERY == 0:
                ends, since = [*ends, end], None
        cursor.insert(_INSERT, rows)
        moved = cursor.execute(
            "UPDATE heads SET seq = ?, hash = ? WHERE writer = ? AND seq = ?", seq, head, writer, first
        )
        if moved != 1:
            raise StoreError("the head of the log moved")
        cursor.after_commit(lambda: sealer.move(end, since))
        sealer.put(cursor, ends)

    def _tell_fault(self) -> None:
        """Record once that the log was changed by somebody else, and is not sealed any more."""
        if self._sealer.fault is not None and not self._told_fault:
            self._told_fault = True
            reason = f"the log is not sealed any more: {self._sealer.fault}"
            self.note(_own_event("runtime.error", reason))

    def _tell_neighbours(self, cursor: Cursor, new: Keys) -> None:
        """Record whose keys are believed from now on, as the database has them."""
        for writer, key in new.items():
            reason = f"writer {visible(writer)} is new in this log: its key {key} is known from the database only"
            _log.warning("%s, and is believed from now on", reason)
            self.append(cursor, (self.prepare(_own_event("runtime.warning", reason)),))

    def _tell(self) -> None:
        for listener in tuple(self._listeners):
            listener()

    def _begin(self, cursor: Cursor) -> None:
        rows = cursor.fetch("SELECT seq, hash, key FROM heads WHERE writer = ?", self._node.id)
        if rows:
            seq, head, key = rows[0]
            check_key(self._node, bytes(key))
            self._sealer.resume(cursor, seq, bytes(head))
            return
        cursor.execute(
            "INSERT INTO heads (writer, seq, hash, key, created_at) VALUES (?, 0, ?, ?, ?)",
            self._node.id,
            genesis(self._node.id),
            self._node.public_key,
            cursor.now,
        )
        self._sealer.begin(cursor)

    def _find_head(self, cursor: Cursor) -> tuple[int, bytes, int]:
        rows = cursor.fetch(_HEAD, self._node.id)
        if not rows:
            raise StoreError("the head of the log is missing")
        seq, head, position = rows[0]
        return seq, bytes(head), position

    def _is_unsealed(self, cursor: Cursor) -> bool:
        return self._sealer.fault is None and bool(cursor.fetch(_UNSEALED, self._node.id))

    def _seal(self, cursor: Cursor) -> None:
        seq, head, _ = self._find_head(cursor)
        self._sealer.put(cursor, self._sealer.take_over(cursor, seq, head) or [self._sealer.end])
