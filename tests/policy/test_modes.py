"""The table of modes, cell by cell."""

from __future__ import annotations

import msgspec
import pytest

from assent.model import Consent, Layer, Mode, Operation, OperationKind, Session, Verdict
from assent.policy.call_view import View
from assent.policy.modes import TABLE
from scenes import (
    DANGEROUS,
    DESTRUCTIVE,
    NOBODY,
    SAFE,
    calls,
    connects,
    judge,
    look,
    policy,
    reads,
    rules,
    run,
    view_of,
    world,
    writes,
)

#: what is decided: a view of it, and the rules there are about it
SITUATIONS = {
    "safe look": (look(reads("/ws/a"), tool="Read"), {}),
    "safe write": (look(writes("/ws/a"), tool="Write"), {}),
    "safe command": (look(run("ls")), {}),
    "dangerous": (look(run("make", DANGEROUS), facts=world(sandbox=True)), {}),
    "dangerous, not held": (look(run("x", DANGEROUS), connects("a.test"), facts=world(sandbox=True)), {}),
    "dangerous, no sandbox": (look(run("make", DANGEROUS)), {}),
    "dangerous tool": (look(calls("T"), tool="T", facts=world(sandbox=True)), {}),
    "destructive": (look(run("rm -rf /", DESTRUCTIVE)), {}),
    "covered look": (look(reads("/ws/a"), tool="Read"), {"allow": ["Read"]}),
    "covered write": (look(writes("/ws/a"), tool="Write"), {"allow": ["Write"]}),
    "covered dangerous": (look(run("make", DANGEROUS)), {"allow": ["Bash(make)"]}),
    "covered destructive": (look(run("rm -rf /", DESTRUCTIVE)), {"allow": ["Bash(rm:*)"]}),
    "soft ask": (look(run("ls")), {"ask": ["Bash(ls)"], "allow": ["Bash"]}),
    "soft ask, uncovered": (look(run("ls")), {"ask": ["Bash(ls)"]}),
    "built-in ask": (look(reads("/ws/.env", secret=True), tool="Read"), {"allow": ["Read"]}),
    "edge ask": (look(writes("/tmp/a"), tool="Write"), {}),
    "edit inside": (look(writes("/ws/a"), tool="Edit"), {"ask": ["Write"], "allow": ["Edit"]}),
    "edit outside": (look(writes("/tmp/a"), tool="Edit"), {"ask": ["Write"], "allow": ["Edit"]}),
    "edit of a secret": (look(writes("/ws/.env", secret=True), tool="Edit"), {"ask": ["Write"], "allow": ["Edit"]}),
    "firm ask": (look(run("ls")), {"layer": Layer.MANAGED, "ask": ["Bash(ls)"], "allow": ["Bash"]}),
    "control plane": (look(writes("/ws/.git/config"), tool="Write"), {"allow": ["Write"]}),
    "deny": (look(run("ls")), {"deny": ["Bash(ls)"], "allow": ["Bash"]}),
}
#: + runs, ? asks, - denies, s runs in the sandbox
COLUMNS = [
    "default",
    "untrusted",
    "acceptEdits",
    "auto",
    "on_failure",
    "plan",
    "strict",
    "dontAsk",
    "bypassPermissions",
]
EXPECTED = """
safe look             | + + + + + + - + +
safe write            | + ? + + + - - + +
safe command          | + + + + + + - + +
dangerous             | ? ? ? s s - - - +
dangerous, not held   | ? ? ? ? s - - - +
dangerous, no sandbox | ? ? ? ? u - - - +
dangerous tool        | ? ? ? ? ? - - - +
destructive           | - - - - - - - - +
covered look          | + + + + + + + + +
covered write         | + + + + + - + + +
covered dangerous     | + + + + + - + + +
covered destructive   | - - - - - - - - +
soft ask              | ? ? ? ? ? - ? - +
soft ask, uncovered   | ? ? ? ? ? - ? - +
built-in ask          | ? ? ? ? ? - - - +
edge ask              | ? ? ? ? ? - - - +
edit inside           | ? ? + ? ? - ? - +
edit outside          | ? ? ? ? ? - ? - +
edit of a secret      | ? ? ? ? ? - ? - +
firm ask              | ? ? ? ? ? - ? - ?
control plane         | ? ? ? ? ? - - - ?
deny                  | - - - - - - - - -
"""
SIGNS = {"allow": "+", "ask": "?", "deny": "-", "sandboxed": "s", "unavailable": "u"}
TABLE_OF_MODES = [
    (situation.strip(), mode, sign)
    for line in EXPECTED.strip().splitlines()
    for situation, signs in [line.split("|")]
    for mode, sign in zip(COLUMNS, signs.split(), strict=True)
]


def test_the_table_names_every_mode_and_every_situation():
    assert set(COLUMNS) == {m.value for m in Mode} == set(TABLE)
    assert {s for s, _, _ in TABLE_OF_MODES} == SITUATIONS.keys()


@pytest.mark.parametrize(("situation", "mode", "sign"), TABLE_OF_MODES)
def test_a_mode_does_what_its_row_says(situation, mode, sign):
    view, said = SITUATIONS[situation]
    assert SIGNS[judge(view, policy(mode=mode), policy(**said)).decision] == sign


@pytest.mark.parametrize(("situation", "mode", "sign"), TABLE_OF_MODES)
def test_where_nobody_can_be_asked_every_ask_is_a_deny_and_the_rest_stays(situation, mode, sign):
    view, said = SITUATIONS[situation]
    alone = View(view.call, NOBODY, view.reading, view.place)
    by_session = judge(alone, policy(mode=mode), policy(**said))
    by_policy = judge(view, policy(mode=mode, interactive=False), policy(**said))
    for asked in (by_session, by_policy):
        assert SIGNS[asked.decision] == ("-" if sign == "?" else sign)
        assert not asked.interactive


ASKED = {s for s in SITUATIONS if " ask" in s or s.startswith("edit ") or s == "control plane"}
REFUSED_ALL_THE_SAME = {("plan", s) for s in ASKED if s.startswith(("edit ", "edge", "control"))} | {
    ("strict", "edge ask")
}
"""The mode denies these by itself, whatever is asked."""


@pytest.mark.parametrize(("situation", "mode", "sign"), TABLE_OF_MODES)
def test_a_person_s_yes_answers_every_ask_and_no_deny(situation, mode, sign):
    view, said = SITUATIONS[situation]
    decision = judge(view, policy(mode=mode), policy(**said), consent=Consent(yes=True))
    answered = situation in ASKED and (mode, situation) not in REFUSED_ALL_THE_SAME
    assert SIGNS[decision.decision] == ("+" if sign == "?" or answered else sign)


@pytest.mark.parametrize("mode", COLUMNS)
@pytest.mark.parametrize("tier", [SAFE, DANGEROUS, DESTRUCTIVE])
def test_without_votes_everything_takes_the_safe_column(mode, tier):
    muted = policy(mode=mode, classifier=False)
    decision = judge(look(run("x", tier)), muted)
    looks = tier is SAFE
    expected = {"untrusted": "ask", "strict": "deny", "plan": "allow" if looks else "deny"}.get(mode, "allow")
    assert decision.decision == expected


@pytest.mark.parametrize("workspace", [("/ws",), ()])
def test_accept_edits_needs_an_edit_inside_the_workspace_if_there_is_one(workspace):
    session = Session(workspace=workspace)
    quiet = policy(mode="acceptEdits", ask=["Write"])
    assert judge(look(writes("/ws/a"), tool="Write", session=session), quiet).decision == "allow"
    out = judge(look(writes("/tmp/a"), tool="Write", session=session), quiet)
    assert out.decision == ("ask" if workspace else "allow")
    assert judge(look(run("tee"), writes("/ws/a", owner=0), session=session), quiet).decision == "ask"
    dangerous = look(writes("/ws/a", DANGEROUS), tool="Write", session=session)
    assert judge(dangerous, quiet).decision == "ask"
    linked = look(writes("/ws/a", target="/etc/a"), tool="Write", session=session)
    assert judge(linked, quiet).decision == ("ask" if workspace else "allow")


def test_in_embedded_policies_accept_edits_holds_anywhere_but_for_firm_asks():
    quiet = policy(mode="acceptEdits", ask=["Write"], embedded=True)
    assert judge(look(writes("/etc/a", DANGEROUS), tool="Write"), quiet).decision == "allow"
    assert judge(look(writes("/ws/.git/config", DANGEROUS), tool="Write"), quiet).decision == "ask"


BYPASSED = [
    ({"deny": ["Bash(x)"]}, look(run("x")), "allow"),
    ({"ask": ["Bash(x)"]}, look(run("x", DESTRUCTIVE)), "allow"),
    ({"classifier": True}, look(run("x", DESTRUCTIVE)), "allow"),
    ({}, look(writes("/ws/.git/config"), tool="Write"), "ask"),
    ({}, look(reads("/ws/.env", secret=True), tool="Read"), "allow"),
]


@pytest.mark.parametrize(("said", "view", "outcome"), BYPASSED)
def test_an_embedded_bypass_passes_everything_but_the_protections(said, view, outcome):
    decision = judge(view, policy(mode="bypassPermissions", embedded=True, **said))
    assert decision.decision == outcome
    assert all(o.overruled for o in decision.opinions if o.source in ("rule", "classifier"))


def test_under_an_embedded_bypass_asks_are_answered_and_refused_as_everywhere():
    view = look(writes("/ws/.git/config"), tool="Write")
    alone = look(writes("/ws/.git/config"), tool="Write", session=NOBODY)
    passing = policy(mode="bypassPermissions", embedded=True)
    assert judge(view, passing, consent=Consent(yes=True)).decision == "allow"
    assert judge(alone, passing).decision_source == "not_interactive"


def test_a_person_may_turn_blocked_into_a_firm_question():
    view = look(run("rm -rf /", DESTRUCTIVE))
    enabled = Consent(destructive=True)
    assert judge(view, consent=enabled).decision == "ask"
    assert judge(view, policy(ask=["Bash(ls)"]), consent=Consent(destructive=True, yes=True)).decision == "allow"
    assert judge(view, policy(mode="dontAsk"), consent=enabled).decision == "deny"
    asked = [o for o in judge(view, consent=enabled).opinions if o.policy == "classifier"]
    assert any(o.firm and o.verdict is Verdict.ASK for o in asked)


def test_several_modes_give_the_strictest_verdict_and_the_tightest_boundary():
    held = look(run("make", DANGEROUS), facts=world(sandbox=True))
    both = judge(held, policy(mode="auto"), policy(layer=Layer.PROJECT, mode="on_failure"))
    assert (both.decision, both.boundary and both.boundary.name) == ("sandboxed", "workspace-write")
    asked = judge(held, policy(mode="auto"), policy(layer=Layer.PROJECT, mode="default"))
    assert (asked.verdict, asked.mode) == (Verdict.ASK, Mode.DEFAULT)
    yes = judge(held, policy(mode="auto"), policy(layer=Layer.PROJECT, mode="default"), consent=Consent(yes=True))
    assert yes.decision == "sandboxed"
    assert yes.digest == asked.digest


ONLY_LOOKS = [
    (reads("/a", DANGEROUS), True),
    (run("x"), True),
    (run("x", DANGEROUS), False),
    (connects("a"), True),
    (connects("a", DANGEROUS), False),
    (calls("T", SAFE), True),
    (calls("T"), False),
    (writes("/a"), False),
    (Operation(kind=OperationKind.FS_EXEC, resource="/a", tier=SAFE, reason=""), False),
]


@pytest.mark.parametrize(("operation", "looks"), ONLY_LOOKS)
def test_only_looking_is_a_read_or_a_safe_command_connection_or_tool(operation, looks):
    assert operation.reads is looks


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        ("echo x > y", Verdict.ALLOW),
        ("cat a | sed -n 1p > ../b", Verdict.ALLOW),
        ("python3 x.py && npm install", Verdict.ALLOW),
        ("ls $(date)", Verdict.ALLOW),
        ("rm -rf /", Verdict.DENY),
        ("echo 'x", Verdict.DENY),
    ],
)
def test_under_a_strict_embedded_policy_a_bare_tool_covers_what_its_author_means(line, outcome):
    strict = policy(mode="strict", allow=["Bash"], embedded=True)
    assert judge(view_of("Bash", {"command": line}), strict).verdict is outcome
    assert judge(look(writes("/ws/x"), tool="Write"), strict).verdict is Verdict.DENY


def test_a_bare_tool_covers_less_for_a_time_and_in_a_policy_of_our_own():
    line = view_of("Bash", {"command": "echo x > /elsewhere/y"})
    until = msgspec.structs.replace(rules("Bash")[0], expires=9e12)
    assert judge(line, policy(mode="strict", allow=[until], embedded=True)).verdict is Verdict.DENY
    assert judge(line, policy(mode="strict", allow=["Bash"])).verdict is Verdict.DENY
    assert judge(line, policy(mode="strict", allow=["Bash"], ask=["Write"], embedded=True)).verdict is Verdict.ASK


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        ("git status", Verdict.ALLOW),
        ("git log main", Verdict.ALLOW),
        ("git log $X", Verdict.DENY),  # it may be an option that starts another program
        ("git log 2>/dev/null", Verdict.ALLOW),
        ("git status; rm -rf /", Verdict.DENY),
        ("git log | head", Verdict.DENY),
        ("git log $(date)", Verdict.DENY),
        ("git log > /elsewhere/x", Verdict.DENY),
        ("git clone https://a.test/a /etc/a", Verdict.DENY),
        ("git -c core.pager=x log", Verdict.DENY),
        ("GIT_PAGER=x git log", Verdict.DENY),
        ("git push --force", Verdict.DENY),
    ],
)
def test_under_a_strict_embedded_policy_a_pattern_covers_its_commands_and_nothing_besides(line, outcome):
    strict = policy(mode="strict", allow=["Bash(git:*)"], embedded=True)
    assert judge(view_of("Bash", {"command": line}), strict).verdict is outcome
