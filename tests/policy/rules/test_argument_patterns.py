"""Rules on MCP tools and on a program's own tools: places by what they resolve to, everything else as text."""

from __future__ import annotations

import pytest

from assent.model import Certainty, Consent, Grant, Rule, Verdict
from scenes import HOME, SESSION, judge, match, policy, view_of, world

YES, MAYBE, NO = Certainty.YES, Certainty.MAYBE, Certainty.NO
ALLOW, ASK, DENY = Verdict
LINKS = {"/ws/out": "/etc", "/ws/in": "/ws/src", "/ws/prod": "/srv/prod-db"}
FACTS = world(links=LINKS, exists=lambda path: path in {*LINKS, "/ws", "/ws/src"})

#: what a tool is given, and what `deny: remove(/etc/**)` makes of it where all else is allowed
DENIED = [
    ("/etc/a", DENY),
    ("/tmp/../etc/a", DENY),
    ("//etc/x", DENY),
    ("/./etc/x", DENY),
    ("/etc/./b/../x", DENY),
    ("/etc", DENY),
    ("/etc/", DENY),
    ("../etc/x", DENY),
    ("out/x", DENY),
    ("/ws/out/x", DENY),
    ("src/../out/x", DENY),
    ("file:///etc/x", DENY),
    ("file://localhost/%65tc/x", DENY),
    ("/proc/self/root/etc/x", DENY),
    (" /etc/x ", DENY),
    ("--file=/etc/x", DENY),
    ("/ETC/x", ASK),
    ("$UNKNOWN/x", ASK),
    ("/etcetera/x", ALLOW),
    ("/ws/etc/x", ALLOW),
    ("src/a.py", ALLOW),
    ("see /etc/x", ALLOW),
]


@pytest.mark.parametrize(("text", "verdict"), DENIED)
@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: [v], lambda v: {"deep": [{"x": v}], "force": True}])
def test_a_deny_finds_a_place_by_any_name_at_any_depth(text, verdict, wrap):
    view = view_of("remove", {"path": wrap(text)}, facts=FACTS)
    decision = judge(view, policy(mode="bypassPermissions", allow=["*"], deny=["remove(/etc/**)"]))
    assert decision.verdict is verdict


#: what a tool is given, and whether `allow: mcp__files__read(/ws/src/**)` covers it
COVERED = [
    ({"path": "/ws/src/a"}, True),
    ({"path": "/ws/src/../src/./a"}, True),
    ({"path": "src/a"}, True),
    ({"path": "/ws/in/a"}, False),
    ({"path": "file:///ws/src/a"}, True),
    ({"path": "/ws/src/../../etc/hosts"}, False),
    ({"path": "/ws/src"}, False),
    ({"path": "/ws/out/a"}, False),
    ({"path": "/ws/src/a", "other": "/ws/src/b"}, False),
    ({"path": "/ws/src/a", "force": True}, False),
    ({"path": ["/ws/src/a"]}, False),
    ({"path": "hello there"}, False),
    ({}, False),
]


@pytest.mark.parametrize(("given", "covered"), COVERED)
def test_an_allow_covers_a_call_only_if_it_covers_all_its_places(given, covered):
    view = view_of("mcp__files__read", given, facts=FACTS)
    decision = judge(view, policy(mode="strict", allow=["mcp__files__read(/ws/src/**)"]))
    assert (decision.verdict is ALLOW) is covered


def test_a_link_that_leads_out_is_not_covered():
    facts = world(links={"/ws/src/link": "/srv/x"})
    for path in ("/ws/src/link/a", "src/link"):
        decision = judge(view_of("pull", {"path": path}, facts=facts), policy(allow=["pull(/ws/src/**)"]))
        assert decision.verdict is ASK


#: a pattern of plain text, what a tool is given, whether an allow covers the whole call, and what a deny says
TEXT = [
    ("[z-a]", {"x": "src/a.py"}, False, ALLOW),
    ("*prod*", {"to": "my prod db"}, True, DENY),
    ("*prod*", {"to": "my dev db"}, False, ALLOW),
    ("*prod*", {"to": "src/prod.py"}, True, DENY),
    ("*prod*", {"to": "/srv/prod.py"}, False, DENY),
    ("*prod*", {"to": "prod/a"}, False, DENY),
    ("*srv*", {"to": "prod/a"}, False, DENY),
    ("feature/*", {"branch": "feature/x"}, True, DENY),
    ("feature/*", {"branch": "feature/../../etc/x"}, False, DENY),
    ("https://a.example/*", {"url": "https://a.example/x"}, True, DENY),
    ("https://a.example/*", {"url": "https://b.example/x"}, False, ALLOW),
    ("Makefile", {"x": "./src/../Makefile"}, False, DENY),
    ("[", {"x": "["}, True, DENY),
    ("[!]", {"x": "src/a.py"}, False, ALLOW),
]


@pytest.mark.parametrize(("pattern", "given", "covered", "verdict"), TEXT)
def test_patterns_of_plain_text_go_on_working(pattern, given, covered, verdict):
    view = view_of("send", given, facts=FACTS)
    assert (judge(view, policy(mode="strict", allow=[f"send({pattern})"])).verdict is ALLOW) is covered
    loosest = policy(mode="bypassPermissions", deny=[f"send({pattern})"])
    assert judge(view, loosest).verdict is verdict


def test_the_name_of_the_workspace_is_no_part_of_what_is_inside():
    session = type(SESSION)(id="s", workspace=("/prod",))
    view = view_of("send", {"path": "src/a.py"}, facts=world(), session=session, cwd="/prod")
    assert judge(view, policy(allow=["send"], deny=["send(*prod*)"])).verdict is ALLOW


def test_an_exception_covers_what_it_says_and_nothing_else():
    rule = Rule(tool="remove", pattern="/etc/**", exceptions=("/etc/tmp/**",))
    loosest = policy(mode="bypassPermissions", deny=[rule])
    for path, verdict in (("/etc/tmp/a", ALLOW), ("/etc/tmp/../a", DENY), ("/etc/a", DENY)):
        assert judge(view_of("remove", {"path": path}, facts=FACTS), loosest).verdict is verdict


#: a rule about files or machines, what a tool is given, and whether it is denied where all else is allowed
ABOUT = [
    ("Read(/etc/**)", {"x": "out/a"}, DENY),
    ("Write(/etc/**)", {"x": "out/a"}, DENY),
    ("Edit(/etc/**)", {"x": "/etc/a"}, DENY),
    ("Write(*.sql)", {"x": "a.sql"}, DENY),
    ("WebFetch(domain:evil.example)", {"x": ["https://evil.example/"]}, DENY),
    ("WebFetch(domain:evil.example)", {"x": ["https://good.example/"]}, ALLOW),
]


@pytest.mark.parametrize(("rule", "given", "verdict"), ABOUT)
def test_rules_about_files_and_machines_hold_for_every_tool(rule, given, verdict):
    view = view_of("mcp__a__b", given, facts=FACTS)
    assert judge(view, policy(mode="bypassPermissions", allow=["*"], deny=[rule])).verdict is verdict


def test_what_is_outside_the_workspace_is_answered_by_a_rule_that_covers_it_and_by_no_other():
    view = view_of("mcp__a__b", {"x": "/srv/a"}, facts=FACTS)
    for allow, verdict in ((["mcp__a__*"], ALLOW), (["mcp__a__b(/srv/*)"], ALLOW), (["mcp__a__b(/opt/*)"], ASK)):
        assert judge(view, policy(allow=allow)).verdict is verdict


def test_protections_hold_under_rules_grants_and_a_policy_of_the_package():
    own = world(links={}, assent_paths=(f"{HOME}/.a",), assent_endpoints=("127.0.0.1:7422",))
    grant = Consent(grants=(Grant(id="g", rule=Rule(tool="*"), verdict=ALLOW),))
    for given, verdict in (
        ({"x": "~/.a/token"}, DENY),
        ({"x": "cat ~/.a/token", "y": f"{HOME}/.a"}, DENY),
        ({"x": f"cat {HOME}/.a/token"}, ASK),
        ({"x": "curl http://localhost:7422/"}, ASK),
        ({"x": "http://localhost:7422/"}, DENY),
        ({"x": "~/.bashrc"}, ASK),
        ({"x": ".claude/settings.json"}, ASK),
    ):
        for embedded in (False, True):
            loosest = policy(mode="bypassPermissions", allow=["*"], embedded=embedded)
            assert judge(view_of("t", given, facts=own), loosest, consent=grant).verdict is verdict
    nowhere = view_of("t", {"x": ".claude/settings.json"}, facts=own, cwd=None, session=type(SESSION)())
    assert judge(nowhere, policy(mode="bypassPermissions")).verdict is ASK


def test_a_secret_asks_under_a_rule_and_not_in_a_policy_of_the_package():
    view = view_of("t", {"x": ["~/.ssh/id_rsa"]}, facts=FACTS)
    assert judge(view, policy(allow=["t"])).verdict is ASK
    env = view_of("t", {"x": ".env"}, facts=FACTS)
    assert judge(env, policy(allow=["t"])).verdict is ASK
    assert judge(env, policy(allow=["t"], embedded=True)).verdict is ALLOW


def test_a_rule_s_answer_is_the_same_for_one_operation():
    view = view_of("send", {"to": "prod"})
    assert (match("send(prod)", view, broad=True), match("send(dev)", view, broad=True)) == (YES, NO)
    assert match("send(dev)", view_of("send", {"to": 7}), broad=True) is MAYBE
    assert match("send(/dev)", view_of("send", {"to": 7}), broad=True) is NO
