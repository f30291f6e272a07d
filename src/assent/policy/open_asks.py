"""What people and modes do to open asks: take them away, or turn them into denies. A deny stays."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence

import msgspec

from assent.model import ALLOW, ASK, DENY, FS_WRITE, SAFE, Mode, Operation, Opinion, Source
from assent.policy.call_view import View
from assent.policy.coverage import Coverage
from assent.policy.guard import Guard
from assent.policy.modes import ModeRow

SAID_YES = "a person approved this call"
_verdict = operator.attrgetter("verdict")


def settle(
    index: int, row: ModeRow, view: View, guard: Guard, spoken: Sequence[Opinion], coverage: Coverage
) -> Sequence[Opinion]:
    """Return all opinions on one operation, each open ask answered, overruled, or turned into a deny."""
    if guard.merged.embedded and row.mode is Mode.BYPASS:
        spoken = list(_bypass(index, spoken))
    if row.covered == "allow" and ASK not in map(_verdict, spoken):
        return spoken
    settled: list[Opinion] = []
    soft = any(o.verdict is ASK and not o.firm and o.overruled is None for o in spoken)
    granted = coverage.granted_by(index) if soft else None
    for opinion in spoken:
        if opinion.verdict is ASK and opinion.overruled is None:
            settled += _answer(index, opinion, row, view, guard, granted=granted, yes=coverage.consent.yes)
        else:
            settled.append(opinion)
    if row.covered == "looks-else-deny" and not view.reading.operations[index].reads:
        settled.append(_by_mode(index, f"mode {row.mode} allows reading only"))
    return settled


def _bypass(index: int, spoken: Sequence[Opinion]) -> Iterator[Opinion]:
    """Keep the protections alone, as an embedded policy's bypass promises."""
    for opinion in spoken:
        if opinion.source is Source.PROTECTION:
            yield opinion
        else:
            yield msgspec.structs.replace(opinion, overruled=f"mode {Mode.BYPASS}")
    yield Opinion(
        verdict=ALLOW,
        source=Source.MODE,
        policy="mode",
        reason=f"mode {Mode.BYPASS}",
        operation=index,
    )


def _answer(
    index: int, ask: Opinion, row: ModeRow, view: View, guard: Guard, *, granted: str | None, yes: bool
) -> Iterator[Opinion]:
    operation = view.reading.operations[index]
    if yes:
        yield msgspec.structs.replace(ask, overruled=SAID_YES)
        yield _allow(index, Source.PERSON, "person", SAID_YES)
    elif granted is not None and not ask.firm:
        yield msgspec.structs.replace(ask, overruled=granted)
        source = Source.SESSION if not granted.startswith("grant ") else Source.GRANT
        yield _allow(index, source, granted, f"covered by {granted}")
    elif not ask.firm and _loosens(row, operation, view, guard):
        yield msgspec.structs.replace(ask, overruled=f"mode {row.mode}")
        yield _allow(index, Source.MODE, "mode", f"mode {row.mode} does not ask about this")
    elif _tightens(row, ask):
        yield ask
        yield _by_mode(index, f"mode {row.mode} never asks: {ask.reason}")
    elif not (view.session.interactive and guard.merged.interactive):
        yield ask
        yield Opinion(
            verdict=DENY,
            source=Source.NOT_INTERACTIVE,
            policy="mode",
            reason=f"nobody can be asked here: {ask.reason}",
            operation=index,
        )
    else:
        yield ask


def _loosens(row: ModeRow, operation: Operation, view: View, guard: Guard) -> bool:
    rule = row.open_ask
    if rule != "allow-edits":
        return rule == "allow"
    if view.reading.tool not in ("Write", "Edit") or operation.kind is not FS_WRITE:
        return False
    if guard.merged.embedded:
        return True
    inside = not view.place.workspace or view.traits(operation).inside
    return inside and operation.tier is SAFE and not operation.secret


def _tightens(row: ModeRow, ask: Opinion) -> bool:
    rule = row.open_ask
    return rule == "deny" or (rule == "deny-built-in" and ask.built_in)


def _allow(index: int, source: Source, policy: str, reason: str) -> Opinion:
    return Opinion(verdict=ALLOW, source=source, policy=policy, reason=reason, operation=index)


def _by_mode(index: int, reason: str) -> Opinion:
    return Opinion(verdict=DENY, source=Source.MODE, policy="mode", reason=reason, operation=index, built_in=True)
