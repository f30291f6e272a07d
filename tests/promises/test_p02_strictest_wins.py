"""The strictest opinion wins, whatever the order: no answer is weakened by more rules, a grant or a yes."""

from __future__ import annotations

import random

import msgspec
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from assent.model import Consent, Layer, Mode, Policy, Rule, Verdict
from strategies import (
    adding,
    cases,
    change,
    consenting,
    decide,
    grants,
    plain,
    rules,
    speaks_of,
    unanswered,
    whole_tool,
)
from toyworld import LINES, UNREADABLE

promise = settings(max_examples=200, deadline=None)

layers = st.sampled_from(Layer)
FIRST = tuple(line for line in LINES if line not in {UNREADABLE, "$X y"})
"""Lines that leave the reading of what follows alone: an open quote swallows it, `$X` may be a `cd`."""
LISTS = ("allow", "ask", "deny", "forbidden")


def _shuffled(policy: Policy, rng: random.Random) -> Policy:
    lists = {name: tuple(rng.sample(items, len(items))) for name in LISTS if (items := getattr(policy, name))}
    return msgspec.structs.replace(policy, **lists)


def _unconditional(case) -> bool:
    return case.embedded and speaks_of(Mode.BYPASS, case)


@promise
@given(cases, st.integers(0, 1000))
def test_order_independent(case, seed):
    rng = random.Random(seed)
    shuffled = [_shuffled(p, rng) for p in rng.sample(case.policies, len(case.policies))]
    before, after = decide(case), decide(change(case, policies=tuple(shuffled)))
    assert (before.verdict, before.boundary) == (after.verdict, after.boundary)


@promise
@given(cases, layers)
def test_deny_trumps_allow(case, layer):
    assume(not _unconditional(case))
    layer = Layer.USER if case.embedded else layer
    allowed = adding(case, "allow", msgspec.structs.replace(whole_tool(case), destructive=True))
    assert decide(adding(allowed, "deny", whole_tool(case), layer)).verdict is Verdict.DENY


@promise
@given(cases, layers)
def test_ask_trumps_allow(case, layer):
    assume(not case.embedded)
    allowed = adding(plain(unanswered(case)), "allow", whole_tool(case))
    assert decide(adding(allowed, "ask", whole_tool(case), layer)).verdict >= Verdict.ASK


@promise
@given(cases, layers, rules("deny"))
def test_adding_a_deny_never_weakens(case, layer, rule):
    layer = Layer.USER if case.embedded else layer
    assert decide(adding(case, "deny", rule, layer)).verdict >= decide(case).verdict


@promise
@given(cases, layers, rules("ask"))
def test_adding_an_ask_never_weakens(case, layer, rule):
    assume(not speaks_of(Mode.STRICT, case))
    layer = Layer.USER if case.embedded else layer
    assert decide(adding(case, "ask", rule, layer)).verdict >= decide(case).verdict


@promise
@given(cases, rules("ask"))
def test_adding_an_ask_in_strict_opens_at_most_a_question(case, rule):
    strict = unanswered(change(case, policies=(Policy(mode=Mode.STRICT),)))
    before, after = decide(strict), decide(adding(strict, "ask", rule))
    assert after.verdict >= min(before.verdict, Verdict.ASK)


@promise
@given(cases, layers, rules("allow"))
def test_adding_an_allow_never_overrides_a_deny(case, layer, rule):
    layer = Layer.USER if case.embedded else layer
    denied = adding(case, "deny", whole_tool(case), layer)
    assert decide(adding(denied, "allow", rule, layer)).verdict is decide(denied).verdict


@promise
@given(cases, layers, rules("allow"))
def test_adding_an_allow_never_overrides_an_ask(case, layer, rule):
    layer = Layer.USER if case.embedded else layer
    asked = adding(plain(unanswered(case)), "ask", whole_tool(case), layer)
    assert decide(adding(asked, "allow", rule, layer)).verdict >= Verdict.ASK


@promise
@given(cases)
def test_a_yes_never_removes_a_boundary(case):
    before, after = (decide(consenting(case, yes=yes)) for yes in (False, True))
    if before.verdict is not Verdict.DENY:
        assert after.boundary == before.boundary


@promise
@given(cases)
def test_a_yes_never_lifts_a_deny(case):
    before, after = (decide(consenting(plain(case), yes=yes)) for yes in (False, True))
    assert (after.verdict is Verdict.DENY) is (before.verdict is Verdict.DENY)


@promise
@given(cases)
def test_a_yes_answers_every_question(case):
    assert decide(consenting(case, yes=True)).verdict is not Verdict.ASK


@promise
@given(cases, grants)
def test_a_grant_never_lifts_a_deny(case, some):
    before, after = decide(plain(unanswered(case))), decide(plain(consenting(unanswered(case), grants=some)))
    assert (after.verdict is Verdict.DENY) is (before.verdict is Verdict.DENY)


@promise
@given(cases, grants, st.booleans())
def test_a_grant_never_answers_a_firm_ask(case, some, managed):
    assume(not case.embedded)
    firm = msgspec.structs.replace(whole_tool(case), every_time=not managed)
    asked = adding(plain(case), "ask", firm, Layer.MANAGED if managed else Layer.USER)
    assert decide(change(asked, consent=Consent(grants=some))).verdict >= Verdict.ASK


@promise
@given(cases, grants)
def test_a_grant_never_removes_a_boundary(case, some):
    before, after = (decide(consenting(case, yes=False, grants=each)) for each in ((), some))
    if before.verdict is not Verdict.DENY:
        assert after.boundary == before.boundary


@promise
@given(cases)
def test_enabling_the_destructive_never_allows_by_itself(case):
    before, after = (decide(change(case, consent=Consent(destructive=on))) for on in (False, True))
    assert after.verdict in {before.verdict, Verdict.ASK}


@promise
@given(cases, st.sampled_from(FIRST), st.sampled_from((*FIRST, "$X y")), st.sampled_from(("&&", ";", "|")))
def test_a_line_is_at_least_as_strict_as_each_part(case, left, right, joint):
    def verdict(line: str) -> Verdict:
        call = msgspec.structs.replace(case.call, tool="Bash", input={"command": line})
        return decide(change(case, call=call)).verdict

    assert verdict(f"{left} {joint} {right}") >= max(verdict(left), verdict(right))


@promise
@given(cases, rules("deny"))
def test_what_lost_stays_in_the_record(case, rule):
    denied = adding(case, "deny", Rule(tool=case.call.tool, reason="not here"))
    refs = {opinion.rule for opinion in decide(adding(denied, "deny", rule)).opinions}
    assert _unconditional(case) or any(ref and ref.startswith(case.call.tool) for ref in refs)
