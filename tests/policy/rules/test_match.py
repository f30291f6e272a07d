"""What the author of a rule may add: exceptions, an expiry, every time, destructive, a reason."""

from __future__ import annotations

import pytest

from assent.model import UNKNOWN, Consent, Grant, Layer, Rule, Source, Verdict
from assent.policy.rules.index import MOST_MAYBES
from assent.policy.rules.match import Matcher
from scenes import DANGEROUS, DESTRUCTIVE, SESSION, calls, judge, look, policy, reads, run, world, writes

ALLOW, ASK, DENY = Verdict


def rule(tool="Bash", pattern=None, **more):
    return Rule(tool=tool, pattern=pattern, **more)


#: exceptions, command, verdict in a mode that asks nothing
EXCEPTIONS = [
    ((), "git push", DENY),
    (("git push",), "git push", ALLOW),
    (("git push",), "git push -f", DENY),
    (("git push:*",), "git push -f", ALLOW),
    (("git push",), "./git push", DENY),
    (("git push", "git pull"), "git pull", ALLOW),
    (("git push",), f"git {UNKNOWN}", DENY),
]


@pytest.mark.parametrize(("exceptions", "command", "verdict"), EXCEPTIONS)
def test_an_exception_is_proved_as_strictly_as_an_allow(exceptions, command, verdict):
    denying = policy(mode="bypassPermissions", deny=[rule(pattern="git:*", exceptions=exceptions)])
    assert judge(look(run(command)), denying).verdict is verdict


def test_an_exception_of_a_path_rule_needs_the_target_too():
    leaves = policy(deny=[rule("Write", "/ws/**", exceptions=("/ws/out/**",))])
    assert judge(look(writes("/ws/out/a"), tool="Write"), leaves).verdict is ALLOW
    assert judge(look(writes("/ws/out/a", target="/ws/src/a"), tool="Write"), leaves).verdict is DENY


@pytest.mark.parametrize(("expires", "counts"), [(None, True), (1000.1, True), (1000.0, False), (1.0, False)])
@pytest.mark.parametrize("effect", ["allow", "ask", "deny"])
def test_an_expired_rule_is_no_rule(expires, counts, effect):
    view = look(run("x", DANGEROUS), facts=world(now=1000.0))
    decision = judge(view, policy(**{effect: [rule(pattern="x", expires=expires)]}))
    assert bool(decision.rule_refs) is counts


@pytest.mark.parametrize(("effect", "counts"), [("allow", False), ("ask", True), ("deny", True)])
def test_without_a_clock_a_rule_that_ends_allows_nothing_and_goes_on_refusing(effect, counts):
    view = look(run("x", DANGEROUS), facts=world(now=0.0))
    decision = judge(view, policy(**{effect: [rule(pattern="x", expires=1.0)]}))
    assert bool(decision.rule_refs) is counts


@pytest.mark.parametrize("verdict", [ALLOW, DENY])
def test_without_a_clock_a_standing_answer_that_ends_allows_nothing_and_goes_on_refusing(verdict):
    view = look(run("x", DANGEROUS), facts=world(now=0.0))
    said = Grant(id="g", verdict=verdict, rule=rule(pattern="x"), expires_at=5000.0)
    assert judge(view, consent=Consent(grants=(said,))).verdict is (ASK if verdict is ALLOW else DENY)


def test_a_firm_ask_is_asked_in_every_mode_that_asks():
    every = policy(mode="bypassPermissions", ask=[rule(pattern="x", every_time=True)])
    soft = policy(mode="bypassPermissions", ask=[rule(pattern="x")])
    assert judge(look(run("x")), every).verdict is ASK
    assert judge(look(run("x")), soft).verdict is ALLOW


def test_the_organisation_s_asks_are_firm_whatever_their_rules_say_of_themselves():
    asking = policy(layer=Layer.MANAGED, file="/etc/x.yaml", ask=["Bash(x)"])
    decision = judge(look(run("x")), policy(mode="bypassPermissions"), asking)
    assert decision.verdict is ASK
    assert decision.rule_refs == ("Bash(x) @ managed /etc/x.yaml",)


def test_only_a_rule_that_says_so_covers_the_destructive():
    view = look(run("rm -rf /", DESTRUCTIVE), writes("/", DESTRUCTIVE, owner=0, sweep=True))
    assert judge(view, policy(allow=["Bash(rm:*)"])).verdict is DENY
    assert judge(view, policy(allow=["Bash"])).verdict is DENY
    said = judge(view, policy(allow=[rule(pattern="rm:*", destructive=True)]))
    assert (said.verdict, said.decision_source) == (ALLOW, Source.RULE)


def test_a_deny_that_may_match_asks_firmly():
    decision = judge(look(run(f"{UNKNOWN} x")), policy(mode="bypassPermissions", deny=["Bash(rm:*)"]))
    assert decision.verdict is ASK
    (said,) = [o for o in decision.opinions if o.policy == "deny-rules"]
    assert (said.verdict, said.firm, said.certainty.value) == (ASK, True, "maybe")
    assert "may match Bash(rm:*)" in decision.decision_reason


def test_an_ask_that_may_match_asks_softly():
    view = look(run(f"{UNKNOWN} x"))
    assert judge(view, policy(ask=["Bash(rm:*)"])).verdict is ASK
    assert judge(view, policy(mode="bypassPermissions", ask=["Bash(rm:*)"])).verdict is ALLOW


def test_an_allow_that_may_match_allows_nothing():
    decision = judge(look(run(f"{UNKNOWN} x")), policy(mode="strict", allow=["Bash(rm:*)"]))
    assert decision.verdict is DENY
    assert not decision.rule_refs
    assert judge(look(run(f"{UNKNOWN} x")), policy(allow=["Bash(rm:*)"])).verdict is ALLOW


def test_of_many_rules_that_may_match_a_few_are_listed_and_sure_ones_all():
    deny = [f"Bash(tool{i}:*)" for i in range(20)]
    decision = judge(look(run(f"{UNKNOWN} x")), policy(deny=[*deny, "Bash(*)"]))
    said = [o for o in decision.opinions if o.policy == "deny-rules"]
    assert [o.certainty.value for o in said].count("maybe") == MOST_MAYBES
    assert decision.verdict is DENY


@pytest.mark.parametrize("last", ["every time", "the organisation"])
def test_no_number_of_soft_questions_hides_a_firm_one(last):
    soft = [f"Bash(tool{i}:*)" for i in range(MOST_MAYBES + 1)]
    every = [rule(pattern="deploy:*", every_time=True)] if last == "every time" else []
    managed = [policy(layer=Layer.MANAGED, ask=["Bash(deploy:*)"])] if not every else []
    for asks in ([*soft, *every], [*every, *soft]):
        mine = policy(mode="bypassPermissions", ask=asks)
        for layers in ([mine, *managed], [*managed, mine]):
            assert judge(look(run(f"{UNKNOWN} x")), *layers).verdict is ASK


def test_no_number_of_a_project_s_questions_hides_the_user_s_own_in_strict():
    project = policy(layer=Layer.PROJECT, ask=[f"Bash(tool{i}:*)" for i in range(MOST_MAYBES + 1)])
    mine = policy(mode="strict", ask=["Bash(deploy:*)"])
    for layers in ([project, mine], [mine, project]):
        assert judge(look(run(f"{UNKNOWN} x")), *layers).verdict is ASK


REASONS = [
    ("deny", None, "denied by Bash(x)"),
    ("deny", "use y instead", "use y instead"),
    ("ask", None, "approval required by Bash(x)"),
    ("allow", None, "allowed by Bash(x)"),
]


@pytest.mark.parametrize(("effect", "reason", "shown"), REASONS)
def test_a_rule_s_own_reason_is_shown_or_else_the_rule(effect, reason, shown):
    decision = judge(look(run("x", DANGEROUS)), policy(**{effect: [rule(pattern="x", reason=reason)]}))
    assert decision.decision_reason == shown


@pytest.mark.parametrize("error", [ValueError("no"), RecursionError("deep"), MemoryError()])
@pytest.mark.parametrize(
    ("effect", "mode", "verdict"),
    [("deny", "bypassPermissions", DENY), ("ask", "default", ASK), ("allow", "strict", DENY)],
)
def test_a_rule_that_fails_counts_as_matched_unless_it_allows(monkeypatch, error, effect, mode, verdict):
    def fail(*_args, **_kwargs):
        raise error

    monkeypatch.setattr(Matcher, "match", fail)
    decision = judge(look(run("x")), policy(mode=mode, **{effect: ["Bash(x)"]}))
    assert decision.verdict is verdict
    if effect != "allow":
        assert type(error).__name__ in decision.decision_reason


def test_adding_a_deny_or_a_project_s_ask_never_weakens_strict():
    view = look(run("x", DANGEROUS))
    strict = policy(mode="strict")
    unsure = look(run(f"{UNKNOWN} x", DANGEROUS))
    assert judge(view, strict).verdict is DENY
    assert judge(view, strict, policy(layer=Layer.PROJECT, ask=["Bash(x)"])).verdict is DENY
    assert judge(unsure, policy(mode="strict", deny=["Bash(rm:*)"])).verdict is DENY
    assert judge(view, policy(mode="strict", ask=["Bash(x)"])).verdict is ASK


def test_an_ask_rule_in_strict_does_not_open_the_destructive():
    view = look(run("x", DESTRUCTIVE))
    assert judge(view, policy(mode="strict", ask=["Bash(x)"])).verdict is DENY
    enabled = judge(view, policy(mode="strict", ask=["Bash(x)"]), consent=Consent(destructive=True))
    assert enabled.verdict is DENY


def test_an_allow_on_a_command_covers_its_arguments_but_not_what_needs_its_own_word():
    covered = look(run("tee a", DANGEROUS), writes("/ws/a", DANGEROUS, owner=0))
    beyond = look(run("tee a", DANGEROUS), writes("/etc/a", DANGEROUS, owner=0, own_cover=True))
    allowing = policy(allow=["Bash(tee:*)"])
    assert judge(covered, allowing).verdict is ALLOW
    assert judge(beyond, allowing).verdict is ASK
    assert judge(beyond, allowing, policy(allow=["Write(/etc/**)"])).verdict is ALLOW


def test_each_command_of_a_line_needs_its_own_allow():
    line = look(run("git status", DANGEROUS), run("rm x", DANGEROUS))
    assert judge(line, policy(mode="strict", allow=["Bash(git:*)"])).verdict is DENY
    assert judge(line, policy(mode="strict", allow=["Bash(git:*)", "Bash(rm:*)"])).verdict is ALLOW


def test_an_allow_never_overrides_an_ask_nor_an_ask_a_deny():
    view = look(reads("/ws/a"), tool="Read", session=SESSION)
    assert judge(view, policy(allow=["Read"], ask=["Read"])).verdict is ASK
    assert judge(view, policy(allow=["Read"], ask=["Read"], deny=["Read(/ws/a)"])).verdict is DENY
    assert judge(look(calls("T"), tool="T"), policy(allow=["T"])).verdict is ALLOW
