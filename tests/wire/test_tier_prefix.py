"""The permissions API names the tier in a reason of the classifier; everything else shows the plain reason."""

from __future__ import annotations

import pytest

from assent import Engine, Policy, Session, ToolCall, parse_rule
from assent.wire.tier_prefix import with_tier, without_tier

SESSION = Session(workspace=("/ws",))


def decide(tool, given, **rules):
    lists = {name: (parse_rule(rule),) for name, rule in rules.items()}
    return Engine([Policy(**lists)]).decide(ToolCall(tool=tool, input=given, cwd="/ws"), SESSION)


@pytest.mark.parametrize(
    ("tool", "given", "prefix"),
    [
        ("bash", {"command": "ls"}, "Safe command: "),
        ("bash", {"command": "node x.js"}, "Dangerous command: "),
        ("bash", {"command": "rm -rf /"}, "Destructive command: "),
        ("frobnicate", {}, "Dangerous tool: "),
    ],
)
def test_a_reason_of_the_classifier_gets_its_tier_and_loses_it_again(tool, given, prefix):
    decision = decide(tool, given)
    plain = decision.decision_reason
    assert not plain.startswith(prefix)
    assert with_tier(plain, decision) == prefix + plain
    assert without_tier(prefix + plain, decision.reading.tier, tool) == plain


def test_the_reason_of_a_rule_stays_as_it_is():
    decision = decide("bash", {"command": "node x.js"}, ask="Bash(node:*)")
    assert with_tier(decision.decision_reason, decision) == "approval required by Bash(node:*)"
