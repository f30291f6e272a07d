"""The hook's own client against a real daemon: it waits, comes back after a restart, and leaves in time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import assent.cli
from daemons import Running, until

# As the hook is run, but for how long a daemon may be away: a machine that is busy takes its time.
CLIENT = f"""
import sys
sys.path.insert(0, {str(Path(assent.cli.__file__).parent)!r})
import hook_client
hook_client._GRACE = 300.0
sys.exit(hook_client.main(sys.argv))
"""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    """A daemon whose owner prefers the agents' own prompts."""
    with Running(tmp_path_factory.mktemp("daemon"), "--agent-prompt", "defer") as running:
        token = running.state / "agents" / "codex.token"
        token.parent.mkdir()
        token.write_text(running.mint("agent", agent="codex"))
        yield running


def call(daemon, command, event="PreToolUse", tool="Bash", **more):
    said = {"hook_event_name": event, "tool_name": tool, "tool_input": {"command": command}, "session_id": "s"}
    return said | {"cwd": str(daemon.project)} | more


def start_hook(daemon, command, seconds):
    argv = [sys.executable, "-I", "-S", "-c", CLIENT, "codex", str(daemon.state), "codex", str(seconds)]
    hook = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    hook.stdin.write(json.dumps(call(daemon, command)).encode())
    hook.stdin.close()
    hook.stdin = None
    return hook


def pending(daemon, command):
    found = daemon.api(daemon.owner).get("/api/permissions").json()["pending"]
    return [each["id"] for each in found if each["command"] == command]


def approve(daemon, question):
    answer = {"requestId": question, "decision": "approve"}
    assert daemon.api(daemon.owner).post("/api/permissions", json=answer).status_code == 200


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_hook_comes_back_after_a_restart_to_the_same_question(daemon, end):
    command = f"node {end}.js"
    hook = start_hook(daemon, command, 300)
    (question,) = until(lambda: pending(daemon, command))
    getattr(daemon, end)()
    daemon.start()
    approve(daemon, question)
    out, err = hook.communicate(timeout=60)
    assert (hook.returncode, out, err) == (0, b"", b"")
    log = daemon.api(daemon.owner).get("/api/audit", params={"type": "permission.requested", "text": command})
    assert len(log.json()["events"]) == 1


@pytest.mark.parametrize(
    ("agent", "more", "asks"),
    [
        ("claude-code", {"permission_mode": "default"}, True),
        ("claude-code", {"permission_mode": "acceptEdits"}, True),
        # In these it asks nobody, or nobody knows whether it does.
        ("claude-code", {"permission_mode": "auto"}, False),
        ("claude-code", {"permission_mode": "bypassPermissions"}, False),
        ("claude-code", {"permission_mode": "dontAsk"}, False),
        ("claude-code", {"permission_mode": "somethingNew"}, False),
        ("codex", {}, False),
        ("gemini", {"hook_event_name": "BeforeTool", "tool_name": "run_shell_command"}, True),
        ("opencode", {"hook_event_name": "tool.execute.before"}, False),
        ("docker-agent", {"hook_event_name": "pre_tool_use"}, False),
        ("generic", {}, False),
    ],
    ids=str,
)
def test_ask_is_said_only_to_those_who_surely_heed_it(daemon, agent, more, asks):
    api = daemon.api(daemon.mint("agent", agent=agent))
    answer = api.post(f"/api/hooks/{agent}", json=call(daemon, "node own.js", **more))
    assert ('"ask"' in answer.text) is asks
    assert asks or '"deny"' in answer.text or answer.headers["x-assent-exit"] == "2"
    # Where nothing but a code is heard, it is said to nobody.
    unheard = api.post(
        f"/api/hooks/{agent}", json=call(daemon, "node own.js", **more), headers={"x-assent-heard": "code"}
    )
    assert unheard.headers["x-assent-exit"] == "2"
    denied = api.post(f"/api/hooks/{agent}", json=call(daemon, "rm -rf /", **more))
    assert "Blocked" in denied.text


def test_a_hook_that_must_leave_says_so_and_a_later_yes_lets_the_repeat_through(daemon):
    daemon.stop()
    daemon.start("--wait", "1s")
    first = start_hook(daemon, "node late.js", 60)
    out, _ = first.communicate(timeout=60)
    (question,) = pending(daemon, "node late.js")
    said = json.loads(out)["hookSpecificOutput"]
    assert (first.returncode, said["permissionDecision"]) == (2, "deny")
    assert f"waiting for approval {question}; repeat the same call" in said["permissionDecisionReason"]
    approve(daemon, question)
    again = start_hook(daemon, "node late.js", 60)
    assert (again.communicate(timeout=60)[0], again.returncode) == (b"", 0)
