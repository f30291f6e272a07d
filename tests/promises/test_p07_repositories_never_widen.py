"""What a repository, a run or an agent says may only tighten; trust admits allow rules and no more."""

from __future__ import annotations

import msgspec
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from assent.model import Layer, Mode, PathPolicy, Policy, Rule, Session, ToolCall, Verdict
from cases import rule
from strategies import cases, change, decide, policies
from toyworld import Case

promise = settings(max_examples=300, deadline=None)


def _people_alone(case):
    return change(case, policies=tuple(p for p in case.policies if p.layer >= Layer.USER))


def _with(case, policy):
    return change(case, policies=(*case.policies, policy))


def _only_tightens(before, after):
    assert after.verdict >= before.verdict
    if after.verdict is Verdict.ALLOW:
        assert before.boundary is None or after.boundary is not None


def _without_allow(policy):
    def keep(paths: PathPolicy) -> PathPolicy:
        return msgspec.structs.replace(paths, allow=())

    return msgspec.structs.replace(policy, allow=(), read=keep(policy.read), write=keep(policy.write))


@promise
@given(cases, policies(Layer.PROJECT))
def test_an_untrusted_project_only_tightens(case, policy):
    assume(not case.embedded)
    alone = _people_alone(case)
    untrusted = msgspec.structs.replace(policy, trusted=False)
    _only_tightens(decide(alone), decide(_with(alone, untrusted)))


@promise
@given(cases, policies(Layer.RUN))
def test_a_run_only_tightens(case, policy):
    assume(not case.embedded)
    alone = _people_alone(case)
    _only_tightens(decide(alone), decide(_with(alone, policy)))


@promise
@given(cases, policies(Layer.PROJECT))
def test_trust_admits_nothing_but_allow_rules(case, policy):
    assume(not case.embedded)
    alone = _people_alone(case)
    trusted = msgspec.structs.replace(_without_allow(policy), trusted=True)
    _only_tightens(decide(alone), decide(_with(alone, trusted)))


@promise
@given(cases, st.lists(st.sampled_from(Mode), max_size=3).map(tuple))
def test_an_agents_modes_only_tighten(case, modes):
    alone = change(case, session=msgspec.structs.replace(case.session, modes=()))
    said = change(case, session=msgspec.structs.replace(case.session, modes=modes))
    _only_tightens(decide(alone), decide(said))


@promise
@given(cases)
def test_an_agents_call_does_not_move_the_workspace(case):
    outside = ToolCall(tool="Write", input={"file_path": "/etc/x", "content": "", "workspace": ["/"]}, cwd="/etc")
    known = change(case, session=Session(workspace=("/ws",)), policies=(), call=outside, hooks=(), hosts=())
    assert decide(known).verdict >= decide(change(known, call=msgspec.structs.replace(outside, cwd="/ws"))).verdict
    assert decide(known).verdict is not Verdict.ALLOW or known.consent.yes or known.consent.grants


def _install(*layers: Policy):
    call = ToolCall(tool="Bash", input={"command": "npm install"}, cwd="/ws")
    return decide(Case(call=call, session=Session(workspace=("/ws",)), policies=layers)).verdict


def test_a_projects_allow_counts_only_once_trusted():
    install = Policy(layer=Layer.PROJECT, allow=(rule("Bash(npm:*)"),))
    assert _install(msgspec.structs.replace(install, trusted=True)) is Verdict.ALLOW
    assert _install(msgspec.structs.replace(install, trusted=False)) is Verdict.ASK


def test_a_runs_allow_counts_never():
    assert _install(Policy(layer=Layer.RUN, allow=(Rule(tool="Bash"),))) is Verdict.ASK


def test_trust_never_admits_bypass_or_a_silent_classifier():
    for loose in ({"mode": Mode.BYPASS}, {"classifier": False}, {"mode": Mode.BYPASS, "classifier": False}):
        assert _install(Policy(layer=Layer.PROJECT, trusted=True, **loose)) is Verdict.ASK
        assert _install(Policy(layer=Layer.USER, **loose)) is Verdict.ALLOW


def test_a_projects_default_of_allow_does_not_open_the_edge():
    write = ToolCall(tool="Write", input={"file_path": "/etc/x", "content": ""}, cwd="/ws")
    project = Policy(layer=Layer.PROJECT, write=PathPolicy(default=Verdict.ALLOW))
    case = Case(call=write, session=Session(workspace=("/ws",)), policies=(project,))
    assert decide(case).verdict is Verdict.ASK


def test_a_projects_question_opens_nothing_in_strict():
    asking = Policy(layer=Layer.PROJECT, ask=(Rule(tool="Bash"),))
    strict = Policy(mode=Mode.STRICT)
    assert _install(strict) is Verdict.DENY
    assert _install(strict, asking) is Verdict.DENY
    assert _install(strict, msgspec.structs.replace(asking, layer=Layer.RUN)) is Verdict.DENY
    assert _install(Policy(mode=Mode.STRICT, ask=asking.ask)) is Verdict.ASK


def test_a_projects_classifier_lets_nothing_through_in_untrusted():
    read = ToolCall(tool="Read", input={"file_path": "/ws/src/a.py"}, cwd="/ws")
    silent = Policy(mode=Mode.UNTRUSTED, classifier=False)
    for more in (
        (),
        (Policy(layer=Layer.PROJECT, classifier=True),),
        (Policy(layer=Layer.RUN, classifier=True),),
    ):
        case = Case(call=read, session=Session(workspace=("/ws",)), policies=(silent, *more))
        assert decide(case).verdict is Verdict.ASK
