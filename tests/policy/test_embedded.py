"""What the published design says of its policies, sentence by sentence, about policies given from Python."""

from __future__ import annotations

import pytest

from assent import Engine, Policy, ToolCall, parse_rules

ALL = {
    "allow": ["Bash(git:*)", "Write"],
    "ask": ["Bash(git:push*)", "Write(/workspace/**)"],
    "deny": ["Bash(git:push -f*)"],
}
ASKS = {"ask": ["Bash", "Write", "Edit"], "deny": ["Bash(rm:*)"]}
LIST = {"mode": "strict", "allow": ["Bash(git:*)", "Bash(npm:*)", "Read"]}


def decide(said: dict, tool: str, given: str) -> str:
    rules = {name: parse_rules(texts) for name, texts in said.items() if name != "mode"}
    engine = Engine([Policy(mode=said.get("mode", "default"), **rules, embedded=True)])
    field = "command" if tool == "Bash" else "file_path"
    return engine.decide(ToolCall(tool=tool, input={field: given}, cwd="/workspace")).decision


@pytest.mark.parametrize(
    ("tool", "given", "decision"),
    [
        ("Bash", "git push -f origin", "deny"),
        ("Bash", "git push origin", "ask"),
        ("Bash", "git status", "allow"),
        ("Bash", "node x.js", "allow"),
        ("Write", "/workspace/deep/x", "ask"),
        ("Write", "/elsewhere/x", "allow"),
        ("Read", "/elsewhere/x", "allow"),
    ],
)
def test_deny_comes_before_ask_before_allow_before_the_default(tool, given, decision):
    assert decide(ALL, tool, given) == decision


@pytest.mark.parametrize(
    ("mode", "decisions"),
    [
        ("default", ("ask", "ask", "ask", "deny", "allow")),
        ("strict", ("ask", "ask", "ask", "deny", "deny")),
        ("acceptEdits", ("allow", "allow", "ask", "deny", "allow")),
        ("dontAsk", ("deny", "deny", "deny", "deny", "allow")),
        ("bypassPermissions", ("allow", "allow", "allow", "allow", "allow")),
    ],
)
def test_each_mode_has_its_effect(mode, decisions):
    calls = (("Write", "/tmp/x"), ("Edit", "/tmp/x"), ("Bash", "npm install"), ("Bash", "rm x"), ("Read", "/tmp/x"))
    assert tuple(decide({**ASKS, "mode": mode}, *call) for call in calls) == decisions


@pytest.mark.parametrize(
    ("tool", "given", "decision"),
    [
        ("Bash", "git log", "allow"),
        ("Bash", "npm test", "allow"),
        ("Read", "/anywhere", "allow"),
        ("Bash", "ls", "deny"),
        ("Write", "/workspace/x", "deny"),
    ],
)
def test_everything_that_an_allowlist_does_not_name_is_denied(tool, given, decision):
    assert decide(LIST, tool, given) == decision


@pytest.mark.parametrize(
    ("rule", "tool", "given", "matches"),
    [
        ("Bash", "Bash", "anything at all", True),
        ("Bash", "Write", "/x", False),
        ("Bash(git:*)", "Bash", "git status", True),
        ("Bash(git:**)", "Bash", "git add src/a/b.ts", True),
        ("Bash(git:*)", "Bash", "npm install", False),
        ("Bash(git:*)", "Bash", "git status; rm -rf x", True),
        ("Write", "Write", "/any/where", True),
        ("Write(/workspace/*)", "Write", "/workspace/a", True),
        ("Write(/workspace/*)", "Write", "/workspace/a/b", False),
        ("Write(/workspace/**)", "Write", "/workspace/a/b", True),
        ("Write(/workspace/**)", "Write", "/home/a", False),
    ],
)
def test_a_rule_matches_what_its_row_says(rule, tool, given, matches):
    assert (decide({"deny": [rule]}, tool, given) == "deny") is matches
