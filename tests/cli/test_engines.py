from __future__ import annotations

import pytest

from assent.cli.engines import refuse, replace_user_mode
from assent.model import CallError, Layer, Mode, Policy, Source, ToolCall, Verdict
from assent.policy.engine import Engine

WRITE = ToolCall(tool="mcp__x__y", cwd="/w")


@pytest.mark.parametrize(
    ("layer", "verdict"),
    [(Layer.USER, Verdict.ALLOW), (Layer.MANAGED, Verdict.DENY), (Layer.PROJECT, Verdict.DENY)],
)
def test_the_users_word_replaces_the_users_mode_and_no_other(layer, verdict):
    policies = replace_user_mode((Policy(mode=Mode.STRICT, layer=layer),), Mode.BYPASS)
    assert Engine(policies).decide(WRITE).verdict is verdict


def test_without_a_word_nothing_changes():
    policies = (Policy(mode=Mode.STRICT),)
    assert replace_user_mode(policies, None) is policies


def test_a_refusal_is_a_denial_that_names_the_error():
    decision = refuse(WRITE, CallError("there is no folder `/x`"))
    assert decision.verdict is Verdict.DENY
    assert decision.decision_source is Source.ERROR
    assert "there is no folder `/x`" in decision.decision_reason
