"""Which daemons live: each that has runs says so now and then, and whoever finds one silent ends its runs.

A daemon that was only away finds its runs ended in the same look, and does no more of them. Its row says until when it
is believed to live, by the store's clock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from assent.runs.context import RunContext
from assent.runs.crash_recovery import SILENT, close_abandoned, end_runs, find_active
from assent.runs.records import RunRecord
from assent.store.cursor import Cursor

BEATS = 3
"""How often a daemon speaks up in the time after which it counts as silent."""
_RENEW = "INSERT INTO nodes (id, until) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET until = excluded.until"
_SILENT = (
    "SELECT DISTINCT runs.node FROM runs JOIN nodes ON nodes.id = runs.node "
    "WHERE runs.status IN ('pending', 'running') AND runs.node <> ? AND nodes.until <= ?"
)

Standing: TypeAlias = Callable[[], tuple[Collection[str], Mapping[str, RunRecord]]]
"""Returns, from any thread, which runs this daemon does, and those whose end it could not write down."""


class Lease:
    """One daemon's word that it lives."""

    def __init__(self, context: RunContext, node: str, seconds: float) -> None:
        self._context = context
        self._node = node
        self._seconds = seconds

    def renew(self, cursor: Cursor) -> None:
        """Say that this daemon lives, in a job of the store; a run is written with this word, and never without."""
        cursor.execute(_RENEW, self._node, cursor.now + self._seconds)

    def keep(self, standing: Standing, tell: Callable[[Collection[str], Collection[str]], None]) -> None:
        """Speak up for as long as there are runs, and end those of silent daemons.

        `tell` is given, in the store's thread, the runs that another daemon ended because this one was away, and those
        whose end is on record now.
        """

        def is_needed(cursor: Cursor) -> bool:
            return any(standing()) or bool(_find_silent(cursor, self._node))

        def work(cursor: Cursor) -> None:
            here, unwritten = standing()
            end_runs(cursor, self._context, unwritten)
            lost = self.beat(cursor, here)
            cursor.after_commit(lambda: tell(lost, tuple(unwritten)))
            if _find_silent(cursor, self._node):
                cursor.after_commit(again)

        def again() -> None:
            store.write(work)

        store = self._context.store
        store.every(self._seconds / BEATS, is_needed, work)

    def beat(self, cursor: Cursor, here: Collection[str]) -> set[str]:
        """Speak up for the runs that are done here, end some of silent daemons, and return those that others ended."""
        if here:
            self.renew(cursor)
        for silent in _find_silent(cursor, self._node):
            close_abandoned(cursor, self._context, silent, SILENT)
        return set(here) - set(find_active(cursor, self._node))


def _find_silent(cursor: Cursor, node: str) -> tuple[str, ...]:
    return tuple(name for (name,) in cursor.fetch(_SILENT, node, cursor.now))
