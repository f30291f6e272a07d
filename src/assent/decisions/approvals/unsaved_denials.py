"""Noes that the store could not take: they hold at once in this process, and are written as soon as there is room.

A no makes nothing run, so it need not last before it counts. A daemon that ends before it wrote one asks again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from assent.decisions.approvals import transitions
from assent.decisions.errors import AlreadyAnsweredError
from assent.model import Answer, Approval, Grant, NotFoundError, State
from assent.store.cursor import Cursor

if TYPE_CHECKING:
    from assent.audit.log import Log
    from assent.store.store import Store

RETRY_SECONDS = 2.0
_log = logging.getLogger(__name__)


class _Kept(msgspec.Struct, frozen=True):
    approval: Approval
    write: Callable[[Cursor], object]


class Refusals:
    """The noes of this process that are not written yet."""

    def __init__(self, store: Store, log: Log) -> None:
        self._store = store
        self._log = log
        self._kept: dict[str, _Kept] = {}
        self._lock = threading.Lock()
        self._retries = False

    def keep(self, asked: Approval, answer: Answer, by: str, grant: Grant | None, expiry: float) -> Approval:
        """Have a no count now, for everyone who waits, and be written later; the first counts, as of all answers."""
        now = self._store.wall_clock()
        refused = msgspec.structs.replace(
            asked, state=State.REJECTED, answer=answer, by=by, resolved_at=now, call=None, decision=None
        )

        def write(cursor: Cursor) -> None:
            transitions.answer_question(cursor, self._log, asked.id, answer, by, grant=grant, expiry=expiry)

        with self._lock:
            if asked.id in self._kept:
                raise AlreadyAnsweredError(self._kept[asked.id].approval)
            self._kept[asked.id] = _Kept(refused, write)
            retries, self._retries = self._retries, True
        if not retries:
            self._store.every(RETRY_SECONDS, lambda _: bool(self._kept), self._write)
        self._store.tell(transitions.TOPIC, asked.id, refused)
        return refused

    def find(self, approval_id: str) -> Approval | None:
        """Return a question that was answered so."""
        kept = self._kept.get(approval_id)
        return None if kept is None else kept.approval

    def left(self, found: Iterable[Approval]) -> tuple[Approval, ...]:
        """Return the questions that were not answered so."""
        return tuple(approval for approval in found if approval.id not in self._kept)

    def _write(self, cursor: Cursor) -> None:
        with self._lock:
            kept = dict(self._kept)
        for each in kept.values():
            try:
                each.write(cursor)
            except AlreadyAnsweredError as error:
                # Such as by a yes of which nobody could tell whether it was written. The no is what people were told.
                transitions.take_back(cursor, self._log, error.approval, each.approval.by or "")
                _log.info("a question ended before the no to it could be written: %s", each.approval.id)
            except NotFoundError:
                _log.info("a question was gone before the no to it could be written: %s", each.approval.id)
        cursor.after_commit(lambda: self._forget(kept))

    def _forget(self, kept: Iterable[str]) -> None:
        with self._lock:
            for approval_id in kept:
                self._kept.pop(approval_id, None)
