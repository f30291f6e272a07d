"""Denials that the store could not write: they count at once in this process, and are written when the store can.

A denial lets nothing run, so it need not be durable before it counts. A daemon that stops before that asks again.
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


class _UnsavedDenial(msgspec.Struct, frozen=True):
    approval: Approval
    write: Callable[[Cursor], object]


class UnsavedDenials:
    """The denials of this process that are not written yet."""

    def __init__(self, store: Store, log: Log) -> None:
        self._store = store
        self._log = log
        self._unsaved: dict[str, _UnsavedDenial] = {}
        self._lock = threading.Lock()
        self._retries = False

    def add(self, asked: Approval, answer: Answer, by: str, grant: Grant | None, expiry: float) -> Approval:
        """Deny now for all waiting callers, and write it later. Raises `AlreadyAnsweredError` if one is here."""
        now = self._store.wall_clock()
        denied = msgspec.structs.replace(
            asked, state=State.REJECTED, answer=answer, by=by, resolved_at=now, call=None, decision=None
        )

        def write(cursor: Cursor) -> None:
            transitions.answer_question(cursor, self._log, asked.id, answer, by, grant=grant, expiry=expiry)

        with self._lock:
            if asked.id in self._unsaved:
                raise AlreadyAnsweredError(self._unsaved[asked.id].approval)
            self._unsaved[asked.id] = _UnsavedDenial(denied, write)
            retries, self._retries = self._retries, True
        if not retries:
            self._store.every(RETRY_SECONDS, lambda _: bool(self._unsaved), self._write)
        self._store.notify(transitions.TOPIC, asked.id, denied)
        return denied

    def find(self, approval_id: str) -> Approval | None:
        """Return a question whose denial is not written yet."""
        unsaved = self._unsaved.get(approval_id)
        return None if unsaved is None else unsaved.approval

    def exclude_from(self, found: Iterable[Approval]) -> tuple[Approval, ...]:
        """Return the questions without those whose denial is not written yet."""
        return tuple(approval for approval in found if approval.id not in self._unsaved)

    def _write(self, cursor: Cursor) -> None:
        with self._lock:
            unsaved = dict(self._unsaved)
        for each in unsaved.values():
            try:
                each.write(cursor)
            except AlreadyAnsweredError as error:
                # Such as by a yes of which nobody could tell whether it was written. People were told the denial.
                transitions.revoke_unused(cursor, self._log, error.approval, each.approval.by or "")
                _log.info("question %s ended before its denial could be written", each.approval.id)
            except NotFoundError:
                _log.info("question %s was deleted before its denial could be written", each.approval.id)
        cursor.after_commit(lambda: self._forget(unsaved))

    def _forget(self, unsaved: Iterable[str]) -> None:
        with self._lock:
            for approval_id in unsaved:
                self._unsaved.pop(approval_id, None)
