"""Claude Code, Codex, Gemini CLI and OpenCode at `POST /api/hooks/{agent}`: before a call, when they ask, and after."""

from __future__ import annotations

import http.client
import itertools
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from daemons import until

BEFORE = {
    "claude-code": ("PreToolUse", "Bash"),
    "codex": ("PreToolUse", "Bash"),
    "gemini": ("BeforeTool", "run_shell_command"),
    "opencode": ("tool.execute.before", "bash"),
}
AFTER = {"claude-code": "PostToolUse", "codex": "PostToolUse", "gemini": "AfterTool", "opencode": "tool.execute.after"}
numbers = itertools.count()


@pytest.fixture(scope="module")
def local(daemon):
    return daemon.api(daemon.mint("agent", agent="here"))


def body(daemon, agent, command, event=None, **more):
    first, tool = BEFORE[agent]
    call = {
        "tool_name": tool,
        "tool_input": {"command": command},
        "session_id": f"s-{agent}",
        "cwd": str(daemon.project),
    }
    return call | {"hook_event_name": event or first} | more


def ask(daemon, local, agent, command, *, query="", event=None, **more):
    return local.post(f"/api/hooks/{agent}{query}", json=body(daemon, agent, command, event, **more))


def said_no(agent, answer):
    if answer.headers["x-assent-exit"] == "2":
        return True
    given = answer.json() if answer.content else {}
    inner = given.get("hookSpecificOutput", {})
    return "deny" in (given.get("decision"), inner.get("permissionDecision"), inner.get("decision", {}).get("behavior"))


def log(person, **query):
    return person.get("/api/audit", params=query).json()["events"]


@pytest.mark.parametrize("agent", BEFORE)
def test_a_safe_call_passes_and_a_destructive_one_does_not(daemon, local, agent):
    assert not said_no(agent, ask(daemon, local, agent, "ls"))
    denied = ask(daemon, local, agent, "rm -rf /")
    assert said_no(agent, denied)
    assert denied.headers["x-assent-exit"] == "2"
    assert "Blocked" in denied.headers["x-assent-reason"]


@pytest.mark.parametrize("agent", BEFORE)
def test_a_changed_call_is_a_no_where_the_change_would_not_be_heard(daemon, local, person, agent):
    # Something may speak before the hook, and the agent would run the call as it was.
    command = f"node heard{next(numbers)}.js"
    with ThreadPoolExecutor(1) as aside:
        given = body(daemon, agent, command)
        answer = aside.submit(local.post, f"/api/hooks/{agent}?wait=30", json=given, headers={"x-assent-heard": "code"})
        asked = until(lambda: [p for p in person.get("/api/permissions").json()["pending"] if p["command"] == command])
        edit = {"requestId": asked[0]["id"], "decision": "approve", "modifiedInput": "node changed.js"}
        assert person.post("/api/permissions", json=edit).status_code == 200
        said = answer.result(60)
    assert said.headers["x-assent-exit"] == "2"
    assert "node changed.js" in said.headers["x-assent-reason"]


@pytest.mark.parametrize("agent", BEFORE)
@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"tool_name": 3}', b'{"hook_event_name": "Stop"}'])
def test_what_is_no_call_is_refused_by_the_code_with_a_reason(local, agent, data):
    answer = local.post(f"/api/hooks/{agent}", content=data, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.headers["x-assent-exit"]) == (200, "2")
    assert answer.headers["x-assent-reason"].startswith("Blocked: ")


@pytest.mark.parametrize("agent", BEFORE)
def test_a_call_waits_for_a_person_and_its_outcome_is_joined_to_the_decision(daemon, local, person, agent):
    command = f"node run{next(numbers)}.js"
    told = []
    thread = threading.Thread(
        target=lambda: told.append(ask(daemon, local, agent, command, query="?wait=30", tool_use_id=f"t-{agent}"))
    )
    thread.start()
    wanted = until(lambda: [p for p in person.get("/api/permissions").json()["pending"] if p["command"] == command])
    person.post("/api/permissions", json={"requestId": wanted[0]["id"], "decision": "approve"})
    thread.join(60)
    assert not said_no(agent, told[0])
    given = {} if agent == "gemini" else {"tool_use_id": f"t-{agent}"}
    done = ask(daemon, local, agent, command, event=AFTER[agent], duration_ms=12, **given)
    assert (done.headers["x-assent-exit"], done.content) == ("0", b"")
    outcome = log(person, approval=wanted[0]["id"], type="tool.result")[0]
    decided = log(person, approval=wanted[0]["id"], type="permission.evaluated", verdict="allow")[0]
    assert outcome["body"]["payload"]["decision"] == decided["position"]
    assert outcome["digest"] == decided["digest"]
    assert f"{command} · ran in 12 ms" in outcome["text"]


def test_a_failure_is_told_with_its_reason(daemon, local, person):
    ask(daemon, local, "claude-code", "ls failing", tool_use_id="t-fail")
    ask(
        daemon,
        local,
        "claude-code",
        "ls failing",
        event="PostToolUseFailure",
        tool_use_id="t-fail",
        error="exit code 2",
    )
    found = log(person, type="tool.failed", text="ls failing")[0]
    assert ": exit code 2" in found["text"]
    shown = daemon.run("audit", "search", "--type", "tool.failed", "--text", "ls failing")
    assert "failed" in shown.stdout
    assert "exit code 2" in shown.stdout


def test_what_ran_without_a_decision_is_said_to(daemon, local, person):
    ask(daemon, local, "claude-code", "ls undecided", event="PostToolUse", tool_use_id="t-never")
    found = log(person, type="tool.result", text="ls undecided")[0]
    assert "without a decision that is known" in found["text"]
    assert "decision" not in found["body"]["payload"]


def test_what_ran_otherwise_than_decided_is_said_to(daemon, local, person):
    ask(daemon, local, "claude-code", "ls decided", tool_use_id="t-changed")
    ask(daemon, local, "claude-code", "ls swapped", event="PostToolUse", tool_use_id="t-changed")
    assert "NOT as it was decided" in log(person, type="tool.result", text="ls swapped")[0]["text"]


def test_the_agents_own_question_about_a_decided_call_is_answered_by_that_decision(daemon, local, person):
    command = f"node own{next(numbers)}.js"
    first = ask(daemon, local, "codex", command)
    assert said_no("codex", first)
    wanted = next(p for p in person.get("/api/permissions").json()["pending"] if p["command"] == command)
    person.post("/api/permissions", json={"requestId": wanted["id"], "decision": "approve"})
    assert ask(daemon, local, "codex", command).content == b""
    again = ask(daemon, local, "codex", command, event="PermissionRequest").json()
    assert again["hookSpecificOutput"]["decision"] == {"behavior": "allow"}
    ask(daemon, local, "codex", command, event="PostToolUse")
    assert said_no("codex", ask(daemon, local, "codex", command, event="PermissionRequest"))


def test_a_decision_answers_the_agents_own_question_once_and_for_its_own_input_alone(daemon, local, person):
    command = f"node mine{next(numbers)}.js"
    ask(daemon, local, "codex", command, tool_use_id="t-mine")
    wanted = next(p for p in person.get("/api/permissions").json()["pending"] if p["command"] == command)
    person.post("/api/permissions", json={"requestId": wanted["id"], "decision": "approve"})
    assert ask(daemon, local, "codex", command, tool_use_id="t-mine").content == b""
    event = "PermissionRequest"
    again = ask(daemon, local, "codex", command, event=event, tool_use_id="t-mine").json()
    assert again["hookSpecificOutput"]["decision"] == {"behavior": "allow"}
    assert said_no("codex", ask(daemon, local, "codex", command, event=event, tool_use_id="t-mine"))
    assert ask(daemon, local, "codex", "ls mine", tool_use_id="t-safe").content == b""
    other = ask(daemon, local, "codex", f"node other{next(numbers)}.js", event=event, tool_use_id="t-safe")
    assert said_no("codex", other)


def test_claude_codes_own_question_is_left_to_its_user_unless_a_person_said_yes(daemon, local):
    ask(daemon, local, "claude-code", "ls own")
    asked = ask(daemon, local, "claude-code", "ls own", event="PermissionRequest")
    assert (asked.headers["x-assent-exit"], asked.content) == ("0", b"")


@pytest.mark.parametrize("agent", BEFORE)
def test_a_trial_records_and_abstains(daemon, local, person, agent):
    command = f"rm -rf / trial{next(numbers)}"
    answer = ask(daemon, local, agent, command, query="?observe=1")
    assert (answer.headers["x-assent-exit"], answer.content) == ("0", b"")
    assert log(person, text=f"trial: {command}")[0]["verdict"] == "deny"


def test_a_session_keeps_the_workspace_it_was_started_in(daemon, local, tmp_path):
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    call = {"session_id": "s-fixed", "tool_name": "Write", "hook_event_name": "PreToolUse"}
    inside = local.post(
        "/api/hooks/claude-code",
        json=call | {"cwd": str(daemon.project), "tool_input": {"file_path": str(daemon.project / "a"), "content": ""}},
    )
    assert not said_no("claude-code", inside)
    moved = local.post(
        "/api/hooks/claude-code",
        json=call | {"cwd": str(other), "tool_input": {"file_path": str(other / "a"), "content": ""}},
    )
    assert said_no("claude-code", moved)


def test_a_program_on_the_agents_path_in_the_workspace_is_not_the_known_one(daemon, local):
    shadow = daemon.project / "bin" / "ls"
    shadow.parent.mkdir(exist_ok=True)
    shadow.write_text("#!/bin/sh\n")
    shadow.chmod(0o755)
    call = body(daemon, "claude-code", "ls shadowed")
    assert not said_no("claude-code", local.post("/api/hooks/claude-code", json=call))
    path = {"x-assent-environment": f"PATH={shadow.parent}:/usr/bin"}
    assert said_no("claude-code", local.post("/api/hooks/claude-code", json=call, headers=path))


def test_a_search_path_that_nobody_can_read_is_a_no(daemon, local):
    call = body(daemon, "claude-code", "ls unread")
    folder = {b"x-assent-environment": b"PATH=/opt/caf%C3%A9:/usr/bin"}
    assert not said_no("claude-code", local.post("/api/hooks/claude-code", json=call, headers=folder))
    broken = local.post(
        "/api/hooks/claude-code", json=call, headers={b"x-assent-environment": b"PATH=/opt/%FF:/usr/bin"}
    )
    assert said_no("claude-code", broken)
    assert b"PATH is not text" in broken.content


@pytest.fixture(scope="module")
def wired_twice(daemon):
    """One agent with two tokens: wired up for its user, and for the project it works in."""
    of_user = daemon.mint("agent", agent="twice")
    of_project = daemon.mint("agent", agent="twice", workspace=[str(daemon.project)])
    return [daemon.api(of_user), daemon.api(of_project)]


def ask_both(daemon, wired_twice, command, answers, **more):
    """Have both hooks announce a call at once, and a person answer each question that comes."""
    with ThreadPoolExecutor(2) as both:
        told = [both.submit(ask, daemon, api, "claude-code", command, query="?wait=30", **more) for api in wired_twice]
        answers()
        return [each.result() for each in told]


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_a_call_that_two_hooks_announce_is_one_question_with_one_outcome(daemon, person, wired_twice, decision):
    command = f"node twice{next(numbers)}.js"

    def mine():
        return [p for p in person.get("/api/permissions").json()["pending"] if p["command"] == command]

    def answer():
        wanted = until(mine)
        assert len(wanted) == 1
        person.post("/api/permissions", json={"requestId": wanted[0]["id"], "decision": decision})

    told = ask_both(daemon, wired_twice, command, answer, tool_use_id=f"t-{decision}")
    assert {said_no("claude-code", each) for each in told} == {decision == "reject"}
    assert not mine()
    assert len(log(person, type="permission.requested", text=command)) == 1
    for api in wired_twice:
        ask(daemon, api, "claude-code", command, event="PostToolUse", tool_use_id=f"t-{decision}")
    outcomes = log(person, type="tool.result", text=command)
    assert len(outcomes) == 1
    assert ("without a decision" in outcomes[0]["text"]) is (decision == "reject")


def test_one_hook_that_announces_a_call_twice_makes_two_calls(daemon, local, person):
    command = f"node again{next(numbers)}.js"
    ask(daemon, local, "claude-code", command, tool_use_id="t-again")
    wanted = next(p for p in person.get("/api/permissions").json()["pending"] if p["command"] == command)
    person.post("/api/permissions", json={"requestId": wanted["id"], "decision": "approve"})
    assert not said_no("claude-code", ask(daemon, local, "claude-code", command, tool_use_id="t-again"))
    assert said_no("claude-code", ask(daemon, local, "claude-code", command, tool_use_id="t-again"))


def test_a_hook_whose_token_has_other_rights_is_decided_by_itself(daemon, person, wired_twice):
    alone = daemon.api(daemon.mint("agent", agent="twice", interactive=False))
    command = f"node rights{next(numbers)}.js"
    with ThreadPoolExecutor(1) as other:
        told = other.submit(ask, daemon, wired_twice[0], "claude-code", command, query="?wait=30", tool_use_id="t-r")
        wanted = until(lambda: [p for p in person.get("/api/permissions").json()["pending"] if p["command"] == command])
        assert said_no("claude-code", ask(daemon, alone, "claude-code", command, query="?wait=30", tool_use_id="t-r"))
        person.post("/api/permissions", json={"requestId": wanted[0]["id"], "decision": "approve"})
        assert not said_no("claude-code", told.result())


def test_when_the_first_of_two_hooks_leaves_the_other_still_waits_for_the_answer(daemon, person, wired_twice):
    command = f"node leaves{next(numbers)}.js"
    token = daemon.mint("agent", agent="twice", workspace=[str(daemon.project)])
    first = http.client.HTTPConnection("127.0.0.1", daemon.port)
    given = json.dumps(body(daemon, "claude-code", command, tool_use_id="t-l"))
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    first.request("POST", "/api/hooks/claude-code?wait=30", given, headers)
    wanted = until(lambda: [p for p in person.get("/api/permissions").json()["pending"] if p["command"] == command])
    with ThreadPoolExecutor(1) as other:
        told = other.submit(ask, daemon, wired_twice[0], "claude-code", command, query="?wait=30", tool_use_id="t-l")
        first.close()
        until(lambda: len(log(person, type="permission.evaluated", verdict="ask", text=command)) == 2)
        person.post("/api/permissions", json={"requestId": wanted[0]["id"], "decision": "approve"})
        assert not said_no("claude-code", told.result())


def test_the_shell_that_the_hook_tells_of_counts(daemon, local):
    def asks(agent, shell):
        call = body(daemon, agent, "x=a; echo $x[1]")
        return said_no(agent, local.post(f"/api/hooks/{agent}", json=call, headers={"x-assent-shell": shell}))

    assert not asks("claude-code", "/bin/bash")
    assert asks("claude-code", "/bin/zsh")
    assert not asks("gemini", "/bin/zsh")  # it runs lines by bash, whatever its user has
    assert asks("codex", "/usr/bin/pwsh")
    assert asks("codex", "/bin/bash")  # its model chooses the shell, call by call


@pytest.mark.parametrize("agent", BEFORE)
@pytest.mark.parametrize(
    "changed",
    [
        {"tool_name": "Frobnicate", "tool_input": {"x": 1}},
        {"tool_name": "mcp__nobody__knows", "tool_input": {}},
        {"tool_input": {}},
        {"tool_input": {"command": None}},
        {"tool_input": {"command": ["ls", 3]}},
        {"tool_input": {"script": "ls"}},
        {"session_id": None, "cwd": None, "tool_input": {"command": "node missing.js"}},
    ],
    ids=str,
)
def test_an_unknown_tool_or_a_call_with_parts_missing_never_passes(daemon, local, agent, changed):
    answer = local.post(f"/api/hooks/{agent}", json=body(daemon, agent, "ls") | changed)
    assert answer.status_code == 200
    assert said_no(agent, answer)


@pytest.mark.parametrize("agent", BEFORE)
def test_a_call_with_megabytes_of_content_is_decided(daemon, local, agent):
    content = {"file_path": str(daemon.project / "large.txt"), "content": "a line of text\n" * 300_000}
    call = body(daemon, agent, "") | {"tool_name": "Write", "tool_input": content}
    assert not said_no(agent, local.post(f"/api/hooks/{agent}", json=call))
    call["tool_input"]["content"] *= 2
    refused = local.post(f"/api/hooks/{agent}", json=call)
    assert (refused.status_code, refused.headers["x-assent-exit"]) == (413, "2")
