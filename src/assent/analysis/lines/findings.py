"""What is found while a line is read: operations in order, and the first reason why some of it cannot be read."""

from __future__ import annotations

import operator
from collections.abc import Iterable

import msgspec

from assent.analysis.budget import TOO_MUCH, Meter
from assent.analysis.programs.embedded_code import CodeJudgement
from assent.model import NET_CONNECT, Operation, Tier

MOST_OPERATIONS = 1_000
"""Things that a line may do: a bound on the work, since each of them is looked at one by one."""
_TOO_MANY = f"the command does more than {MOST_OPERATIONS} things"
_kind = operator.attrgetter("kind")


class Findings:
    """Collects operations. Tiers only ever rise."""

    unreadable: str | None = None

    def __init__(self, meter: Meter) -> None:
        self.operations: list[Operation] = []
        self.meter = meter

    def add(self, operation: Operation) -> int:
        """Keep an operation and return its index."""
        self.operations.append(operation)
        return len(self.operations) - 1

    def extend(self, operations: Iterable[Operation]) -> None:
        """Keep several operations; those that would come after too many are not even looked for."""
        if self.meter.left >= 0 and len(self.operations) < MOST_OPERATIONS:
            self.operations.extend(operations)
        else:
            self.blur(TOO_MUCH if self.meter.left < 0 else _TOO_MANY)

    @property
    def full(self) -> bool:
        """Tell whether there are too many; then the line cannot be read."""
        if self.meter.left >= 0 and len(self.operations) < MOST_OPERATIONS:
            return False
        self.extend(())
        return True

    def blur(self, reason: str) -> None:
        """Say that some of the line cannot be read."""
        self.unreadable = self.unreadable or reason

    def worsen(self, index: int, tier: Tier, reason: str, impact: str = "", rollback: str = "") -> None:
        """Raise an operation's tier; an equal or lower tier changes nothing."""
        old = self.operations[index]
        if tier > old.tier:
            self.operations[index] = msgspec.structs.replace(
                old, tier=tier, reason=reason, impact=impact or old.impact, rollback=rollback or old.rollback
            )

    def judge_anew(self, index: int, said: CodeJudgement) -> None:
        """Give an operation another tier and reason than it has."""
        self.operations[index] = msgspec.structs.replace(
            self.operations[index],
            tier=said.tier,
            reason=said.reason,
            impact=said.impact or None,
            rollback=said.rollback or None,
        )

    def obey(self, index: int, settings: str) -> None:
        """Note whose project settings a command obeys, where nothing said so before."""
        old = self.operations[index]
        if not old.obeys:
            self.operations[index] = msgspec.structs.replace(old, obeys=settings)

    def connects(self, start: int) -> bool:
        """Tell whether something found since then uses the network."""
        return NET_CONNECT in map(_kind, self.operations[start:])
