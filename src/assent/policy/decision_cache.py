"""Decisions on lines that come again.

A decision is given again only to a call that is the same in every respect, from the same guard, and only if the world
still answers every question as it did then: a link that leads elsewhere, a repository's new setting or a program that
was not there before make it forgotten.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from assent.analysis.fact_log import Witness
from assent.analysis.resources.paths import Place
from assent.model import Decision, Facts, Session, ToolCall
from assent.policy.guard import Guard
from assent.policy.rules.match import Matcher

Key: TypeAlias = tuple[Any, ...]

MOST = 1_024
"""Decisions that are kept."""
HEAVIEST = 8_000_000
"""What they may weigh together, in bytes, by a rough estimate."""
_PLAIN = frozenset((str, int, bool, type(None)))
"""Values of one of these types that are equal are the same in every respect."""


class CachedDecision(msgspec.Struct, frozen=True):
    """A decision on a call, and what else it rests on."""

    decision: Decision
    guard: Guard
    linked: tuple[tuple[Matcher, ...], ...]
    """The rules whose own folder was, or lay behind, a symbolic link."""
    world: tuple[Any, ...]
    witness: Witness
    weight: int
    """How many bytes it may take: an estimate, and a generous one."""


class DecisionCache:
    """The decisions of one engine, the least recently used of which are forgotten first."""

    def __init__(self, most: int = MOST, heaviest: int = HEAVIEST) -> None:
        self._most = most
        self._heaviest = heaviest
        self._kept: OrderedDict[Key, CachedDecision] = OrderedDict()
        self._weight = 0
        self._seen: set[int] = set()
        self._lock = threading.Lock()

    def recall(self, key: Key, guard: Guard, place: Place) -> Decision | None:
        """Return the decision on a call that is the same, if nothing has changed since."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or kept.guard is not guard:
                return None
            self._kept.move_to_end(key)
        facts = place.facts
        if kept.world != world_of(facts) or kept.linked != guard.linked(place) or not kept.witness.holds(facts):
            return None
        return kept.decision

    def expects(self, given: Mapping[str, Any]) -> bool:
        """Tell whether such an input was seen before; one that holds more than plain values never is."""
        try:
            name = hash(tuple(given.values()))
        except TypeError:
            return False
        if name in self._seen:
            return True
        if len(self._seen) >= 4 * self._most:
            self._seen.clear()
        self._seen.add(name)
        return False

    def keep(self, key: Key, kept: CachedDecision) -> None:
        """Remember a decision; one that is very large is not worth it, and one that rests on a fault is not sure."""
        if kept.weight * 64 > self._heaviest or kept.witness.faults:
            return
        with self._lock:
            self._forget(key)
            self._kept[key] = kept
            self._weight += kept.weight
            while len(self._kept) > self._most or self._weight > self._heaviest:
                self._forget(next(iter(self._kept)))

    def _forget(self, key: Key) -> None:
        old = self._kept.pop(key, None)
        self._weight -= 0 if old is None else old.weight

    def __len__(self) -> int:
        return len(self._kept)


def key_of(call: ToolCall, session: Session, place: Place, expired: int) -> Key | None:
    """Name a call by all of it that a decision may look at; None if its input holds more than plain values.

    `expired` tells how many rules no longer hold.
    """
    given = call.input
    kinds = tuple(map(type, given.values()))
    if not _PLAIN.issuperset(kinds):
        return None
    where = (call.cwd, place.workspace, place.linked, place.ambient)
    return call.tool, where, session, call.override, expired, tuple(given), kinds, tuple(given.values())


def weigh(call: ToolCall, decision: Decision, witness: Witness) -> int:
    """Estimate what it takes to keep a decision: each of several operations may name much of the line."""
    texts = sum([len(v) for v in call.input.values() if isinstance(v, str)])
    parts = 2 * len(decision.reading.operations) + len(decision.opinions) + witness.count
    return 2_000 + 64 * texts + 500 * parts


def world_of(facts: Facts) -> tuple[Any, ...]:
    """Return what is known of the world without asking."""
    return (
        facts.home,
        facts.disk,
        facts.path,
        facts.case_insensitive,
        facts.assent_paths,
        facts.assent_files,
        facts.assent_endpoints,
        facts.sandbox,
        facts.sandbox_writes,
        facts.sandbox_hosts,
    )
