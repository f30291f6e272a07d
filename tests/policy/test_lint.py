"""What is probably not meant: every finding has a rule that causes it and one that does not."""

from __future__ import annotations

import pytest

from assent.model import Layer, Origin, Rule
from assent.policy.lint import lint
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
    "mixes letters of CYRILLIC and LATIN": ("warning", {"deny": ["Bash(r\u043c)"]}, {"deny": ["Bash(\u0440\u043c)"]}),
    "it can never match: a rule looks at one command": (
        "error",
        {"allow": ["Bash(ls && pwd)"]},
        {"allow": ["Bash(echo 'a && b')"], "deny": ["Read(a && b)"]},
    ),
    "it matches longer program or word names too": ("hint", {"deny": ["Bash(ls*)"]}, {"deny": ["Bash(ls:*)"]}),
    "it names a folder and matches no file in it": ("warning", {"deny": ["Read(src/)"]}, {"deny": ["Read(src/**)"]}),
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
        ("warning", "a project can not loosen: its mode bypassPermissions is ignored"),
        ("warning", "a project can not switch the classifier off: ignored"),
    ]
    assert messages(policy(layer=Layer.PROJECT, mode="strict", classifier=True)) == []


def test_the_user_s_bypass_is_told():
    ((severity, message),) = messages(policy(mode="bypassPermissions"))
    assert severity == "warning"
    assert message.startswith("nothing is asked in this mode")


def test_of_two_rules_that_say_the_same_the_later_is_too_much():
    first = Rule(tool="Bash", pattern="x", origin=Origin(file="a", line=1))
    second = Rule(tool="Bash", pattern="x", origin=Origin(file="a", line=2))
    (finding,) = lint([policy(deny=[first, second])])
    assert (finding.origin.line, finding.message) == (2, "it adds nothing to Bash(x) (user a:1)")


def test_rules_of_all_layers_are_seen_together():
    findings = lint([policy(allow=["Bash(git status)"]), policy(layer=Layer.MANAGED, deny=["Bash(git:*)"])])
    assert [f.rule for f in findings] == ["allow: Bash(git status)"]
    assert findings[0].suggestion == "narrow the deny with `except`"
