"""What the events of a call have in common: its decision, the boundary it ran in, and what was stopped there."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

import msgspec

from assent.audit.search import Query, Record, find, read_record
from assent.model import Decision, Event, SandboxProfile, Violation
from assent.store.store import Store

CONSTRAINED = ("tool.", "process.", "sandbox.")
"""Families of events that happen to a call once it was decided."""
_DECIDED = ("permission.evaluated", "sandbox.applied", "sandbox.violation")
_LOOK_BACK = 300
"""How many records of each kind are looked through for a call that began before a reader came."""
_MOST_REMEMBERED = 4096
_event = msgspec.json.Decoder(Event)


class CallFacts(msgspec.Struct, frozen=True):
    """What is known of one call so far."""

    decision: Decision | None = None
    profile: SandboxProfile | None = None
    stopped: tuple[tuple[str, Violation], ...] = ()
    """What the boundary stopped, each with the id of its event."""

    def plus(self, record: Record, event: Event) -> CallFacts:
        """Add what one event tells."""
        facts = self
        if event.permission_decision is not None:
            facts = CallFacts(event.permission_decision)
        if event.sandbox_profile is not None:
            facts = msgspec.structs.replace(facts, profile=event.sandbox_profile)
        if event.violation is not None:
            facts = msgspec.structs.replace(facts, stopped=(*facts.stopped, (id_of(record, event), event.violation)))
        return facts


NOTHING_KNOWN = CallFacts()


class Correlation:
    """Remembers the calls of the sessions that one reader follows."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: OrderedDict[tuple[str, str, str], CallFacts] = OrderedDict()

    async def find(self, record: Record, event: Event) -> CallFacts:
        """Return what is known of the call that an event is about, the event itself included."""
        names = _names(event)
        if not names or not record.type.startswith((*CONSTRAINED, "permission.evaluated")):
            return NOTHING_KNOWN
        keys = [(record.user, record.session, name) for name in names]
        facts = next((self._known[key] for key in keys if key in self._known), None)
        if facts is None:
            facts = await self._look_back(record, names) if record.type.startswith(CONSTRAINED) else NOTHING_KNOWN
        facts = facts.plus(record, event)
        for key in keys:
            self._known[key] = facts
            self._known.move_to_end(key)
        while len(self._known) > _MOST_REMEMBERED:
            self._known.popitem(last=False)
        return facts

    async def _look_back(self, record: Record, names: frozenset[str]) -> CallFacts:
        """Gather what was on record of a call before this reader came."""
        found: list[Record] = []
        for kind in _DECIDED:
            query = Query(type=kind, session=record.session, user=record.user)
            rows = await self._store.query(find(query, before=record.position, limit=_LOOK_BACK))
            found += map(read_record, rows)
        return _fold(sorted(found, key=lambda r: r.position), names)


def _fold(records: Iterable[Record], names: frozenset[str]) -> CallFacts:
    facts = NOTHING_KNOWN
    for record in records:
        event = _event.decode(record.body)
        if names & _names(event):
            facts = facts.plus(record, event)
    return facts


def _names(event: Event) -> frozenset[str]:
    """Return what ties an event to its call: the call's id, or else the digest of what was decided about."""
    if event.tool_call_id:
        return frozenset((f"call {event.tool_call_id}",))
    decided = event.permission_decision
    digest = event.payload.get("digest") if decided is None else decided.digest
    return frozenset((f"digest {digest}",)) if digest else frozenset()


def id_of(record: Record, event: Event) -> str:
    """Return an event's id: its own, or its place in its writer's chain."""
    return event.event_id or f"evt_{record.writer}_{record.seq}"
