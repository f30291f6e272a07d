"""What a person refused for longer than one call stays refused, by any name, until it is overridden or ends."""

from __future__ import annotations

import msgspec
import pytest

from assent import Engine, Facts, Session, ToolCall
from assent.model import ALLOW, ASK, DENY, Consent, Grant, Rule, Scope, Source
from assent.policy import remembered_refusals
from assent.policy.remembered_refusals import refusal_digest, refused_thing

SESSION = Session(id="s", user="u", agent="a", workspace=("/code",))
ENGINE = Engine(facts=lambda: Facts(now=100.0, home="/home/u", resolve=str))


def bash(text, **more):
    return ToolCall(tool="Bash", input={"command": text}, cwd="/code", **more)


def write(path, **more):
    return ToolCall(tool="Write", input={"file_path": path, "content": "x"}, cwd="/code", **more)


def refuse(call, **more):
    """Refuse a call for the session, as an answer without a pattern does."""
    thing = refused_thing(call, ENGINE.decide(call, SESSION).reading)
    about = {"rule": thing} if isinstance(thing, Rule) else {"digest": thing}
    return Grant(id="g", verdict=DENY, scope=Scope.SESSION, user="u", agent="a", session="s", **(about | more))


def decide(call, *grants, session=SESSION):
    return ENGINE.decide(call, session, Consent(grants=grants))


@pytest.mark.parametrize(
    ("refused", "again"),
    [
        (bash("ls"), bash("ls")),
        (bash("ls"), ToolCall(tool="shell", input={"command": "ls", "description": "other"}, cwd="/elsewhere")),
        (write("/code/a.py"), write("/code/a.py")),
        (write("/code/a.py"), ToolCall(tool="Edit", input={"file_path": "/code/a.py"}, cwd="/code")),
        (write("/code/a.py"), bash("echo x > a.py")),
        (ToolCall(tool="Read", input={"file_path": "/code/a.py"}), bash("cat /code/a.py")),
        (ToolCall(tool="mcp__x__y", input={"z": 1}), ToolCall(tool="mcp__x__y", input={"z": 1}, cwd="/code")),
    ],
)
def test_what_was_refused_is_refused_by_any_name(refused, again):
    decision = decide(again, refuse(refused))
    assert decision.verdict is DENY
    assert decision.decision_source is Source.SESSION
    assert decision.decision_reason == "refused earlier in this session"
    assert any(o.policy.startswith("session-deny-") for o in decision.opinions)


@pytest.mark.parametrize(
    ("refused", "other"),
    [
        (bash("ls"), bash("ls -l")),
        (write("/code/a.py"), write("/code/b.py")),
        (write("/code/a.py"), ToolCall(tool="Read", input={"file_path": "/code/a.py"})),
    ],
)
def test_what_was_not_refused_is_not(refused, other):
    assert decide(other, refuse(refused)).verdict is ALLOW


def test_what_may_be_what_was_refused_is_asked_about():
    decision = decide(bash("echo x > $F"), refuse(write("/code/a.py")))
    assert decision.verdict is ASK


def test_a_call_that_overrides_is_asked_about_firmly():
    grant = refuse(bash("ls"), feedback="not now")
    decision = decide(bash("ls", override=True), grant)
    assert (decision.verdict, decision.decision_reason) == (
        ASK,
        "refused earlier in this session: not now, requested again",
    )
    allows_all = Grant(id="h", rule=Rule(tool="Bash"))
    assert decide(bash("ls", override=True), grant, allows_all).verdict is ASK
    consent = Consent(grants=(grant,), yes=True)
    assert ENGINE.decide(bash("ls", override=True), SESSION, consent).verdict is ALLOW
    assert ENGINE.decide(bash("ls"), SESSION, consent).verdict is DENY


@pytest.mark.parametrize("change", [{"session": "t"}, {"user": "v"}, {"agent": "b"}, {"expires_at": 99.0}])
def test_a_refusal_holds_where_and_while_it_was_meant_to(change):
    grant = msgspec.structs.replace(refuse(bash("ls")), **change)
    assert decide(bash("ls"), grant).verdict is ALLOW


def test_a_standing_refusal_is_named_as_such():
    grant = Grant(id="g", verdict=DENY, rule=Rule(tool="Bash", pattern="ls:*"))
    decision = decide(bash("ls -l"), grant)
    assert (decision.verdict, decision.decision_source) == (DENY, Source.GRANT)
    assert decision.decision_reason == "refused earlier"
    assert decision.opinions[0].policy == "standing-deny-Bash-ls"


def test_a_refusal_that_can_not_be_evaluated_is_about_everything(monkeypatch):
    def fail(_rule):
        raise RuntimeError

    monkeypatch.setattr(remembered_refusals, "compile_rule", fail)
    assert decide(bash("ls"), Grant(id="g", verdict=DENY, rule=Rule(tool="Bash"))).verdict is DENY


def test_a_refusal_allows_nothing():
    assert decide(bash("node x.js"), Grant(id="g", verdict=DENY, rule=Rule(tool="WebFetch"))).verdict is ASK


def test_a_line_is_told_by_its_text_alone():
    assert refusal_digest(bash("ls"), "Bash") == refusal_digest(bash("ls", call_id="x"), "Bash")
    assert refusal_digest(bash("ls"), "Bash") != refusal_digest(bash("ls "), "Bash")
