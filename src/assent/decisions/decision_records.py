"""The records of decisions: made before they are written, and once for a call that comes again."""

from __future__ import annotations

from typing import Any

import msgspec

from assent.audit.entry import LogEntry
from assent.audit.log import Log
from assent.decisions.audit_events import evaluated
from assent.decisions.call_summary import secrets_of, summarise
from assent.model import Decision, Session, ToolCall
from assent.model.canonical_json import canonical

_MOST_KEPT = 1024
_LARGEST_KEPT = 16 * 1024


class Records:
    """Makes entries for the log. A decision that an engine remembered, on the same call, has the same record."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._kept: dict[str, _Kept | None] = {}

    def make(self, call: ToolCall, session: Session, decision: Decision) -> LogEntry:
        """Make one record, or the same again."""
        entry = self._recall(call, session, decision)
        if entry is None:
            event = evaluated(call, session, decision, summarise(call, decision.reading))
            entry = self._log.prepare(event, secrets_of(call))
            self._keep(call, session, decision, entry)
        return entry

    def _recall(self, call: ToolCall, session: Session, decision: Decision) -> LogEntry | None:
        kept = self._kept.get(decision.digest)
        if kept is None or kept.decision is not decision or kept.call != call or kept.session != session:
            return None
        return LogEntry(kept.columns)

    def _keep(self, call: ToolCall, session: Session, decision: Decision, entry: LogEntry) -> None:
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        again = decision.digest in self._kept and _is_worth_keeping(call, decision, entry)
        # Most calls never come again: of one that comes for the first time no more is kept than that it came.
        self._kept[decision.digest] = _Kept(decision, call, session, entry.columns) if again else None


def _is_worth_keeping(call: ToolCall, decision: Decision, entry: LogEntry) -> bool:
    """Tell whether a record is small, and of a decision that an engine may give again: none that waits for somebody."""
    if decision.approval_action_id is not None or decision.updated_input_ref is not None:
        return False
    return len(entry.columns[-1]) <= _LARGEST_KEPT and len(canonical(call.input)) <= _LARGEST_KEPT


class _Kept(msgspec.Struct, frozen=True):
    """A record's columns, and all that they were made of."""

    decision: Decision
    call: ToolCall
    session: Session
    columns: tuple[Any, ...]
