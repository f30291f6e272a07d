"""Agents' words: every spelling of a call is read, whatever is not one is refused, and only an allow reads as one."""

from __future__ import annotations

import json

import pytest

from assent.agents.hooks import docker_agent, generic
from assent.agents.hooks.messages import HookAnswer
from assent.model import CallError, Tier


@pytest.mark.parametrize(
    "given",
    [
        {"tool": "shell", "input": {"cmd": "ls"}},
        {"toolName": "shell", "toolInput": {"cmd": "ls"}},
        {"tool_name": "shell", "tool_input": {"cmd": "ls"}},
        {"tool": "shell", "toolName": "shell", "input": {"cmd": "ls"}, "tool_input": {"cmd": "ls"}},
        {"tool": "shell", "input": {"cmd": "ls"}, "more": [1, {"x": None}]},
    ],
    ids=str,
)
def test_every_spelling_is_the_same_call(given):
    call = generic.parse(json.dumps(given).encode())
    assert (call.tool, call.input) == ("shell", {"cmd": "ls"})


def test_who_and_where_are_read_in_either_case():
    camel = {"toolName": "x", "sessionId": "s", "toolCallId": "c", "agentId": "a", "userId": "u", "cwd": "/code"}
    snake = {"tool": "x", "session_id": "s", "tool_call_id": "c", "agent_id": "a", "user_id": "u", "cwd": "/code"}
    for given in (camel, snake):
        call = generic.parse(json.dumps(given).encode())
        assert (call.session, call.call_id, call.agent, call.user, call.cwd) == ("s", "c", "a", "u", "/code")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "Invalid JSON body"),
        (b"{", "Invalid JSON body"),
        (b"\xff", "Invalid JSON body"),
        (b'{"a":' * 100_000, "Invalid JSON body"),
        (b"[]", "Expected a JSON object"),
        (b"null", "Expected a JSON object"),
        (b"{}", "Missing toolName"),
        (b'{"tool": ""}', "Missing toolName"),
        (b'{"tool": 3}', "Expected tool to be a string"),
        (b'{"tool": "x", "input": "ls"}', "Expected the tool's input to be an object"),
        (b'{"tool": "x", "cwd": 3}', "Expected cwd to be a string"),
        (b'{"tool": "x", "toolName": "y"}', "toolName and tool differ"),
        (b'{"tool": "x", "input": {"cmd": "ls"}, "toolInput": {"cmd": "id"}}', "toolInput and input differ"),
    ],
)
def test_what_is_no_call_is_refused_with_the_reason(data, reason):
    with pytest.raises(CallError) as caught:
        generic.parse(data)
    assert str(caught.value) == reason


def test_docker_agents_call_is_read():
    given = {
        "session_id": "s",
        "cwd": "/code",
        "hook_event_name": "pre_tool_use",
        "tool_name": "shell",
        "tool_use_id": "t",
        "tool_input": {"cmd": "ls"},
    }
    call = docker_agent.parse(json.dumps(given).encode())
    assert (call.tool, call.input, call.session, call.call_id, call.cwd) == ("shell", {"cmd": "ls"}, "s", "t", "/code")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"hook_event_name": "post_tool_use", "tool_name": "x"}, "Expected hook_event_name to be pre_tool_use"),
        ({"hook_event_name": "pre_tool_use"}, "Missing tool_name"),
        ({"tool_name": "x", "tool_input": []}, "Expected the tool's input to be an object"),
    ],
)
def test_what_docker_agent_does_not_ask_permission_for_is_refused(given, reason):
    with pytest.raises(CallError, match=reason):
        docker_agent.parse(json.dumps(given).encode())


@pytest.mark.parametrize("agent", [generic, docker_agent])
@pytest.mark.parametrize("reason", ["plain", 'a "quote"', "a \\ backslash", "\x1b[31m\n", "ü…\u202e"])
@pytest.mark.parametrize("allow", [True, False])
def test_an_answer_is_json_whatever_the_reason_and_only_an_allow_ends_with_0(agent, reason, allow):
    rendered = agent.render(HookAnswer(allow=allow, reason=reason, tier=Tier.DANGEROUS))
    body = json.loads(rendered.body)
    assert rendered.exit == (0 if allow else 2)
    assert reason in (body.get("reason"), body.get("hook_specific_output", {}).get("permission_decision_reason"))


def test_the_generic_answer_field_by_field():
    full = HookAnswer(
        allow=False, reason="r", tier=Tier.DANGEROUS, request_id="hook_1", updated_input={"x": 1}, feedback="f"
    )
    assert json.loads(generic.render(full).body) == {
        "allow": False,
        "tier": "dangerous",
        "reason": "r",
        "requestId": "hook_1",
        "updatedInput": {"x": 1},
        "feedback": "f",
    }
    assert json.loads(generic.render(HookAnswer(allow=True, reason="r")).body) == {"allow": True, "reason": "r"}


def test_docker_agents_answer_field_by_field():
    changed = HookAnswer(allow=True, reason="r", updated_input={"cmd": "ls"}, feedback="look first")
    assert json.loads(docker_agent.render(changed).body) == {
        "hook_specific_output": {
            "hook_event_name": "pre_tool_use",
            "permission_decision": "allow",
            "permission_decision_reason": "r (look first)",
            "updated_input": {"cmd": "ls"},
        }
    }
    refused = HookAnswer(allow=False, reason="r", updated_input={"cmd": "ls"})
    assert json.loads(docker_agent.render(refused).body) == {
        "decision": "block",
        "reason": "r",
        "hook_specific_output": {
            "hook_event_name": "pre_tool_use",
            "permission_decision": "deny",
            "permission_decision_reason": "r",
        },
    }
