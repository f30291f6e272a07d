"""The engine and a small second model, written from the documentation alone, give the same answers."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from assent.model import Mode, Verdict
from cases import decide, describe, engine_of, random_case, random_world, shrink
from reference import asked, covered, denied, judge, modes, perhaps_denied
from toyworld import Case, read

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNKS = 4
WORLDS = 1000
CALLS = 26


def _cases(chunk: int, worlds: int) -> Iterator[tuple[Case, Case]]:
    rng = random.Random(f"assent {chunk}")
    for _ in range(worlds):
        world = random_world(rng)
        for _ in range(CALLS):
            yield world, random_case(rng, world)


def _differ(case: Case, engine: object = None) -> bool:
    decision = decide(case, engine)
    verdict, boxed = judge(case)
    if decision.verdict is not verdict:
        return True
    return verdict is Verdict.ALLOW and (decision.boundary is not None) is not boxed


def _report(case: Case) -> str:
    least = shrink(case, _differ)
    theirs, (verdict, boxed) = decide(least), judge(least)
    ours = f"reference: {verdict}, boundary {boxed}"
    return f"{describe(least)}\n{ours}\nengine: {theirs.decision}: {theirs.decision_reason}"


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_engine_decides_as_the_reference_does(chunk):
    engine, of = None, None
    for world, case in _cases(chunk, WORLDS):
        if world is not of:
            engine, of = engine_of(world), world
        assert not _differ(case, engine), _report(case)


def test_the_cases_are_more_than_a_hundred_thousand():
    assert CHUNKS * WORLDS * CALLS >= 100_000


def test_the_cases_reach_every_mode_verdict_boundary_and_rule_effect():
    seen: Counter[object] = Counter()
    for _, case in _cases(0, WORLDS // 2):
        verdict, boxed = judge(case)
        seen.update([(mode, verdict) for mode in modes(case)])
        seen.update(["boundary"] if boxed and verdict is Verdict.ALLOW else [])
        operations = read(case)
        for op in operations:
            seen.update(["asked"] if asked(case, op, own=True) else [])
            seen.update(["firm"] if any(a.firm for a in asked(case, op, own=True)) else [])
            seen.update(["covered"] if covered(case, operations, op) else [])
            seen.update(["denied"] if denied(case, op) else [])
            seen.update(["perhaps denied"] if perhaps_denied(case, op) else [])
    possible = {(mode, verdict) for mode in Mode for verdict in Verdict}
    possible -= {(mode, Verdict.ASK) for mode in (Mode.PLAN, Mode.DONT_ASK)}
    wanted = {"boundary", "asked", "firm", "covered", "denied", "perhaps denied"} | possible
    assert {what for what in wanted if seen[what] < 10} == set()
