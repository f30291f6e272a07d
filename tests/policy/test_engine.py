"""The spine: it reads, hears, decides, and whatever goes wrong on the way is a denial."""

from __future__ import annotations

import itertools
import math
import sys

import msgspec
import pytest

from assent.analysis.resources import paths
from assent.model import Consent, Environment, Facts, Grant, PathPolicy, Session, Source, ToolCall, Verdict
from assent.policy import decide as decide_module
from assent.policy import defaults, opinions, protections, sandbox_profiles
from assent.policy import engine as spine
from assent.policy.engine import Engine
from assent.policy.guard import SessionDecision
from assent.policy.rules.parse import parse_rule
from scenes import SESSION, policy, world

ALLOW, ASK, DENY = Verdict
reading = sys.modules["assent.analysis.read"]  # the package shows the function by this name
READ = ToolCall(tool="Read", input={"file_path": "/ws/a"}, cwd="/ws")
LINE = ToolCall(tool="Bash", input={"command": "ls -l && make"}, cwd="/ws")


def decide(call=READ, *policies, **made):
    return Engine(policies, facts=made.pop("facts", world), **made).decide(call, SESSION)


def test_a_call_is_read_and_decided():
    assert decide().decision == "allow"
    assert decide(LINE).decision == "ask"
    assert decide(LINE).reading.facts == {"disk": "unknown"}


def test_no_policy_is_the_default_policy_and_no_session_is_nobody():
    assert Engine().decide(LINE).verdict is ASK
    assert Engine().decide(READ).verdict is ALLOW


FAULTS = [ValueError("broken"), RecursionError("too deep"), MemoryError(), OSError(5, "io"), KeyError("k")]
STEPS = ["place_of", "read", "decide", "View"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("error", FAULTS, ids=repr)
@pytest.mark.parametrize("call", [READ, LINE])
def test_a_fault_at_any_step_is_a_denial_that_names_it(monkeypatch, step, error, call):
    def fail(*_args, **_kwargs):
        raise error

    monkeypatch.setattr(spine, step, fail)
    decision = decide(call, policy(mode="bypassPermissions", allow=["*"]))
    assert (decision.verdict, decision.decision_source) == (DENY, Source.ERROR)
    assert decision.decision_reason == f"Assent could not decide this call: {str(error) or type(error).__name__}"
    assert decision.reading.unreadable
    assert decision.digest


PARTS = [
    (decide_module, "hear"),
    (decide_module, "Coverage"),
    (decide_module, "defaults"),
    (decide_module, "settle"),
    (decide_module, "bound_digest"),
    (sandbox_profiles, "profile"),
    (opinions, "protect"),
    (opinions, "_said"),
    (protections, "_about_assent"),
    (defaults, "by_mode"),
    (paths, "normal"),
    (reading, "find_tool"),
]


@pytest.mark.parametrize(("module", "name"), PARTS, ids=lambda p: getattr(p, "__name__", p))
@pytest.mark.parametrize("error", FAULTS, ids=repr)
def test_a_fault_deep_inside_is_a_denial_too(monkeypatch, module, name, error):
    def fail(*_args, **_kwargs):
        raise error

    made = Engine((policy(mode="bypassPermissions", deny=["Bash(x)"], profile="read-only"),), facts=world)
    monkeypatch.setattr(module, name, fail)
    decision = made.decide(LINE, SESSION, Consent(yes=True))
    assert (decision.verdict, decision.decision_source) == (DENY, Source.ERROR)


@pytest.mark.parametrize("error", FAULTS, ids=repr)
def test_facts_that_can_not_be_gathered_are_a_denial(error):
    def fail():
        raise error

    assert decide(facts=fail).decision_source is Source.ERROR


def test_a_disk_that_fails_is_a_denial():
    def fail(_path):
        raise OSError(40, "too many links")

    decision = decide(facts=lambda: world(resolve=fail))
    assert decision.verdict is DENY
    assert "too many links" in decision.decision_reason


class SilentError(Exception):
    def __str__(self):
        raise RuntimeError("not even that")


def test_an_error_that_can_not_be_shown_is_still_a_denial():
    def fail(*_args):
        raise SilentError

    assert decide(facts=fail).decision_reason == "Assent could not decide this call: SilentError"
    (heard,) = [o for o in decide(hooks=[fail]).opinions if o.source is Source.HOOK]
    assert heard.reason == "the hooks failed: SilentError: SilentError"


#: what a voice says, the verdict on a call that would run
SAID = [
    (None, ALLOW),
    ("allow", ALLOW),
    ("ask", ASK),
    ("deny", DENY),
    (Verdict.ASK, ASK),
    (("deny", "not today"), DENY),
    (("ask", None), ASK),
    (("ask", 7), ASK),
    ("ALLOW", DENY),
    ("yes", DENY),
    ("", DENY),
    (True, DENY),
    (False, DENY),
    (0, DENY),
    ((), DENY),
    (("allow",), DENY),
    (("allow", "a", "b"), DENY),
    ((None, "x"), DENY),
    ({"verdict": "allow"}, DENY),
    (["allow", "x"], DENY),
    ({1, 2}, DENY),
]
KINDS = {
    "hooks": Source.HOOK,
    "host_policies": Source.HOST_POLICY,
    "checks": Source.TOOL_CHECK,
}


@pytest.mark.parametrize(("said", "verdict"), SAID, ids=repr)
@pytest.mark.parametrize("kind", KINDS)
def test_a_voice_that_is_not_understood_is_a_denial(kind, said, verdict):
    voices = [lambda _call, _session: said]
    decision = decide(READ, **{kind: {"read_file": voices} if kind == "checks" else voices})
    assert decision.verdict is verdict
    if verdict is not ALLOW:
        assert decision.decision_source is KINDS[kind]
        assert isinstance(decision.decision_reason, str)


@pytest.mark.parametrize("error", FAULTS, ids=repr)
@pytest.mark.parametrize("kind", KINDS)
def test_a_voice_that_fails_is_a_denial_even_under_bypass(kind, error):
    def fail(*_args):
        raise error

    decision = decide(
        READ, policy(mode="bypassPermissions"), **{kind: {"Read": [fail]} if kind == "checks" else [fail]}
    )
    assert (decision.verdict, decision.decision_source) == (DENY, KINDS[kind])
    assert type(error).__name__ in decision.decision_reason


def test_a_voice_hears_the_call_and_the_session():
    heard = []
    decide(hooks=[lambda call, session: heard.append((call, session))])
    assert heard == [(READ, SESSION)]


@pytest.mark.parametrize("names", list(itertools.permutations(["Read", "read_file", "READ"])))
def test_checks_of_all_aliases_of_a_tool_are_heard(names):
    for denying in names:
        checks = {n: [lambda *_, said="deny" if n == denying else "allow": said] for n in names}
        assert decide(READ, checks=checks).verdict is DENY


def test_checks_are_for_their_tool_alone_whatever_its_case():
    checks = {"Deploy": [lambda *_: "deny"]}
    assert decide(READ, checks=checks).verdict is ALLOW
    for called in ("Deploy", "DEPLOY"):
        assert decide(ToolCall(tool=called), checks=checks).decision_source is Source.TOOL_CHECK


def deep(levels):
    value = {}
    for _ in range(levels):
        value = {"a": [value]}
    return value


HOSTILE = {
    "deep JSON": {"file_path": "/ws/a", "x": deep(100_000)},
    "a lone surrogate": {"file_path": "/ws/\ud800"},
    "a lone surrogate beside": {"file_path": "/ws/a", "x": "\udfff"},
    "keys that are no strings": {"file_path": "/ws/a", ("a", "b"): 1},
    "what JSON has no word for": {"file_path": "/ws/a", "x": object()},
    "a NUL": {"file_path": "/ws/a\x00b"},
    "a newline": {"file_path": "/ws/a\nb"},
    "a path too long": {"file_path": "/" + "a" * 5000},
}


@pytest.mark.parametrize("what", HOSTILE)
def test_input_that_can_not_be_read_is_denied_and_never_raises(what):
    decision = decide(ToolCall(tool="Read", input=HOSTILE[what], cwd="/ws"), policy(mode="bypassPermissions"))
    assert (decision.verdict, decision.decision_source) == (DENY, Source.ERROR)


ODD = {
    "NaN": {"file_path": "/ws/a", "limit": math.nan},
    "infinity": {"file_path": "/ws/a", "limit": math.inf},
    "a path that is a number": {"file_path": 7},
    "a path that is a list": {"file_path": ["/ws/a"]},
    "nothing": {},
    "a command that is an object": {"command": {"x": 1}},
    "U+FDD0": {"file_path": "/ws/\ufdd0"},
}


@pytest.mark.parametrize("what", ODD)
@pytest.mark.parametrize("tool", ["Read", "Write", "Bash", "Grep", "WebFetch", "Edit", "Nobody"])
def test_odd_input_never_raises_and_allows_nothing_more(tool, what):
    decision = decide(ToolCall(tool=tool, input=ODD[what], cwd="/ws"))
    known = what in ("NaN", "infinity") and tool in ("Read", "Write", "Edit")
    assert (decision.verdict is ALLOW) is known


@pytest.mark.parametrize("call", [ToolCall(tool=7), ToolCall(tool="Read", input=None), ToolCall(tool="Read", cwd=7)])
def test_a_call_of_the_wrong_shape_is_denied(call):
    assert decide(call).decision_source is Source.ERROR


def test_a_session_of_the_wrong_shape_is_denied():
    broken = Session(workspace=(7,), modes=("yolo",))
    assert Engine(facts=world).decide(READ, broken).decision_source is Source.ERROR


def test_a_guard_is_made_for_one_tool_and_used_for_its_calls():
    made = Engine((policy(forbidden=("**/.env",)),), facts=world)
    guard = made.guard("read_file", cwd="/ws", run=True)
    assert (guard.tool, guard.cwd, guard.run) == ("Read", "/ws", True)
    assert guard.chain == ("self-protection", "forbidden-globs", "read-path-policy", "classifier")
    denied = guard.remember(SessionDecision("deny", "read", "/ws/a"))
    assert made.decide(READ, SESSION, guard=denied).decision_source is Source.SESSION
    assert made.decide(READ, SESSION, guard=guard).verdict is ALLOW
    assert made.guard().tool is None


def test_consent_is_heard():
    made = Engine(facts=world)
    assert made.decide(LINE, SESSION, Consent(yes=True)).decision_source is Source.PERSON


def test_a_call_is_decided_by_what_was_read_in_it_before(monkeypatch):
    made = Engine(facts=world)
    read_before = made.decide(LINE, SESSION).reading
    assert made.decide_read(read_before, LINE, SESSION).verdict is ASK
    assert made.with_policy(policy(deny=["Bash(make:*)"])).decide_read(read_before, LINE, SESSION).verdict is DENY
    monkeypatch.setattr(spine, "place_of", lambda *_: 1 / 0)
    assert made.decide_read(read_before, LINE, SESSION).decision_source is Source.ERROR


def test_a_yes_for_a_time_counts_from_when_it_was_given():
    made = Engine(facts=lambda: world(now=1000.0))
    for created, verdict in ((999.0, ALLOW), (1000.0 + 3600, ASK)):
        grant = Grant(id="g", rule=parse_rule("Bash(make:*)"), created_at=created, expires_at=9e9)
        assert made.decide(LINE, SESSION, Consent(grants=(grant,))).verdict is verdict


def test_facts_are_gathered_anew_for_every_call():
    moments = iter([1.0, 2.0])
    made = Engine((policy(),), facts=lambda: Facts(now=next(moments)))
    made.decide(READ)
    made.decide(READ)
    with pytest.raises(StopIteration):
        next(moments)


def test_a_denial_by_fault_still_names_policy_and_mode():
    made = Engine((policy(mode="plan", file="a.yaml", write=PathPolicy()),), facts=world)
    decision = made.decide(ToolCall(tool="Read", input={"file_path": "\x00"}), SESSION)
    assert (decision.mode, decision.policy_version) == ("plan", made.merged.version)
    assert decision.policy_sources == made.merged.sources
    assert [o.policy for o in decision.opinions] == ["engine"]


def test_what_was_stopped_inside_is_asked_about_before_it_runs_outside():
    made = Engine((policy(mode="on_failure"),), facts=lambda: msgspec.structs.replace(world(), sandbox=True))
    first = made.decide(LINE, SESSION)
    assert first.decision == "sandboxed"
    again = made.decide(LINE, SESSION, Consent(stopped="writing /etc/x"))
    assert (again.decision, again.boundary) == ("ask", None)
    assert "would run outside the sandbox, which stopped it: writing /etc/x" in again.decision_reason


def test_programs_are_looked_for_where_the_agent_would_find_them_too():
    session = msgspec.structs.replace(SESSION, environment=Environment((("PATH", "/ws/bin"),)))
    place = paths.place_of(LINE, session, msgspec.structs.replace(world(links={}), path=("/usr/bin",)))
    assert place.facts.path == ("/ws/bin", "/usr/bin")
