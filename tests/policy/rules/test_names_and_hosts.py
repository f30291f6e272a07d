"""Rules about hosts, about tools by their names, and about the text other tools are given."""

from __future__ import annotations

import pytest

from assent.analysis.tools.names import TOOLS
from assent.model import UNKNOWN, Certainty, Rule, RuleError, Verdict
from assent.policy.rules.match import compile_rule
from assent.policy.rules.patterns import compile_host, host_name
from scenes import calls, connects, judge, look, match, policy, reads, run, view_of, writes

YES, MAYBE, NO = Certainty.YES, Certainty.MAYBE, Certainty.NO

#: pattern, host, answer
HOSTS = [
    ("example.com", "example.com", YES),
    ("example.com", "EXAMPLE.com", YES),
    ("EXAMPLE.com", "example.com", YES),
    ("example.com.", "example.com", YES),
    ("example.com", "example.com.", YES),
    ("example.com", "example.com:8443", YES),
    ("example.com", "sub.example.com", NO),
    ("example.com", "example.com.evil.test", NO),
    ("example.com", "notexample.com", NO),
    ("*.example.com", "a.example.com", YES),
    ("*.example.com", "a.b.example.com", YES),
    ("*.example.com", "example.com", NO),
    ("*.example.com", "evilexample.com", NO),
    ("a*.example.com", "api.example.com", YES),
    ("a*.example.com", "a.b.example.com", NO),
    ("*.a*.test", "x.abc.test", YES),
    ("*.a*.test", "abc.test", NO),
    ("*", "anything.test", YES),
    ("[::1]", "[::1]:7422", YES),
    ("[::1]", "[::2]", NO),
    ("127.0.0.1", "127.0.0.1:7422", YES),
    ("example.com", UNKNOWN, MAYBE),
    ("*", UNKNOWN, MAYBE),
]


@pytest.mark.parametrize(("pattern", "host", "answer"), HOSTS)
def test_a_host_is_compared_label_by_label(pattern, host, answer):
    assert compile_host(pattern).match(host) is answer


@pytest.mark.parametrize(("pattern", "host", "answer"), HOSTS)
def test_a_deny_among_many_finds_its_host_in_any_tool(pattern, host, answer):
    crowd = [f"WebFetch(domain:h{i}.test)" for i in range(20)]
    view = look(run("curl x"), connects(host, owner=0))
    decision = judge(view, policy(deny=[f"WebFetch(domain:{pattern})", *crowd]))
    said = [o for o in decision.opinions if o.rule and f"domain:{pattern})" in o.rule]
    assert {o.certainty for o in said} == ({answer} - {NO})


def test_an_allow_for_a_host_is_for_fetching_only():
    assert match("WebFetch(domain:a.test)", look(connects("a.test"), tool="WebFetch"), broad=False) is YES
    assert match("WebFetch(domain:a.test)", look(run("x"), connects("a.test")), 1, broad=False) is NO
    assert match("WebFetch(domain:a.test)", look(reads("/ws/a"), tool="Read"), broad=True) is NO


@pytest.mark.parametrize("text", ["", "*.", "a/b", "a b", "localhost:8080", "user@host", "b\u00fccher.test", "::1"])
def test_what_could_never_match_is_no_domain(text):
    with pytest.raises(RuleError, match="is not a domain"):
        compile_host(text)
    with pytest.raises(RuleError):
        compile_rule(Rule(tool="WebFetch", pattern=f"domain:{text}"))


def test_a_host_s_name_leaves_out_port_case_and_final_dot():
    assert host_name("A.test.:80") == "a.test"
    assert host_name("[FE80::1]:80") == "[fe80::1]"


#: rule, name the tool is called by, as an allow, as a deny
NAMES = [
    ("mcp__github__search", "mcp__github__search", YES, YES),
    ("mcp__github__search", "mcp__GitHub__search", NO, YES),
    ("mcp__github__*", "mcp__github__search", YES, YES),
    ("mcp__github__*", "mcp__GitHub__search", NO, YES),
    ("mcp__github__*", "mcp__github2__search", NO, NO),
    ("mcp__*", "mcp__any__thing", YES, YES),
    ("*", "Anything", YES, YES),
    ("Deploy", "Deploy", YES, YES),
    ("Deploy", "deploy", NO, YES),
    ("Deploy", "Deployment", NO, NO),
]


@pytest.mark.parametrize(("rule", "called", "allow", "deny"), NAMES)
def test_a_tool_is_allowed_by_its_exact_name_and_denied_by_any_spelling(rule, called, allow, deny):
    view = look(calls(called), tool=called)
    assert match(rule, view, broad=False) is allow
    assert match(rule, view, broad=True) is deny
    assert (judge(view, policy(deny=[rule])).verdict is Verdict.DENY) is (deny is YES)
    assert (judge(view, policy(mode="strict", allow=[rule])).verdict is Verdict.ALLOW) is (allow is YES)


def test_a_pattern_over_names_reaches_known_tools_under_either_name():
    view = look(writes("/ws/a"), tool="Write", called="write_file")
    assert match("write_*", view, broad=True) is YES
    assert match("Wri*", view, broad=True) is YES
    assert judge(view, policy(deny=["*_file"])).verdict is Verdict.DENY


#: pattern, input, as an allow, as a deny
TEXTS = [
    ("prod", {"target": "prod"}, YES, YES),
    ("prod", {"target": "production"}, NO, NO),
    ("prod*", {"target": "production"}, YES, YES),
    ("prod:*", {"target": "prod"}, YES, YES),
    ("prod *", {"target": "prod now"}, YES, YES),
    ("*prod*", {"target": "my prod db"}, YES, YES),
    ("a.c", {"target": "abc"}, NO, NO),
    ("prod", {"target": "prod", "force": "yes"}, NO, YES),
    ("prod", {"target": "dev", "force": True}, NO, MAYBE),
    ("prod", {"target": {"name": "prod"}}, NO, YES),
    ("prod", {"target": ["dev", {"name": '{"at": "prod"}'}]}, NO, YES),
    ("prod", {"target": {"name": "dev"}}, NO, NO),
    ("prod", {"target": 7}, NO, MAYBE),
    ("prod", {}, NO, NO),
    ("a*b", {"target": "a\nb"}, YES, YES),
]


@pytest.mark.parametrize(("pattern", "given", "allow", "deny"), TEXTS)
def test_other_tools_are_matched_by_their_text(pattern, given, allow, deny):
    view = look(calls("Deploy"), tool="Deploy", given=given)
    assert match(f"Deploy({pattern})", view, broad=False) is allow
    assert match(f"Deploy({pattern})", view, broad=True) is deny


def test_a_page_may_be_named_by_its_whole_address():
    view = view_of("WebFetch", {"url": "https://a.test/x"})
    assert match("WebFetch(https://a.test/*)", view, broad=True) is YES
    assert match("WebFetch(https://b.test/*)", view, broad=True) is NO


INPUTS = {
    "command": {"command": "ls"},
    "read": {"file_path": "/ws/a"},
    "write": {"file_path": "/ws/a"},
    "search": {"pattern": "x"},
    "fetch": {"url": "https://a.test/"},
    "inert": {},
    "foreign-shell": {"command": "ls"},
    "unknown": {},
}
ALIASES = [(tool.name, alias, tool.shape) for tool in TOOLS for alias in (tool.name, *tool.aliases)]


@pytest.mark.parametrize(("name", "alias", "shape"), ALIASES)
def test_every_alias_reaches_the_rules_of_its_tool_and_every_tool_those_of_its_alias(name, alias, shape):
    spellings = {alias, alias.upper(), alias.lower()}
    for called in spellings:
        view = view_of(called, INPUTS[shape])
        assert view.reading.tool == name
        assert judge(view, policy(deny=[name])).verdict is Verdict.DENY
    for written in spellings:
        assert judge(view_of(name, INPUTS[shape]), policy(deny=[written])).verdict is Verdict.DENY


@pytest.mark.parametrize(("name", "alias", "shape"), ALIASES)
def test_every_alias_is_allowed_with_its_tool(name, alias, shape):
    strict = policy(mode="strict", allow=[name, "Read", "WebFetch(domain:*)"])
    assert judge(view_of(alias, INPUTS[shape]), strict).verdict is Verdict.ALLOW


def test_rules_for_servers_know_the_tools_of_agents_that_write_one_underscore():
    for rule in ("mcp__github__*", "mcp__github__create_issue"):
        view = view_of("mcp_github_create_issue", {})
        assert match(rule, view, broad=True) is YES
    assert match("mcp__gitlab__*", view_of("mcp_github_create_issue", {}), broad=True) is NO


@pytest.mark.parametrize(
    ("rule", "called", "answer"),
    [
        ("mcp__git__*", "mcp_git_status", YES),
        ("mcp__git__status", "mcp_git_status", YES),
        ("mcp__git__*", "mcp_git_hub_delete", NO),
        ("mcp__git_hub__*", "mcp_git_hub_delete", NO),
        ("mcp_git_hub_delete", "mcp_git_hub_delete", YES),
        ("mcp__git__*", "mcp_git", NO),
    ],
)
def test_a_name_that_may_be_of_another_server_is_not_allowed_with_this_one(rule, called, answer):
    assert match(rule, view_of(called, {}), broad=False) is answer


#: rule, tool, input, as a deny
LOOKING = [
    ("Grep(/etc/**)", "Grep", {"pattern": "x", "path": "/etc"}, YES),
    ("Grep(/etc/**)", "Read", {"file_path": "/etc/hosts"}, NO),
    ("LS(/etc)", "LS", {"path": "/ws/../etc/."}, YES),
    ("Glob(/etc/**)", "Glob", {"pattern": "*.conf", "path": "/etc"}, YES),
    ("LS", "LS", {"path": "/x"}, YES),
]


@pytest.mark.parametrize(("rule", "tool", "given", "answer"), LOOKING)
def test_rules_on_looking_tools_are_about_their_paths(rule, tool, given, answer):
    assert match(rule, view_of(tool, given), broad=True) is answer
