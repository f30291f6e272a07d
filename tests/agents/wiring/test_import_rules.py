"""Rules of agents, taken over: an allow that means more than it did, or everything, never is."""

from __future__ import annotations

import pytest

from assent.agents.wiring.import_rules import (
    RefusedRule,
    Taken,
    from_claude,
    from_codex,
    from_gemini,
    from_gemini_policy,
)

EVERYTHING = "the rule would allow every such call"


def claude(effect: str, rule: str):
    return from_claude({"permissions": {effect: [rule]}}, "/folder")


@pytest.mark.parametrize(
    "rule",
    [
        *("*", "mcp__*", "m*", "Bash", "Bash(*)", "Bash(**)", "Bash(:*)", "Bash(*:*)", "Bash(* *)"),
        *("bash", "Write", "Edit", "MultiEdit", "NotebookEdit", "write_file", "apply_patch", "Delete"),
        *("Edit(**)", "Edit(//**)", "Edit(///**)", "WebFetch", "WebFetch(domain:*)", "write_stdin"),
    ],
)
def test_what_would_allow_everything_is_left_out_however_it_is_written(rule):
    found = claude("allow", rule)
    assert found
    assert [each for each in found if isinstance(each, Taken)] == []


@pytest.mark.parametrize(
    "rule", ["Bash(npm test:*)", "Edit(src/**)", "WebFetch(domain:*.example.com)", "mcp__files__*"]
)
def test_what_has_bounds_is_taken_over(rule):
    assert all(isinstance(each, Taken) for each in claude("allow", rule))


@pytest.mark.parametrize("effect", ["deny", "ask"])
def test_a_folder_that_is_denied_is_denied_with_all_that_is_in_it(effect):
    assert [each.rule for each in claude(effect, "Read(private/)")] == [
        "Read(private)",
        "Read(**/private)",
        "Read(**/private/**)",
    ]
    assert [each.rule for each in claude(effect, "Read(/a/b)")] == ["Read(/folder/a/b)", "Read(/folder/a/b/**)"]
    assert [each.rule for each in claude(effect, "Read(//a/**)")] == ["Read(/a/**)"]


@pytest.mark.parametrize("tool", ["run_shell_command", "ShellTool", "write_file", "replace", "web_fetch", "mcp_*"])
def test_what_gemini_allows_altogether_is_left_out(tool):
    for found in (from_gemini({"tools": {"allowed": [tool]}}), from_gemini_policy(policy(toolName=tool))):
        assert [(type(each), each.why) for each in found] == [(RefusedRule, EVERYTHING)]


def policy(**rule):
    return {"rule": [{"decision": "allow", **rule}]}


def test_what_gemini_means_letter_by_letter_does_not_become_a_pattern():
    starred = {"toolName": "run_shell_command", "commandPrefix": "git * x"}
    assert [type(each) for each in from_gemini_policy(policy(**starred))] == [RefusedRule]
    assert [type(each) for each in from_gemini({"tools": {"allowed": ["run_shell_command(git *)"]}})] == [RefusedRule]
    denied = from_gemini_policy(policy(**starred, decision="deny"))
    assert denied == [Taken("deny", "Bash(git * x:*)", denied[0].source)]
    assert from_gemini({"tools": {"allowed": ["run_shell_command(git log)"]}})[0].rule == "Bash(git log:*)"


@pytest.mark.parametrize(
    "text",
    [
        "prefix_rule(pattern=[])",
        "prefix_rule(pattern=['*'])",
        "x = 1",
        "(",
        "prefix_rule(1)",
        "prefix_rule('dd')",
        "prefix_rule({[]: 1})",
    ],
)
def test_what_codex_does_not_say_plainly_is_left_out(text):
    found = from_codex(text)
    assert found
    assert all(isinstance(each, RefusedRule) for each in found)


@pytest.mark.parametrize("data", [None, [], {"rule": 3}, {"rule": [3]}, {"rule": {"decision": "allow"}}])
def test_a_policy_of_gemini_that_is_none_holds_no_rules(data):
    assert from_gemini_policy(data) == []
