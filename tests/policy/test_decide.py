"""Decisions: who they come from, what they name, and which boundary they carry."""

from __future__ import annotations

import msgspec
import pytest

from assent.model import (
    Consent,
    Grant,
    Layer,
    Opinion,
    PathPolicy,
    Rule,
    SandboxProfile,
    Session,
    Source,
    ToolCall,
    Verdict,
    bound_digest,
)
from assent.policy.coverage import exact_digest
from assent.policy.guard import Guard, SessionDecision
from assent.policy.layers import merge
from assent.policy.sandbox_profiles import LIMITS
from scenes import (
    DANGEROUS,
    DESTRUCTIVE,
    NOBODY,
    SESSION,
    connects,
    judge,
    look,
    policy,
    reads,
    run,
    world,
    writes,
)

ALLOW, ASK, DENY = Verdict
MAKE = look(run("make", DANGEROUS))
LS = look(run("ls"))


def voice(verdict, source, **more):
    return Opinion(verdict=verdict, source=source, policy="voice", reason="said so", **more)


SOURCES = {
    "an allow rule": (Source.RULE, ALLOW, judge(MAKE, policy(allow=["Bash(make)"]))),
    "a deny rule": (Source.RULE, DENY, judge(MAKE, policy(deny=["Bash(make)"]))),
    "a safe tier": (Source.CLASSIFIER, ALLOW, judge(LS)),
    "a dangerous tier": (Source.CLASSIFIER, ASK, judge(MAKE)),
    "a destructive tier": (Source.CLASSIFIER, DENY, judge(look(run("x", DESTRUCTIVE)))),
    "a mode that denies": (Source.MODE, DENY, judge(LS, policy(mode="strict"))),
    "a mode that passes": (Source.MODE, ALLOW, judge(MAKE, policy(mode="bypassPermissions"))),
    "a mode that turns an ask": (Source.MODE, DENY, judge(MAKE, policy(mode="dontAsk"), policy(ask=["Bash"]))),
    "a mode that drops an ask": (Source.MODE, ALLOW, judge(LS, policy(mode="bypassPermissions", ask=["Bash"]))),
    "a muted classifier": (Source.MODE, ALLOW, judge(MAKE, policy(classifier=False))),
    "the sandbox": (
        Source.MODE,
        ALLOW,
        judge(look(run("make", DANGEROUS), facts=world(sandbox=True)), policy(mode="auto")),
    ),
    "a protection": (Source.PROTECTION, ASK, judge(look(reads("/ws/.env", secret=True), tool="Read"))),
    "a path policy": (Source.PATH_POLICY, ASK, judge(look(writes("/tmp/a"), tool="Write"))),
    "a session's deny": (
        Source.SESSION,
        DENY,
        judge(LS, guard=Guard(merge([])).remember(SessionDecision("deny", "execute", "ls"))),
    ),
    "a session's allow": (
        Source.SESSION,
        ALLOW,
        judge(MAKE, guard=Guard(merge([])).remember(SessionDecision("allow", "execute", "make"))),
    ),
    "a grant": (
        Source.GRANT,
        ALLOW,
        judge(MAKE, consent=Consent(grants=(Grant(id="g", rule=Rule(tool="Bash", pattern="make")),))),
    ),
    "a person": (Source.PERSON, ALLOW, judge(MAKE, consent=Consent(yes=True))),
    "a check": (Source.TOOL_CHECK, DENY, judge(LS, heard=[voice(DENY, Source.TOOL_CHECK)])),
    "a hook": (Source.HOOK, ALLOW, judge(MAKE, heard=[voice(ALLOW, Source.HOOK)])),
    "a host's policy": (Source.HOST_POLICY, ASK, judge(LS, heard=[voice(ASK, Source.HOST_POLICY)])),
    "nobody to ask": (Source.NOT_INTERACTIVE, DENY, judge(look(run("make", DANGEROUS), session=NOBODY))),
}


@pytest.mark.parametrize("who", SOURCES)
def test_a_decision_names_who_it_comes_from(who):
    source, verdict, decision = SOURCES[who]
    assert (decision.decision_source, decision.verdict) == (source, verdict)
    assert decision.decision_reason


#: what is heard about a call that would be asked about, verdict
VOICES = [
    (Source.HOOK, ALLOW, ALLOW),
    (Source.HOST_POLICY, ALLOW, ALLOW),
    (Source.TOOL_CHECK, ALLOW, ASK),
    (Source.HOOK, ASK, ASK),
    (Source.HOOK, DENY, DENY),
    (Source.TOOL_CHECK, DENY, DENY),
]


@pytest.mark.parametrize(("source", "said", "verdict"), VOICES)
def test_the_allow_of_a_hook_or_host_covers_a_call_and_a_check_s_does_not(source, said, verdict):
    assert judge(MAKE, heard=[voice(said, source)]).verdict is verdict


def test_a_hook_s_allow_removes_no_ask_and_nothing_destructive():
    passing = [voice(ALLOW, Source.HOOK)]
    assert judge(MAKE, policy(ask=["Bash"]), heard=passing).verdict is ASK
    assert judge(look(run("x", DESTRUCTIVE)), heard=passing).verdict is DENY
    assert judge(MAKE, policy(mode="strict"), heard=passing).verdict is ALLOW


def test_a_hook_that_asks_opens_a_question_in_strict():
    assert judge(LS, policy(mode="strict"), heard=[voice(ASK, Source.HOOK, opens=True)]).verdict is ASK


def test_what_is_said_about_the_whole_call_is_kept_once():
    two = look(run("ls"), run("pwd"))
    decision = judge(two, heard=[voice(ALLOW, Source.HOOK)])
    assert [o.policy for o in decision.opinions].count("voice") == 1


def test_everything_heard_is_kept_also_what_lost():
    decision = judge(MAKE, policy(allow=["Bash(make)"], ask=["Bash"], deny=["Bash(m*)"]))
    assert [o.policy for o in decision.opinions] == ["deny-rules", "ask-rules", "allow-rules"]
    assert decision.rule_refs == ("Bash(m*) @ user",)


def test_an_answered_ask_says_what_answered_it():
    decision = judge(MAKE, policy(ask=["Bash"]), consent=Consent(yes=True))
    assert {o.overruled for o in decision.opinions if o.verdict is ASK} == {"a person approved this call"}
    assert decision.scope == "once"
    assert judge(MAKE).scope is None


def test_rules_that_gave_the_verdict_are_named_once_each():
    both = policy(file="a.yaml", allow=["Bash(ls)", "Bash(pwd)", "Bash"])
    decision = judge(look(run("ls"), run("ls"), run("pwd")), both)
    assert decision.rule_refs == tuple(f"{r} @ user" for r in ("Bash", "Bash(ls)", "Bash(pwd)"))


def test_a_call_is_the_strictest_of_its_operations():
    line = look(run("ls"), run("make", DANGEROUS), run("pwd"))
    decision = judge(line)
    assert decision.verdict is ASK
    assert [o.operation for o in decision.opinions if o.verdict is ASK] == [1]


#: mode, sandbox can be set up, profile demanded, outcome of a dangerous call
OUTCOMES = [
    ("auto", True, None, "sandboxed"),
    ("auto", False, None, "ask"),
    ("on_failure", True, None, "sandboxed"),
    ("on_failure", False, None, "unavailable"),
    ("default", True, "read-only", "ask"),
    ("bypassPermissions", True, "workspace-write", "sandboxed"),
    ("bypassPermissions", False, "workspace-write", "unavailable"),
    ("bypassPermissions", False, "off", "allow"),
    ("strict", True, "workspace-write", "deny"),
]


@pytest.mark.parametrize(("mode", "sandbox", "demanded", "outcome"), OUTCOMES)
def test_a_boundary_makes_an_allow_sandboxed_or_unavailable(mode, sandbox, demanded, outcome):
    view = look(run("make", DANGEROUS), facts=world(sandbox=sandbox))
    assert judge(view, policy(mode=mode, profile=demanded)).decision == outcome


def test_a_person_s_yes_never_removes_the_boundary():
    view = look(run("make", DANGEROUS), facts=world(sandbox=True))
    for mode in ("default", "auto"):
        decision = judge(view, policy(mode=mode, profile="read-only"), consent=Consent(yes=True))
        assert decision.decision == "sandboxed"


def test_a_demanded_profile_is_the_sandbox_that_a_mode_uses():
    view = look(run("make", DANGEROUS), writes("/ws/a", owner=0), facts=world(sandbox=True))
    assert judge(view, policy(mode="auto", profile="read-only")).decision == "ask"
    assert judge(view, policy(mode="auto", profile="workspace-write")).decision == "sandboxed"


def test_what_the_sandbox_can_not_hold_is_asked_about():
    view = look(run("git push", DANGEROUS), connects("a.test", DANGEROUS, owner=0), facts=world(sandbox=True))
    assert judge(view, policy(mode="auto")).decision == "ask"


def grant(**fields):
    return Consent(grants=(Grant(**{"id": "g", "rule": Rule(tool="Bash", pattern="make"), **fields}),))


READ_ONLY = SandboxProfile(name="read-only", mode="read-only", cwd="/ws", process_limits=LIMITS)

#: what the grant says, whether it answers
GRANTS = [
    ({}, True),
    ({"user": "ann", "agent": "bot", "session": "s", "workspace": ("/ws",)}, True),
    ({"user": "bob"}, False),
    ({"agent": "other"}, False),
    ({"session": "t"}, False),
    ({"workspace": ("/other",)}, False),
    ({"expires_at": 1000.1}, True),
    ({"expires_at": 1000.0}, False),
    ({"rule": Rule(tool="Bash", pattern="ma")}, False),
    ({"rule": Rule(tool="Bash", pattern="make:*")}, True),
    ({"rule": None}, False),
    ({"rule": None, "digest": exact_digest(MAKE.call, MAKE.reading)}, True),
    ({"rule": None, "digest": exact_digest(LS.call, LS.reading)}, False),
    ({"boundary": READ_ONLY}, False),
]


@pytest.mark.parametrize(("fields", "answers"), GRANTS)
def test_a_grant_answers_what_it_surely_covers_for_whom_it_was_given(fields, answers):
    decision = judge(MAKE, consent=grant(**fields))
    assert (decision.verdict is ALLOW) is answers


def test_a_grant_for_a_boundary_holds_inside_that_boundary_only():
    inside = policy(profile="read-only")
    view = look(run("make", DANGEROUS), facts=world(sandbox=True))
    assert judge(view, inside, consent=grant(boundary=READ_ONLY)).decision == "sandboxed"
    assert judge(view, inside, consent=grant()).decision == "sandboxed"
    assert judge(view, policy(profile="workspace-write"), consent=grant(boundary=READ_ONLY)).decision == "ask"


def test_a_grant_never_lifts_a_deny_or_a_firm_ask():
    assert judge(MAKE, policy(deny=["Bash"]), consent=grant()).verdict is DENY
    assert judge(MAKE, policy(layer=Layer.MANAGED, ask=["Bash"]), consent=grant()).verdict is ASK
    assert judge(MAKE, policy(mode="strict"), consent=grant()).verdict is DENY


def test_a_grant_covers_the_destructive_only_if_it_says_so():
    view = look(run("make", DESTRUCTIVE))
    asked = policy(ask=["Bash"], allow=[Rule(tool="Bash", destructive=True)])
    assert judge(view, asked, consent=grant()).verdict is ASK
    assert judge(view, asked, consent=grant(destructive=True)).verdict is ALLOW


def test_a_grant_for_a_command_reaches_what_it_does_but_not_what_needs_its_own_word():
    view = look(run("make", DANGEROUS), writes("/ws/a", DANGEROUS, owner=0))
    beyond = look(run("make", DANGEROUS), writes("/tmp/a", DANGEROUS, owner=0, own_cover=True))
    assert judge(view, consent=grant()).verdict is ALLOW
    assert judge(beyond, consent=grant()).verdict is ASK


CALL = ToolCall(tool="Bash", input={"command": "ls"}, cwd="/ws", call_id="1", deadline=5.0)


def digest(call=CALL, session=SESSION, tool="Bash", boundary=None):
    return bound_digest(call, session, tool, boundary)


COVERED = {
    "user": digest(session=msgspec.structs.replace(SESSION, user="bob")),
    "agent": digest(session=msgspec.structs.replace(SESSION, agent="other")),
    "session": digest(session=msgspec.structs.replace(SESSION, id="t")),
    "workspace": digest(session=msgspec.structs.replace(SESSION, workspace=("/x",))),
    "cwd": digest(msgspec.structs.replace(CALL, cwd="/x")),
    "tool": digest(tool="Read"),
    "input": digest(msgspec.structs.replace(CALL, input={"command": "ls "})),
    "more input": digest(msgspec.structs.replace(CALL, input={"command": "ls", "x": None})),
    "boundary": digest(boundary=READ_ONLY),
}
NOT_COVERED = {
    "call id": digest(msgspec.structs.replace(CALL, call_id="2")),
    "deadline": digest(msgspec.structs.replace(CALL, deadline=None)),
    "alias": digest(msgspec.structs.replace(CALL, tool="shell")),
    "modes": digest(session=Session(**{**msgspec.structs.asdict(SESSION), "modes": ("plan",)})),
}


@pytest.mark.parametrize("what", COVERED)
def test_an_approval_is_bound_to_who_where_what_and_inside_what(what):
    assert COVERED[what] != digest()
    assert len(set(COVERED.values())) == len(COVERED)


@pytest.mark.parametrize("what", NOT_COVERED)
def test_an_approval_is_not_bound_to_how_the_call_came(what):
    assert NOT_COVERED[what] == digest()


def test_the_order_of_keys_does_not_change_a_digest():
    one = msgspec.structs.replace(CALL, input={"a": 1, "b": [{"c": 2, "d": 3}]})
    other = msgspec.structs.replace(CALL, input={"b": [{"d": 3, "c": 2}], "a": 1})
    assert digest(one) == digest(other)
    assert one.digest == other.digest != CALL.digest


def test_a_decision_carries_the_digest_it_is_bound_to():
    decision = judge(look(run("ls"), facts=world(sandbox=True)), policy(profile="read-only"))
    assert decision.digest == bound_digest(LS.call, SESSION, "Bash", decision.boundary)


@pytest.mark.parametrize(
    ("sandbox", "writes", "profile", "word"),
    [
        (True, True, "workspace-write", "sandboxed"),
        (True, False, "workspace-write", "unavailable"),
        (True, False, "read-only", "sandboxed"),
        (False, True, "read-only", "unavailable"),
    ],
)
def test_a_boundary_is_available_if_one_that_writes_as_much_can_be_set_up(sandbox, writes, profile, word):
    facts = world(sandbox=sandbox, sandbox_writes=writes)
    assert judge(look(run("ls"), facts=facts), policy(profile=profile)).decision == word


def test_auto_asks_where_no_sandbox_can_write_the_workspace():
    view = look(run("make", DANGEROUS), facts=world(sandbox=True, sandbox_writes=False))
    assert judge(view, policy(mode="auto")).decision == "ask"


def test_a_decision_says_under_which_policy_it_was_made():
    said = policy(file="a.yaml", write=PathPolicy(default=ASK))
    decision = judge(LS, said)
    assert decision.policy_version == merge([said]).version
    assert decision.policy_sources == (f"user a.yaml {said.version}",)


def test_a_repository_that_can_not_be_seen_is_treated_as_policy_says():
    careful = policy(unknown_repository=Verdict.ASK)
    blind, seeing = world(), world(links={})
    status, listing = run("git status", obeys="git"), run("ls")
    assert judge(look(status, facts=blind), careful).verdict is Verdict.ASK
    assert judge(look(status, facts=seeing), careful).verdict is Verdict.ALLOW
    assert judge(look(listing, facts=blind), careful).verdict is Verdict.ALLOW
    assert judge(look(status, facts=blind), policy()).verdict is Verdict.ALLOW


@pytest.mark.parametrize(("rule", "verdict"), [("Read", DENY), ("Write", ALLOW)])
def test_a_tool_by_its_bare_name_is_every_file_it_may_touch(rule, verdict):
    view = look(reads("/ws/a.py"), tool="Read", given={"file_path": "/ws/a.py"})
    assert judge(view, policy(deny=[rule])).verdict is verdict
