"""`POST /api/hooks/{agent}`: each agent's own words, and the container's script against a real daemon."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading

import pytest

from assent.cli.commands.hook_script import script
from daemons import until

SHELLS = [["dash"], ["busybox", "sh"]]


def hook(agent, name, **call):
    return agent.post(f"/api/hooks/{name}", json=call)


def test_docker_agents_allow(agent):
    answer = hook(agent, "docker-agent", tool_name="shell", tool_input={"cmd": "ls"}, hook_event_name="pre_tool_use")
    assert (answer.status_code, answer.headers["x-assent-exit"]) == (200, "0")
    body = answer.json()
    assert body.keys() == {"hook_specific_output"}
    assert body["hook_specific_output"]["permission_decision"] == "allow"


@pytest.mark.parametrize("command", ["rm -rf /", "node docker.js"])
def test_docker_agents_denial(agent, command):
    answer = hook(agent, "docker-agent", tool_name="shell", tool_input={"cmd": command}, session_id="s", cwd="/code")
    assert (answer.status_code, answer.headers["x-assent-exit"]) == (200, "2")
    body = answer.json()
    assert body["decision"] == "block"
    assert body["hook_specific_output"]["permission_decision"] == "deny"
    assert body["reason"].startswith(("Blocked: ", "Queued for approval: "))


@pytest.mark.parametrize(
    "call",
    [
        {"tool": "shell", "input": {"cmd": "ls"}},
        {"toolName": "bash", "toolInput": {"command": "ls"}},
        {"tool_name": "bash", "tool_input": {"cmd": "ls"}},
    ],
    ids=str,
)
def test_the_plain_shape_in_every_spelling(agent, call):
    answer = hook(agent, "generic", **call)
    assert (answer.status_code, answer.headers["x-assent-exit"]) == (200, "0")
    assert (answer.json()["allow"], answer.json()["tier"]) == (True, "safe")


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"tool_name": 3}', b'{"tool_name": "x", "tool_input": 1}'])
@pytest.mark.parametrize("name", ["docker-agent", "generic"])
def test_what_is_no_call_is_denied_with_200_in_the_agents_words(agent, name, data):
    answer = agent.post(f"/api/hooks/{name}", content=data, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.headers["x-assent-exit"]) == (200, "2")
    body = answer.json()
    assert body.get("allow") is False or body["hook_specific_output"]["permission_decision"] == "deny"


def test_every_refusal_reads_as_a_denial(daemon, person):
    for answer in (
        daemon.api().post("/api/hooks/generic", json={"tool": "x"}),
        person.post("/api/hooks/docker-agent", json={"tool_name": "x"}),
        daemon.api(daemon.mint("agent")).post("/api/hooks/nobody", json={"tool_name": "x"}),
    ):
        assert answer.status_code in (401, 403, 404)
        assert answer.headers["x-assent-exit"] == "2"
        body = answer.json()
        assert body["allow"] is False
        assert body["decision"] == "block"
        assert body["hook_specific_output"]["permission_decision"] == "deny"


@pytest.fixture(params=SHELLS, ids=lambda s: s[0])
def container(request, daemon, tmp_path):
    """The script as a container runs it, with curl alone."""
    file = tmp_path / "hook.sh"
    file.write_text(script())
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "curl").symlink_to(shutil.which("curl"))
    shell = [shutil.which(request.param[0]), *request.param[1:], str(file)]
    token = daemon.mint("agent", agent=f"container-{request.param[0]}", remote=True)

    def run(call, **environ):
        known = {"ASSENT_URL": daemon.url, "ASSENT_TOKEN": token, "ASSENT_WAIT": "0", "PATH": str(tools)}
        return subprocess.run(
            shell, input=json.dumps(call).encode(), capture_output=True, check=False, env=known | environ, timeout=60
        )

    return run


def test_the_script_lets_a_safe_call_run(container):
    done = container({"tool_name": "shell", "tool_input": {"cmd": "ls"}})
    assert done.returncode == 0
    assert json.loads(done.stdout)["hook_specific_output"]["permission_decision"] == "allow"


def test_the_script_blocks_a_destructive_one_whatever_is_in_its_reason(container):
    done = container({"tool_name": "shell", "tool_input": {"cmd": "rm -rf '/\\back\"slash'"}})
    assert done.returncode == 2
    assert json.loads(done.stdout)["decision"] == "block"


def test_the_script_waits_for_a_person_and_hands_on_what_was_changed(container, person):
    told = []
    call = {"tool_name": "shell", "tool_input": {"cmd": "node container.js"}}
    thread = threading.Thread(target=lambda: told.append(container(call, ASSENT_WAIT="30")))
    thread.start()

    def pending():
        found = person.get("/api/permissions").json()["pending"]
        return next((p for p in found if p["command"] == "node container.js"), None)

    wanted = until(pending)["id"]
    body = {"requestId": wanted, "decision": "approve", "modifiedInput": "node container.js --dry"}
    assert person.post("/api/permissions", json=body).status_code == 200
    thread.join(60)
    assert told[0].returncode == 0
    output = json.loads(told[0].stdout)["hook_specific_output"]
    assert output["updated_input"] == {"cmd": "node container.js --dry"}


def test_the_script_with_a_wrong_token_or_agent_denies(container):
    call = {"tool_name": "shell", "tool_input": {"cmd": "ls"}}
    for environ in ({"ASSENT_TOKEN": "nonsense"}, {"ASSENT_AGENT": "nobody"}, {"ASSENT_URL": "http://127.0.0.1:1"}):
        done = container(call, **environ)
        assert done.returncode == 2
        assert json.loads(done.stdout)["allow"] is False


def test_the_script_speaks_the_plain_shape_too(container):
    done = container({"toolName": "bash", "toolInput": {"command": "ls"}}, ASSENT_AGENT="generic")
    assert done.returncode == 0
    assert json.loads(done.stdout)["allow"] is True
