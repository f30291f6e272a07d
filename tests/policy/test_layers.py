"""Layers: lists join, the strictest wins, and whoever is not the user may only tighten."""

from __future__ import annotations

import pytest

from assent.model import AssentError, Layer, Mode, PathPolicy, Policy, Rule, RuleError, Session, Source, Verdict
from assent.policy.layers import PathDefault, merge
from assent.policy.sandbox_profiles import NAMES, can_hold, intersect, profile
from scenes import (
    DANGEROUS,
    DESTRUCTIVE,
    calls,
    connects,
    judge,
    look,
    place,
    policy,
    reads,
    run,
    world,
    writes,
)

ALLOW, ASK, DENY = Verdict
RUN, PROJECT, USER, MANAGED = Layer
X = look(run("x", DANGEROUS))


def test_no_policy_at_all_is_the_default_one():
    assert merge([]) == merge([Policy()]) or merge([]).version == merge([Policy()]).version
    assert merge([]).modes == (Mode.DEFAULT,)
    assert merge([]).classifier
    assert judge(X).verdict is ASK


@pytest.mark.parametrize("layer", Layer)
def test_every_layer_may_deny_and_ask(layer):
    assert judge(look(run("x")), policy(), policy(layer=layer, deny=["Bash(x)"])).verdict is DENY
    assert judge(look(run("x")), policy(), policy(layer=layer, ask=["Bash(x)"])).verdict is ASK


#: layer, trusted, whether its allows count
LOOSENING = [
    (MANAGED, True, True),
    (USER, True, True),
    (PROJECT, True, True),
    (PROJECT, False, False),
    (RUN, True, False),
    (RUN, False, False),
]


@pytest.mark.parametrize(("layer", "trusted", "counts"), LOOSENING)
def test_only_those_who_may_loosen_allow(layer, trusted, counts):
    said = policy(layer=layer, trusted=trusted, allow=["Bash(x)"])
    assert (judge(X, policy(), said).verdict is ALLOW) is counts
    listed = policy(
        layer=layer, trusted=trusted, write=PathPolicy(allow=("/etc/**",)), read=PathPolicy(allow=("/z/**",))
    )
    outside = look(writes("/etc/a", DANGEROUS), tool="Write")
    assert (judge(outside, policy(), listed).verdict is ALLOW) is counts


@pytest.mark.parametrize("order", [1, -1])
def test_a_deny_anywhere_beats_an_ask_anywhere_beats_an_allow_anywhere(order):
    layers = [policy(layer=MANAGED, allow=["Bash"]), policy(layer=USER, ask=["Bash"]), policy(layer=RUN, deny=["Bash"])]
    assert judge(X, *layers[::order]).verdict is DENY
    assert judge(X, *layers[:2][::order]).verdict is ASK


#: the user's mode, the project's, modes evaluated
MODES = [
    (None, None, (Mode.DEFAULT,)),
    ("strict", None, (Mode.STRICT,)),
    (None, "bypassPermissions", (Mode.DEFAULT, Mode.BYPASS)),
    ("bypassPermissions", "plan", (Mode.BYPASS, Mode.PLAN)),
    ("plan", "plan", (Mode.PLAN,)),
]


@pytest.mark.parametrize(("users", "projects", "modes"), MODES)
def test_a_mode_of_others_stands_beside_the_user_s(users, projects, modes):
    layers = [policy(mode=users) if users else policy(), policy(layer=PROJECT, mode=projects) if projects else policy()]
    assert merge(layers).modes == modes


def test_the_organisation_s_mode_is_heard_with_the_user_s():
    layers = [policy(mode="bypassPermissions"), policy(layer=MANAGED, mode="strict")]
    assert merge(layers).modes == (Mode.STRICT, Mode.BYPASS)
    assert judge(X, *layers).verdict is DENY


def test_a_mode_said_by_the_session_only_tightens():
    quiet = Session(workspace=("/ws",), modes=(Mode.BYPASS,))
    tight = Session(workspace=("/ws",), modes=(Mode.PLAN,))
    assert judge(look(run("x", DANGEROUS), session=quiet)).verdict is ASK
    decision = judge(look(run("x", DANGEROUS), session=tight), policy(mode="bypassPermissions"))
    assert (decision.verdict, decision.mode) == (DENY, Mode.PLAN)


def test_a_mode_nobody_knows_is_refused():
    with pytest.raises(RuleError, match='no mode is called "yolo"'):
        merge([Policy(mode="yolo")])  # type: ignore[arg-type]


def test_a_mode_is_known_by_all_its_names():
    assert merge([Policy(mode="never")]).modes == (Mode.DONT_ASK,)  # type: ignore[arg-type]


def test_a_text_in_place_of_a_rule_is_refused():
    with pytest.raises(RuleError, match="read texts with parse_rules"):
        merge([Policy(deny=("Bash(rm:*)",))])  # type: ignore[arg-type]


#: what a policy built by hand says, and what is said about it
WRONG = [
    ({"allow": None}, "Expected `array`, got `null` - at `$.allow`"),
    ({"deny": "Bash"}, "Expected `array`, got `str` - at `$.deny`"),
    ({"deny": (Rule(tool=5),)}, "it is not a string"),
    ({"deny": (Rule(tool=""),)}, "empty string"),
    ({"deny": (Rule(tool="Bash", pattern=" "),)}, "pattern inside parentheses is empty"),
    ({"deny": (Rule(tool="Bash", pattern="rm\0"),)}, "control characters are not allowed"),
    ({"deny": (Rule(tool="Bash", pattern="x" * 100_000),)}, "longer than"),
    ({"deny": (Rule(tool="Bash", pattern=5),)}, "`$.deny[0].pattern`"),
    ({"deny": (Rule(tool="Bash", pattern="\ud800"),)}, "surrogates not allowed"),
    ({"ask": (Rule(tool="Bash", exceptions="git"),)}, "`$.ask[0].except`"),
    ({"allow": (Rule(tool="Bash", exceptions=("rm:*",)),)}, "`except` has no meaning in a rule that says allow"),
    ({"allow": (Rule(tool="Bash", expires="soon"),)}, "`$.allow[0].expires`"),
    ({"classifier": "on"}, "Expected `bool | null`, got `str` - at `$.classifier`"),
    ({"interactive": "no"}, "`$.interactive`"),
    ({"embedded": 5}, "`$.embedded`"),
    ({"trusted": "x"}, "`$.trusted`"),
    ({"forbidden": "**"}, "`$.forbidden`"),
    ({"read": None}, "`$.read`"),
    ({"write": PathPolicy(default="never")}, "Invalid enum value 'never' - at `$.write.default`"),
    ({"layer": "root"}, "`$.layer`"),
    ({"profile": object()}, "unsupported"),
    ({"mode": ["plan"]}, "no mode is called"),
]


@pytest.mark.parametrize(("said", "message"), WRONG)
def test_a_policy_built_by_hand_has_every_field_of_its_kind_or_is_refused(said, message):
    with pytest.raises(RuleError) as caught:
        merge([Policy(**said)])
    assert message in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_policy_built_by_hand_may_be_written_in_words_and_lists():
    mine = Policy(layer="managed", mode="bypass", ask=[Rule(tool="Bash")], write=PathPolicy(default="deny"))  # type: ignore[arg-type]
    (checked,) = merge([mine]).policies
    assert (checked.layer, checked.mode, checked.write.default) == (MANAGED, Mode.BYPASS, DENY)
    assert judge(look(run("x")), mine).verdict is ASK


#: what the layers say about repositories that cannot be seen (user, managed, project), and what holds
UNSEEN = [
    ((None, None, None), ALLOW),
    ((ASK, None, None), ASK),
    ((ALLOW, None, DENY), DENY),
    ((ALLOW, ASK, None), ASK),
    ((None, None, ALLOW), ALLOW),
]


@pytest.mark.parametrize(("said", "holds"), UNSEEN)
def test_what_holds_for_repositories_that_can_not_be_seen_is_the_strictest_word(said, holds):
    layers = [
        Policy(unknown_repository=v, layer=where) for v, where in zip(said, (USER, MANAGED, PROJECT), strict=True)
    ]
    assert merge(layers).unknown_repository is holds


#: what the layers say (user, managed, project), whether tiers vote, whether the user muted them
VOTES = [
    ((None, None, None), True, False),
    ((False, None, None), False, True),
    ((True, None, None), True, False),
    ((False, None, True), True, True),
    ((None, None, False), True, False),
    ((False, True, None), True, True),
    ((True, False, None), True, True),
]


@pytest.mark.parametrize(("said", "votes", "muted"), VOTES)
def test_only_the_user_and_the_organisation_switch_the_classifier_off(said, votes, muted):
    layers = [policy(layer=w, classifier=c) for w, c in zip((USER, MANAGED, PROJECT), said, strict=True)]
    merged = merge(layers)
    assert (merged.classifier, merged.muted) == (votes, muted)


def test_tiers_that_do_not_vote_are_still_recorded():
    decision = judge(look(run("x", DESTRUCTIVE)), policy(classifier=False))
    assert (decision.verdict, decision.decision_source) == (ALLOW, Source.MODE)
    assert decision.reading.destructive


def test_in_untrusted_nothing_is_trusted_when_tiers_do_not_vote():
    view = look(reads("/ws/a"), tool="Read")
    assert judge(view, policy(mode="untrusted")).verdict is ALLOW
    assert judge(view, policy(mode="untrusted", classifier=False)).verdict is ASK
    on = policy(layer=PROJECT, classifier=True)
    assert judge(view, policy(mode="untrusted", classifier=False), on).verdict is ASK


def test_an_embedded_policy_is_silent_about_tiers_unless_it_speaks():
    assert not merge([policy(embedded=True)]).classifier
    assert merge([policy(embedded=True, classifier=True)]).classifier
    assert merge([policy(), policy(embedded=True)]).classifier
    assert not merge([policy(), policy(embedded=True)]).embedded
    assert merge([policy(layer=RUN, embedded=True)]).classifier


def test_anybody_may_say_that_nobody_can_be_asked_and_no_layer_can_take_it_back():
    assert merge([policy()]).interactive
    assert not merge([policy(interactive=True), policy(layer=PROJECT, interactive=False)]).interactive
    assert not merge([policy(interactive=False), policy(layer=MANAGED, interactive=True)]).interactive


DEFAULTS = [
    ((None, None, None), (None,)),
    ((ALLOW, None, None), (ALLOW,)),
    ((ALLOW, DENY, None), (DENY, ALLOW)),
    ((None, None, DENY), (None, DENY)),
    ((ALLOW, None, ASK), (ALLOW, ASK)),
    ((ASK, None, ALLOW), (ASK, ALLOW)),
]


@pytest.mark.parametrize(("said", "kept"), DEFAULTS)
def test_a_path_policy_s_default_is_the_most_trusted_one_s_and_others_tighten_it(said, kept):
    layers = [
        policy(layer=w, write=PathPolicy(default=d), read=PathPolicy(default=d))
        for w, d in zip((USER, MANAGED, PROJECT), said, strict=True)
    ]
    merged = merge(layers)
    # The organisation's stays in force whatever a run says later.
    firm = [PathDefault(d, firm=number == 0 and said[1] is not None) for number, d in enumerate(kept)]
    assert merged.write_defaults == merged.read_defaults == tuple(firm)
    strictest = max([d for d in said if d] or [ASK])
    outside = look(writes("/tmp/a"), tool="Write")
    assert judge(outside, *layers).verdict is strictest


def test_the_version_names_the_content_and_the_sources_name_the_files():
    one, other = policy(file="a.yaml"), policy(file="a.yaml", allow=["Bash"])
    assert merge([one]).version != merge([other]).version
    assert merge([one]).version == merge([policy(file="a.yaml")]).version
    assert merge([one, policy(layer=MANAGED)]).sources == (
        f"user a.yaml {one.version}",
        f"managed (built in) {policy(layer=MANAGED).version}",
    )


def test_profiles_of_all_layers_are_intersected():
    layers = [policy(profile="workspace-write"), policy(layer=PROJECT, profile="read-only")]
    decision = judge(look(run("x")), *layers)
    assert decision.boundary is not None
    assert (decision.boundary.mode, decision.boundary.write_roots) == ("read-only", ())


def test_the_names_of_profiles_are_told_once_each_the_users_first():
    layers = [
        policy(profile="workspace-write"),
        policy(layer=PROJECT, profile="read-only"),
        policy(profile="read-only"),
    ]
    assert merge(layers).profiles.names == ("workspace-write", "read-only")


def test_no_layer_can_take_a_boundary_away():
    decision = judge(look(run("x")), policy(profile="off"), policy(layer=PROJECT, profile="read-only"))
    assert decision.boundary is not None
    assert judge(look(run("x")), policy(profile="off")).boundary is None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layer", [PROJECT, RUN])
@pytest.mark.parametrize("mode", ["auto", "on_failure"])
def test_a_project_s_profile_only_tightens_the_one_that_a_mode_chooses(mode, layer, name):
    view = look(run("make", DANGEROUS), facts=world(sandbox=True, sandbox_hosts=("index.test",)))
    alone = judge(view, policy(mode=mode)).boundary
    found = judge(view, policy(mode=mode), policy(layer=layer, profile=name)).boundary
    assert alone is not None
    assert found is not None
    assert set(found.write_roots) <= set(alone.write_roots)
    assert set(found.network.hosts) <= set(alone.network.hosts)
    assert set(found.masked) >= set(alone.masked)
    assert not found.unix_sockets


def test_a_user_s_profile_takes_the_place_of_the_one_that_a_mode_chooses():
    view = look(run("make", DANGEROUS), facts=world(sandbox=True))
    found = judge(view, policy(mode="auto", profile="agent")).boundary
    assert found is not None
    assert (found.name, found.unix_sockets) == ("agent", True)


def test_a_boundary_is_for_commands():
    assert judge(look(reads("/ws/a"), tool="Read"), policy(profile="read-only")).boundary is None


def test_a_profile_nobody_knows_is_an_error():
    with pytest.raises(AssentError, match='no sandbox profile is called "none"'):
        profile("none", place())


def test_profiles_write_the_workspace_and_hide_what_is_assent_s():
    here = place(facts=world(assent_paths=("/a",)))
    inside, only = profile("workspace-write", here), profile("read-only", here)
    agent = profile("agent", here)
    assert None not in (inside, only, agent)
    assert (inside.write_roots, inside.masked, inside.network.hosts) == (("/ws",), ("/a",), ())
    assert (only.write_roots, only.masked, only.network.mode) == ((), ("/a",), "off")
    assert agent.mode == "agent"
    assert intersect([None, inside]) == inside
    assert intersect([None]) is None


#: operations, whether the sandbox holds them
HELD = [
    ((run("python x.py"),), True),
    ((run("x"), writes("/ws/a")), True),
    ((run("x"), writes("/tmp/a")), False),
    ((run("x"), writes("/ws/a", target="/tmp/a")), False),
    ((run("x"), reads("/etc/hosts")), True),
    ((run("x"), reads("/own/token")), False),
    ((run("x"), writes("\ufdd0")), True),
    ((run("git push"), connects("\ufdd0")), False),
    ((run("x"), connects("a.test")), False),
    ((run("x"), calls("Bash")), False),
]


@pytest.mark.parametrize(("operations", "held"), HELD)
def test_a_sandbox_holds_what_stays_inside_and_opaque_code(operations, held):
    facts = world(assent_paths=("/own",))
    boundary = profile("workspace-write", place(facts=facts))
    assert boundary is not None
    assert can_hold(boundary, look(*operations, facts=facts).reading) is held


def test_what_can_not_be_read_is_not_held():
    boundary = profile("workspace-write", place())
    assert boundary is not None
    assert not can_hold(boundary, look(run("x"), unreadable="it does not parse").reading)
