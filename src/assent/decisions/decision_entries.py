"""The log entries of decisions. A repeated call with the same decision gets its entry from a cache."""

from __future__ import annotations

from typing import Any

import msgspec

from assent.audit.entry import LogEntry
from assent.audit.log import Log
from assent.decisions.audit_events import evaluated
from assent.decisions.call_summary import secrets_of, summarise
from assent.model import Decision, Session, ToolCall
from assent.model.canonical_json import canonical

_MOST_CACHED = 1024
_LARGEST_CACHED = 16 * 1024


class DecisionEntries:
    """Makes log entries. The same decision on the same call, as an engine's cache returns it, has the same entry."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._cache: dict[str, _CachedEntry | None] = {}

    def make(self, call: ToolCall, session: Session, decision: Decision) -> LogEntry:
        """Return the entry of a decision, made now or cached."""
        entry = self._find(call, session, decision)
        if entry is None:
            event = evaluated(call, session, decision, summarise(call, decision.reading))
            entry = self._log.prepare(event, secrets_of(call))
            self._store(call, session, decision, entry)
        return entry

    def _find(self, call: ToolCall, session: Session, decision: Decision) -> LogEntry | None:
        cached = self._cache.get(decision.digest)
        if cached is None or cached.decision is not decision or cached.call != call or cached.session != session:
            return None
        return LogEntry(cached.columns)

    def _store(self, call: ToolCall, session: Session, decision: Decision, entry: LogEntry) -> None:
        if len(self._cache) >= _MOST_CACHED:
            self._cache.clear()
        again = decision.digest in self._cache and _is_worth_caching(call, decision, entry)
        # Most calls never repeat, so an entry is cached at the second call; the first leaves only its digest.
        self._cache[decision.digest] = _CachedEntry(decision, call, session, entry.columns) if again else None


def _is_worth_caching(call: ToolCall, decision: Decision, entry: LogEntry) -> bool:
    """Tell whether an entry is small, and its decision one that an engine may return again: no question, no ticket."""
    if decision.approval_action_id is not None or decision.updated_input_ref is not None:
        return False
    return len(entry.columns[-1]) <= _LARGEST_CACHED and len(canonical(call.input)) <= _LARGEST_CACHED


class _CachedEntry(msgspec.Struct, frozen=True):
    """An entry's columns, and everything that they were made of."""

    decision: Decision
    call: ToolCall
    session: Session
    columns: tuple[Any, ...]
