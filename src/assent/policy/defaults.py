"""What holds where no allow speaks: the path policy's default, and the mode's cell for the tier."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from assent.model import (
    ALLOW,
    ASK,
    COMMAND_EXECUTE,
    DENY,
    DESTRUCTIVE,
    FS_READ,
    FS_WRITE,
    SAFE,
    Consent,
    Mode,
    Operation,
    Opinion,
    Source,
    Verdict,
)
from assent.policy.call_view import View
from assent.policy.guard import Guard
from assent.policy.modes import Cell, ModeRow

_CLASSIFIER, _MODE = Source.CLASSIFIER, Source.MODE
_SAID: dict[Cell, Verdict] = {"allow": ALLOW, "ask": ASK, "deny": DENY}
"""Cells that say the same about everything."""
_DIMENSIONS = {FS_READ: "read", FS_WRITE: "write"}
_LONGEST_KEPT = 200
"""Characters of a reason of which the opinion is kept: longer ones do not come again."""
_STRICT, _UNTRUSTED = Mode.STRICT, Mode.UNTRUSTED


def defaults(
    index: int,
    row: ModeRow,
    view: View,
    guard: Guard,
    consent: Consent,
    spoken: Sequence[Opinion],
    *,
    held: bool,
) -> list[Opinion]:
    """Return the default opinions on one operation that nothing covers. `held`: a sandbox can contain the call."""
    operation = view.reading.operations[index]
    found: list[Opinion] = []
    kind = operation.kind
    if kind is not COMMAND_EXECUTE and not (kind is FS_READ and guard.reads_freely and not view.session.run):
        found = _at_the_edge(index, operation, view, guard)
    if guard.merged.unknown_repository is not ALLOW:
        found += _unseen_repository(index, operation, view, guard)
    opened = row.mode is _STRICT and any(o.opens for o in spoken)
    if operation.tier is DESTRUCTIVE and guard.merged.classifier and row.destructive == "deny":
        found.append(_blocked(index, operation, enabled=consent.destructive))
        opened |= not consent.destructive
    if not opened:
        cell = _cell(index, operation, row, guard, held=held)
        chosen = cell.verdict is ASK and _is_chosen(operation, guard)
        found.append(_by_choice(index, operation) if chosen else cell)
    return found


def _is_chosen(operation: Operation, guard: Guard) -> bool:
    """Tell whether a person replaced the default of such reads or writes by allow; what is destructive stays asked."""
    dimension = _DIMENSIONS.get(operation.kind)
    chosen = any(p.dimension == dimension and p.default is ALLOW for p in guard.patches)
    return chosen and operation.tier is not DESTRUCTIVE


def _by_choice(index: int, operation: Operation) -> Opinion:
    name = f"{_DIMENSIONS[operation.kind]}-path-policy"
    reason = "a person allows this by default in this run"
    return Opinion(verdict=ALLOW, source=Source.SESSION, policy=name, reason=reason, operation=index)


def looks(row: ModeRow, view: View, guard: Guard) -> list[Opinion] | None:
    """Return the opinions on a call that only looks, where nobody said anything and no default but its tier counts.

    None for every other call. These are what `defaults` gives: most calls are such, and are spared the way there.
    """
    merged, reading = guard.merged, view.reading
    if reading.tier is not SAFE or row.safe != "allow" or merged.embedded or merged.unknown_repository is not ALLOW:
        return None
    reads = guard.reads_freely and not view.session.run
    for operation in reading.operations:
        kind = operation.kind
        if kind is not COMMAND_EXECUTE and not (kind is FS_READ and reads):
            return None
    return [_cell(index, operation, row, guard, held=False) for index, operation in enumerate(reading.operations)]


def _at_the_edge(index: int, operation: Operation, view: View, guard: Guard) -> list[Opinion]:
    """Apply the path policy's default. The built-in one: writes (in runs also reads) outside the workspace ask."""
    if operation.kind is FS_WRITE:
        name, defaults = "write-path-policy", guard.defaults("write")
    elif operation.kind is FS_READ and (operation.resource.startswith("/") or not operation.known):
        name, defaults = "read-path-policy", guard.defaults("read")
    else:
        return []
    found = []
    for default in defaults:
        built_in = default.verdict is None
        verdict = default.verdict or _edge(operation, view, guard)
        if verdict is not ALLOW:
            where = "is outside the workspace" if built_in else "is not on the list of allowed paths"
            what = operation.resource if operation.known else "an unknown path"
            found.append(
                Opinion(
                    verdict=verdict,
                    source=Source.PATH_POLICY,
                    policy=name,
                    reason=f"{what} {where}",
                    operation=index,
                    built_in=built_in,
                )
            )
    return found


def _unseen_repository(index: int, operation: Operation, view: View, guard: Guard) -> list[Opinion]:
    """Apply `unknown_repository`: project settings that Assent cannot see may turn a look into code."""
    if view.facts.disk == "known" or not operation.obeys:
        return []
    verdict = guard.merged.unknown_repository
    reason = f"`{operation.shown}` reads project settings ({operation.obeys}) that Assent cannot see"
    return [Opinion(verdict=verdict, source=_CLASSIFIER, policy="classifier", reason=reason, operation=index)]


def _edge(operation: Operation, view: View, guard: Guard) -> Verdict:
    if guard.merged.embedded or (operation.kind is FS_READ and not (view.session.run or guard.run)):
        return ALLOW
    return ASK if view.traits(operation).outside else ALLOW


def _blocked(index: int, operation: Operation, *, enabled: bool) -> Opinion:
    return Opinion(
        verdict=ASK if enabled else DENY,
        source=Source.CLASSIFIER,
        policy="classifier",
        reason=operation.reason,
        operation=index,
        firm=enabled,
        built_in=True,
    )


def _cell(index: int, operation: Operation, row: ModeRow, guard: Guard, *, held: bool) -> Opinion:
    classifier, is_safe = guard.merged.classifier, operation.tier is SAFE
    cell: Cell = row.safe if is_safe or not classifier else row.dangerous
    if guard.merged.muted and row.mode is _UNTRUSTED:
        cell = "ask"
    verdict = _SAID.get(cell)
    sandboxed = False
    if verdict is None:
        verdict, sandboxed = _value(cell, operation, held=held)
    # The tier's own word is what the default mode would say; all else is the mode's.
    if classifier and not sandboxed and verdict is (ALLOW if is_safe else ASK):
        short = len(operation.reason) <= _LONGEST_KEPT
        return (_by_tier if short else _say_by_tier)(index, verdict, operation.reason)
    return Opinion(
        verdict=verdict,
        source=_MODE,
        policy="sandbox" if sandboxed else "mode",
        reason=f"{'runs in the sandbox' if sandboxed else by_mode(verdict, row.mode)}: {operation.reason}",
        operation=index,
        built_in=True,
    )


def _say_by_tier(index: int, verdict: Verdict, reason: str) -> Opinion:
    return Opinion(
        verdict=verdict,
        source=_CLASSIFIER,
        policy="classifier",
        reason=reason,
        operation=index,
        built_in=True,
    )


_by_tier = functools.lru_cache(maxsize=4096)(_say_by_tier)


def _value(cell: Cell, operation: Operation, *, held: bool) -> tuple[Verdict, bool]:
    """Return what a cell that depends says about an operation, and whether it must then run in the sandbox."""
    if cell in ("held-else-ask", "sandbox"):
        return (ALLOW if held else ASK), held
    if operation.reads:
        return ALLOW, False
    return (ASK if cell == "looks-else-ask" else DENY), False


_BY = {ALLOW: "allowed by", ASK: "approval required by", DENY: "denied by"}


def by_mode(verdict: Verdict, mode: Mode) -> str:
    """Say that a mode chose a verdict."""
    return f"{_BY[verdict]} mode {mode}"
