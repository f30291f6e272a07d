"""What is probably not meant: every finding has a rule that causes it and one that does not."""

from __future__ import annotations

import msgspec
import pytest

from assent.model import Layer, Origin, PathPolicy, Rule
from assent.policy.lint import lint
from assent.policy.rules.parse import parse_rule
from scenes import policy


def messages(*policies, now=None):
    return [(f.severity, f.message) for f in lint(policies, now)]


def found(said, **lists):
    return [m for m in messages(policy(**lists)) if said in m[1]]


#: what is said about it, severity, the policy, and one of which it is not said
FINDINGS = {
    "it allows every command that is not destructive": ("warning", {"allow": ["Bash"]}, {"allow": ["Bash(ls:*)"]}),
    "it allows every command": ("warning", {"allow": ["Bash(*)"]}, {"deny": ["Bash(*)"]}),
    "`python` can run anything": ("warning", {"allow": ["Bash(python:*)"]}, {"allow": ["Bash(python x.py)"]}),
    "`sudo` can run anything": ("warning", {"allow": ["Bash(sudo *)"]}, {"ask": ["Bash(sudo *)"]}),
    "it allows writing anywhere": ("warning", {"allow": ["Write"]}, {"allow": ["Write(src/**)", "Read"]}),
    "writing anywhere": ("warning", {"allow": ["Write(/**)"]}, {"allow": ["Write(**)"]}),
    "it allows every host": (
        "warning",
        {"allow": ["WebFetch(domain:*)"]},
        {"allow": ["WebFetch(domain:*.a.test)", "WebFetch(domain:a*.test)"]},
    ),
    "an allow needs a tool's full name": ("error", {"allow": ["mcp__*"]}, {"allow": ["mcp__x__*"], "deny": ["mcp__*"]}),
    "it matches no tool": ("warning", {"deny": ["mcp__github"]}, {"deny": ["mcp__github__*"]}),
    "no agent is known to have this tool": ("warning", {"deny": ["Wrte(/x)"]}, {"deny": ["Zebra", "mcp__x__y"]}),
    "it holds invisible characters (U+200B)": ("error", {"deny": ["Bash(r\u200bm)"]}, {"deny": ["Bash(rm)"]}),
    "it holds invisible characters (U+00A0)": ("error", {"deny": ["Bash(rm\u00a0x)"]}, {"deny": ["Bash(rm x)"]}),
    "it holds invisible characters (U+3164)": ("error", {"deny": ["Bash(rm\u3164)"]}, {"deny": ["Bash(rm)"]}),
    "`~bob` is the name of a file here": (
        "warning",
        {"deny": ["Read(~bob/**)"]},
        {"deny": ["Read(~/bob/**)", "Read(~)"]},
    ),
    "`$HOME` is the name of a file here": ("warning", {"deny": ["Read($HOME/**)"]}, {"deny": ["Read(/a/$HOME/**)"]}),
    "mixes letters of CYRILLIC and LATIN": ("warning", {"deny": ["Bash(r\u043c)"]}, {"deny": ["Bash(\u0440\u043c)"]}),
    "it can never match: a rule looks at one command": (
        "error",
        {"allow": ["Bash(ls && pwd)"]},
        {"allow": ["Bash(echo 'a && b')"], "deny": ["Read(a && b)"]},
    ),
    "a quote in it has no end": ("error", {"allow": ["Bash(npx 'a)"]}, {"allow": ["Bash(npx 'a' \\\"b it\\'s)"]}),
    "it is compared with words in which `~`": ("warning", {"deny": ["Bash(rm -r ~/x)"]}, {"deny": ["Bash(rm '~' a~)"]}),
    "`~` and variables are already resolved": ("warning", {"ask": ["Bash(ls ${X})"]}, {"ask": ["Bash(echo '$X' $)"]}),
    "it never takes effect: what it names cannot be undone": (
        "warning",
        {"allow": ["Bash(rm -rf /)"]},
        {
            "allow": [
                "Bash(rm -r build)",
                "Bash(mkfs:*)",
                "Bash(rm * /)",
                Rule(tool="Bash", pattern="rm -rf /", destructive=True),
            ],
            "deny": ["Bash(rm -rf /)"],
        },
    ),
    "it matches longer program or word names too": ("hint", {"deny": ["Bash(ls*)"]}, {"deny": ["Bash(ls:*)"]}),
    "it names a folder and matches no file in it": ("warning", {"allow": ["Read(src/)"]}, {"deny": ["Read(src/)"]}),
    "it is compared with the whole address": (
        "hint",
        {"deny": ["WebFetch(https://a.test/*)"]},
        {"deny": ["WebFetch(domain:a.test)", "WebFetch"]},
    ),
    "it never takes effect: Bash(git:*) (user) denies all of it": (
        "warning",
        {"allow": ["Bash(git status)"], "deny": ["Bash(git:*)"]},
        {"allow": ["Bash(git status)"], "deny": ["Bash(git push)"]},
    ),
    "it never takes effect: Write(/ws/**)": (
        "warning",
        {"ask": ["Edit(/ws/a/b)"], "deny": ["Write(/ws/**)"]},
        {"ask": ["Write(/ws/a)"], "deny": ["Edit"]},
    ),
    "it is asked about all the same: WebFetch(domain:*.a.test)": (
        "hint",
        {"allow": ["WebFetch(domain:x.a.test)"], "ask": ["WebFetch(domain:*.a.test)"]},
        {"allow": ["WebFetch(domain:a.test)"], "ask": ["WebFetch(domain:*.a.test)"]},
    ),
    "it never takes effect: WebFetch (user) denies all of it": (
        "warning",
        {"allow": ["WebFetch(domain:a.test)"], "deny": ["WebFetch"]},
        {"ask": ["WebFetch(domain:a.test)"], "deny": ["WebFetch", "WebSearch"]},
    ),
    "it never takes effect: * (user) denies all of it": (
        "warning",
        {"allow": ["Read(/x)"], "deny": ["*"]},
        {"allow": ["Read(/x)"], "deny": ["mcp__*"]},
    ),
    "it adds nothing to Bash(git:*)": (
        "hint",
        {"allow": ["Bash(git:*)", "Bash(git log:*)"]},
        {"allow": ["Bash(git)", "Bash(git log:*)"]},
    ),
    "it adds nothing to mcp__x__*": (
        "hint",
        {"deny": ["mcp__x__*", "mcp__x__y"]},
        {"deny": ["mcp__x__*", "mcp__y__y"]},
    ),
}


#: the same for what stands in the other lists: how it is named comes first
LISTED = {
    ("deny_commands: rm && ls", "it can never match"): (
        "error",
        {"deny_commands": ("rm && ls",)},
        {"deny_commands": ("rm", "ls")},
    ),
    ("approve_commands: r\u200bm", "it holds invisible characters (U+200B)"): (
        "error",
        {"approve_commands": ("r\u200bm",)},
        {"approve_commands": ("rm",)},
    ),
    ("approve_commands: rm*", "it matches longer program"): (
        "hint",
        {"approve_commands": ("rm*",)},
        {"approve_commands": ("rm:*",)},
    ),
    ("read.allow: keys/", "it names a folder"): (
        "warning",
        {"read": PathPolicy(allow=("keys/",))},
        {"forbidden": ("keys/",)},
    ),
    ("read.deny: \u0440a", "mixes letters of CYRILLIC and LATIN"): (
        "warning",
        {"read": PathPolicy(deny=("\u0440a",))},
        {"read": PathPolicy(deny=("pa",))},
    ),
    ("write.allow: /**", "it allows writing anywhere"): (
        "warning",
        {"write": PathPolicy(allow=("/**",))},
        {"write": PathPolicy(allow=("/srv/**",), deny=("/**",)), "read": PathPolicy(allow=("/**",))},
    ),
    ("deny_commands: ", "pattern inside parentheses is empty"): (
        "error",
        {"deny_commands": ("",)},
        {"deny_commands": ("x",)},
    ),
    ("allow: Bash(ls -l)", "it never takes effect: deny_commands: ls (user) denies all of it"): (
        "warning",
        {"deny_commands": ("ls",), "allow": ["Bash(ls -l)"]},
        {"deny_commands": ("lsof",), "allow": ["Bash(ls -l)"]},
    ),
    ("approve_commands: git push", "it never takes effect: Bash(git:*) (user) denies all of it"): (
        "warning",
        {"approve_commands": ("git push",), "deny": ["Bash(git:*)"]},
        {"approve_commands": ("git push",), "deny": ["Bash(git pull:*)"]},
    ),
    ("read.allow: /x/a", "it never takes effect: forbidden: /x/** (user) denies all of it"): (
        "warning",
        {"forbidden": ("/x/**",), "read": PathPolicy(allow=("/x/a",))},
        {"forbidden": ("/x/b",), "read": PathPolicy(allow=("/x/a",))},
    ),
    ("allow: Write(/x/a)", "it never takes effect: forbidden: /x/** (user) denies all of it"): (
        "warning",
        {"forbidden": ("/x/**",), "allow": ["Write(/x/a)"]},
        {"read": PathPolicy(deny=("/x/**",)), "allow": ["Write(/x/a)"]},
    ),
    ("forbidden: /x/a", "it adds nothing to forbidden: /x/** (user)"): (
        "hint",
        {"forbidden": ("/x/**", "/x/a")},
        {"forbidden": ("/x/a",), "read": PathPolicy(deny=("/x/**",)), "deny": ["Write(/y/**)"]},
    ),
    ("write.deny: /x/a", "it adds nothing to Write(/x/**) (user)"): (
        "hint",
        {"write": PathPolicy(deny=("/x/a",)), "deny": ["Write(/x/**)"]},
        {"write": PathPolicy(deny=("/x/a",)), "deny": ["Read(/x/**)"]},
    ),
}


@pytest.mark.parametrize(("named", "said"), LISTED)
def test_every_list_of_a_policy_is_looked_through(named, said):
    severity, faulty, sound = LISTED[named, said]
    assert [f.severity for f in lint([policy(**faulty)]) if f.rule == named and said in f.message] == [severity]
    assert [f for f in lint([policy(**sound)]) if said in f.message] == []


def test_a_pattern_of_a_list_is_placed_in_its_file():
    (finding,) = lint([policy(layer=Layer.PROJECT, file="a.yaml", deny_commands=("a | b",))])
    assert str(finding.origin) == "project a.yaml"


def test_the_way_out_of_a_list_that_knows_no_exceptions_is_a_rule():
    (finding,) = lint([policy(deny_commands=("ls",), allow=["Bash(ls -l)"])])
    assert finding.suggestion == "narrow it in deny_commands, or write it as a deny rule with `except`"


@pytest.mark.parametrize("said", FINDINGS)
def test_a_finding_is_made_where_it_is_due_and_only_there(said):
    severity, faulty, sound = FINDINGS[said]
    assert [s for s, _ in found(said, **faulty)] == [severity]
    assert found(said, **sound) == []


def test_a_policy_without_faults_has_no_findings():
    assert (
        messages(policy(allow=["Bash(git status)", "Read(src/**)"], ask=["Bash(git push:*)"], deny=["Bash(rm:*)"]))
        == []
    )


def test_a_rule_that_can_not_be_read_is_an_error_and_the_rest_is_looked_at():
    broken = Rule(tool="WebFetch", pattern="domain:a/b", origin=Origin(file="a.yaml", line=3))
    first, second = lint([policy(deny=[broken], allow=["Bash"])])
    assert (first.severity, first.message, first.rule) == (
        "error",
        '"a/b" is not a domain',
        "deny: WebFetch(domain:a/b)",
    )
    assert str(first.origin) == "user a.yaml:3"
    assert second.severity == "warning"


def test_an_expired_rule_is_told_only_when_the_time_is_known():
    old = policy(deny=[Rule(tool="Bash", pattern="x", expires=5.0)])
    assert messages(old, now=5.0) == [("warning", "it has expired and has no effect")]
    assert messages(old, now=4.0) == messages(old) == []


def test_what_a_project_can_not_say_is_told():
    loose = policy(layer=Layer.PROJECT, mode="bypassPermissions", classifier=False)
    assert messages(loose) == [
        ("warning", "a project cannot loosen: its mode bypassPermissions is ignored"),
        ("warning", "a project cannot switch the classifier off: ignored"),
    ]
    assert messages(policy(layer=Layer.PROJECT, mode="strict", classifier=True)) == []


def test_the_user_s_bypass_is_told():
    ((severity, message),) = messages(policy(mode="bypassPermissions"))
    assert severity == "warning"
    assert message.startswith("nothing is asked in this mode")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Bash(x)", "Bash(x)"),
        ("Bash(x:*)", "Bash(x *)"),
        ("Bash(x *)", "Bash(x:*)"),
        ("Bash(x)", "Bash(x:*)"),
        ("Bash(*)", "Bash(**)"),
        ("Write(/x/**)", "Edit(/x/**)"),
        ("WebFetch(domain:a.test)", "WebFetch(domain:A.test)"),
    ],
)
def test_of_two_rules_that_say_the_same_the_later_alone_is_too_much(first, second):
    pair = [parse_rule(r, Origin(file="a", line=i)) for i, r in enumerate((first, second), 1)]
    (finding,) = lint([policy(deny=pair)])
    assert (finding.rule, finding.origin.line) == (f"deny: {second}", 2)
    assert finding.message == f"it adds nothing to {first} (user a:1)"


@pytest.mark.parametrize("pair", [("Bash", "Bash(*)"), ("Bash(*)", "Bash")])
@pytest.mark.parametrize("effect", ["deny", "ask", "allow"])
def test_of_two_rules_of_which_one_says_more_the_other_alone_is_too_much(effect, pair):
    assert [f.rule for f in lint([policy(**{effect: pair})]) if f.severity == "hint"] == [f"{effect}: Bash(*)"]


PLAIN = Rule(tool="Bash", pattern="x y")


@pytest.mark.parametrize(
    ("effect", "field", "weak", "strong"),
    [("allow", "destructive", False, True), ("ask", "every_time", False, True), ("deny", "expires", 9.0, None)],
)
def test_of_two_rules_the_one_that_says_more_stays_wherever_it_stands(effect, field, weak, strong):
    weaker, stronger = (msgspec.structs.replace(PLAIN, **{field: value}) for value in (weak, strong))
    for pair in ([weaker, stronger], [stronger, weaker]):
        assert messages(policy(**{effect: pair})) == [("hint", "it adds nothing to Bash(x y) (user)")]
    wide = msgspec.structs.replace(weaker, pattern="x:*")
    assert messages(policy(**{effect: [wide, stronger]})) == []
    assert len(messages(policy(**{effect: [wide, weaker]}))) == 1


def test_an_ask_of_the_organisation_is_no_mere_repetition_of_the_user_s():
    managed, own = policy(layer=Layer.MANAGED, ask=["Bash(x)"]), policy(ask=["Bash(x)"])
    for layers in ([managed, own], [own, managed]):
        (finding,) = lint(layers)
        assert finding.message == "it adds nothing to Bash(x) (user)"
    assert lint([managed, policy(ask=["Bash"])]) == []


def test_an_expired_rule_is_neither_swallowed_nor_swallows():
    old, new = Rule(tool="Bash", expires=5.0), Rule(tool="Bash", pattern="x")
    for lists in ({"deny": [old], "allow": [new]}, {"allow": [old], "deny": ["Bash"]}, {"deny": [old, new]}):
        assert not [m for _, m in messages(policy(**lists), now=6.0) if "never takes" in m or "adds nothing" in m]


def test_a_deny_that_ends_does_not_make_an_allow_pointless():
    freeze = Rule(tool="Bash", pattern="git push:*", expires=9.0)
    assert messages(policy(deny=[freeze], allow=["Bash(git push origin)"]), now=1.0) == []
    shorter = Rule(tool="Bash", pattern="git push origin", expires=8.0)
    assert [m for _, m in messages(policy(deny=[freeze], allow=[shorter]), now=1.0) if "never takes effect" in m]


def test_an_allow_that_does_not_count_makes_no_other_pointless():
    project = policy(layer=Layer.PROJECT, allow=["Bash(git:*)"], trusted=False)
    own = policy(allow=["Bash(git status)"])
    assert lint([own, project]) == []
    assert len(lint([own, msgspec.structs.replace(project, trusted=True)])) == 1


def test_the_strictest_of_the_rules_that_swallow_another_is_named():
    (finding,) = lint([policy(ask=["Bash"], deny=["Bash(x:*)"], allow=["Bash(x y)"])])
    assert finding.message == "it never takes effect: Bash(x:*) (user) denies all of it"


def test_rules_of_all_layers_are_seen_together():
    findings = lint([policy(allow=["Bash(git status)"]), policy(layer=Layer.MANAGED, deny=["Bash(git:*)"])])
    assert [f.rule for f in findings] == ["allow: Bash(git status)"]
    assert findings[0].suggestion == "narrow the deny with `except`"
