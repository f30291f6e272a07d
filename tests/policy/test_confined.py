"""A run that no admin started: what lies outside its workspace stays a question, whatever was said before."""

from __future__ import annotations

import pytest

from assent import parse_rules
from assent.decisions.grants.reliance import leaves_run
from assent.model import ALLOW, ASK, DENY, Consent, Facts, Grant, Layer, Mode, Policy, Session, ToolCall
from assent.policy.engine import Engine

HERE = {"id": "r", "workspace": ("/work/p",), "run": True}
CONFINED, FREE = Session(**HERE, confined=True), Session(**HERE)
FACTS = Facts(now=1.0, home="/home/u", resolve=lambda path: path)
OUT, IN = {"path": "/work/other", "content": "x"}, {"path": "/work/p/new", "content": "x"}
RULE = parse_rules(["Write(/**)"])[0]


def decide(session, given=OUT, *, policy=None, tool="write_file", consent=None, patched=False):
    engine = Engine((policy or Policy(layer=Layer.USER),), facts=lambda: FACTS)
    guard = engine.guard(tool, cwd="/work/p", run=True)
    if patched:
        guard = guard.patch("write", allow=("/**",), default=ALLOW).patch("read", allow=("/**",), default=ALLOW)
    return engine.decide(ToolCall(tool=tool, input=given, cwd="/work/p"), session, consent or Consent(), guard)


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"policy": Policy(layer=Layer.USER, allow=(RULE,))},
        {"policy": Policy(layer=Layer.USER, mode=Mode.BYPASS)},
        {"policy": Policy(layer=Layer.USER, mode=Mode.ACCEPT_EDITS)},
        {"consent": Consent(grants=(Grant(id="g", rule=RULE, outside=True),))},
        {"patched": True},
    ],
)
def test_nothing_that_was_said_before_takes_the_question_away(said):
    decision = decide(CONFINED, **said)
    assert decision.verdict is ASK
    assert "only an admin may allow it" in str(decision.opinions)
    assert leaves_run(decision, CONFINED)
    assert decide(CONFINED, IN, **said).verdict is ALLOW


@pytest.mark.parametrize(
    ("tool", "given", "leaves"),
    [
        ("read_file", {"path": "/work/other"}, True),
        ("read_file", {"path": "a"}, False),
        ("list_dir", {"path": ".."}, True),
        ("run_command", {"command": "cat ../x"}, True),
        ("run_command", {"command": "cat $UNKNOWN/x"}, True),
        ("run_command", {"command": "cat x > /dev/null"}, False),
        ("run_command", {"command": "python3 -c 1"}, False),
        ("web_fetch", {"url": "https://example.com"}, False),
        ("write_file", {"path": ".vscode/tasks.json", "content": "x"}, True),
    ],
)
def test_every_tool_is_held_to_the_workspace(tool, given, leaves):
    decision = decide(CONFINED, given, tool=tool)
    assert leaves_run(decision, CONFINED) == leaves
    # A yes that is looked at again is about the same.
    assert leaves_run(decide(CONFINED, given, tool=tool, consent=Consent(yes=True)), CONFINED) == leaves


def test_without_a_workspace_everything_lies_outside():
    nowhere = Session(id="r", workspace=("/home/u/.ssh",), run=True, confined=True)
    assert leaves_run(decide(nowhere, IN), nowhere)


def test_in_an_admins_run_an_admins_word_counts_and_a_users_does_not():
    assert decide(FREE).verdict is ASK
    assert leaves_run(decide(FREE), FREE)
    for outside, verdict in ((True, ALLOW), (False, ASK)):
        consent = Consent(grants=(Grant(id="g", rule=RULE, outside=outside),))
        assert decide(FREE, consent=consent).verdict is verdict
    assert decide(FREE, policy=Policy(layer=Layer.USER, allow=(RULE,))).verdict is ALLOW
    assert decide(FREE, patched=True).verdict is ALLOW


def test_outside_of_runs_nothing_leaves_one():
    session = Session(workspace=("/work/p",))
    assert not leaves_run(decide(session), session)
    grant = Consent(grants=(Grant(id="g", rule=RULE),))
    assert decide(session, consent=grant).verdict is ALLOW


def test_where_nobody_can_be_asked_it_is_denied():
    alone = Session(**HERE, confined=True, interactive=False)
    assert decide(alone).verdict is DENY
