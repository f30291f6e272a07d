"""Reading lines in one fixed place, for tests."""

from __future__ import annotations

from assent.analysis.lines.commands import read_line
from assent.analysis.resources.paths import Place
from assent.model import Facts, Operation, OperationKind, Tier

PLACE = Place(Facts(home="/home/u", exists="/code/app/x.db".__eq__), "/code/app", ("/code/app",))
"""Of its files one is known to be there."""


def operations(line: str | list[str], place: Place = PLACE) -> tuple[Operation, ...]:
    return read_line(line, place)[0]


def worst(line: str | list[str], place: Place = PLACE) -> Operation:
    return max(operations(line, place), key=lambda o: o.tier.rank)


def tier(line: str | list[str], place: Place = PLACE) -> Tier:
    return worst(line, place).tier


def commands(line: str | list[str], place: Place = PLACE) -> list[str]:
    """Return every command found, as text."""
    return [o.resource for o in operations(line, place) if o.kind is OperationKind.COMMAND_EXECUTE and o.argv]


def touched(line: str | list[str], place: Place = PLACE) -> list[tuple[str, str]]:
    """Return everything but commands: what is read, written, run and contacted."""
    return [(o.kind.value, o.resource) for o in operations(line, place) if o.kind is not OperationKind.COMMAND_EXECUTE]
