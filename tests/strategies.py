"""What hypothesis draws: cases of the toy world, and the pieces that properties add to them."""

from __future__ import annotations

import dataclasses
import random
from typing import TYPE_CHECKING, Any

import msgspec
from hypothesis import currently_in_test_context, note
from hypothesis import strategies as st

from assent.model import Consent, Layer, Mode, Policy, Rule
from cases import decide as ask_the_engine
from cases import (
    describe,
    random_call,
    random_case,
    random_grant,
    random_policy,
    random_rule,
    random_session,
    random_world,
)

if TYPE_CHECKING:
    from assent.model import Decision
    from toyworld import Case

_chance = st.integers(0, 2**32).map(random.Random)
"""Seeds, not single draws: a case has some fifty, and hypothesis would spend its time on them."""

cases = _chance.map(lambda rng: random_case(rng, random_world(rng)))
calls = _chance.map(random_call)
sessions = _chance.map(random_session)
grants = st.lists(_chance.map(random_grant), min_size=1, max_size=3).map(tuple)


def decide(case: Case) -> Decision:
    """Ask the product, and write the case down in case a property falls."""
    if currently_in_test_context():
        note(describe(case))
    return ask_the_engine(case)


def rules(effect: str) -> st.SearchStrategy[Rule]:
    """Draw a rule as it may stand in that list."""
    return _chance.map(lambda rng: random_rule(rng, effect))


def policies(layer: Layer) -> st.SearchStrategy[Policy]:
    """Draw what one layer says."""
    return _chance.map(lambda rng: random_policy(rng, layer))


def change(case: Case, **fields: Any) -> Case:
    """Return the case with other facts."""
    return dataclasses.replace(case, **fields)


def consenting(case: Case, **fields: Any) -> Case:
    """Return the case with other things said by people."""
    return change(case, consent=msgspec.structs.replace(case.consent, **fields))


def adding(case: Case, effect: str, rule: Rule, layer: Layer = Layer.USER) -> Case:
    """Return the case with one more rule, in that layer."""
    more = Policy(layer=layer, embedded=case.embedded, **{effect: (rule,)})
    mine = [p for p in case.policies if p.layer is layer]
    if not mine:
        return change(case, policies=(*case.policies, more))
    first = msgspec.structs.replace(mine[0], **{effect: (*getattr(mine[0], effect), rule)})
    return change(case, policies=tuple(first if p is mine[0] else p for p in case.policies))


def plain(case: Case) -> Case:
    """Return the case in the default mode with somebody to ask: a deny in it is nothing but a deny."""
    quiet = tuple(msgspec.structs.replace(p, mode=None, interactive=None) for p in case.policies)
    who = msgspec.structs.replace(case.session, interactive=True, modes=())
    return change(case, policies=quiet, session=who)


def unanswered(case: Case) -> Case:
    """Return the case before anybody said anything."""
    return change(case, consent=Consent())


def speaks_of(mode: Mode, case: Case) -> bool:
    """Tell whether somebody asks for this mode."""
    return mode in case.session.modes or any(p.mode is mode for p in case.policies)


def whole_tool(case: Case) -> Rule:
    """Return the rule that surely matches the call, whatever its input."""
    return Rule(tool=case.call.tool)
