"""What must not be possible, tried: by a program inside a run, by a file somebody else wrote, by a deaf client."""

from __future__ import annotations

import contextlib
import json
import socket
from pathlib import Path

import pytest

from daemons import until
from runners import Runner, write_strategy

ASK = "- {agent: writer, tool: write_file, input: {path: /opt/assent-test, content: x}}\n"


@pytest.fixture
def client(daemon):
    with Runner(daemon) as made:
        yield made


@pytest.fixture
def program(client, daemon, tmp_path):
    """The token of a program at work in a run, and the run."""
    seen = daemon.project / f"token-{tmp_path.name}"
    line = f"printf %s $ASSENT_TOKEN > {seen}; read a"
    path = tmp_path / "process.yaml"
    path.write_text(json.dumps({"name": "p", "process": {"agent": "helper", "command": ["sh", "-c", line]}}))
    run = client.launch(path)
    token = until(lambda: seen.exists() and seen.read_text())
    yield daemon.api(token), run
    client.send("stop_run", runId=run)


def classify(api, tool, given, **more):
    return api.post("/api/hooks/classify", json={"toolName": tool, "toolInput": given, **more}).json()


# A program and its token


@pytest.mark.parametrize("folder", ["~", "$HOME", "file:///etc"])
def test_a_folder_that_is_read_as_another_than_it_names_is_none_to_run_in(client, daemon, tmp_path, folder):
    (daemon.project / folder).mkdir(parents=True, exist_ok=True)
    step = {"agent": "a", "tool": "run_command", "input": {"command": "ls > seen.txt", "cwd": folder}}
    run = client.launch(write_strategy(tmp_path, f"- {json.dumps(step)}"))
    client.decide(run, client.hear("request_permission"), "allow")
    assert "is no folder by its path" in client.hear("strategy_error")["error"]["message"]
    assert not (daemon.project / folder / "seen.txt").exists()


@pytest.mark.parametrize("field", ["cwd", "workdir", "dir"])
def test_a_line_is_judged_where_its_own_field_has_it_run(program, daemon, field):
    api, _ = program
    (daemon.project / "sub").mkdir(exist_ok=True)
    for folder in (str(daemon.project / "secrets"), "../secrets"):
        given = {"command": "cat x.txt", field: folder}
        said = classify(api, "bash", given, cwd=str(daemon.project / "sub"))
        assert said == {"allow": False, "tier": "safe", "reason": "Blocked: **/secrets/** is forbidden in a run"}
    assert classify(api, "bash", {"command": "ls", field: ".."}, cwd=str(daemon.project / "sub"))["allow"] is True


def test_a_program_sees_nothing_of_another_agent_by_its_name(program, daemon):
    api, run = program
    other = daemon.api(daemon.mint("agent", agent="helper"))
    theirs = classify(other, "bash", {"command": "./deploy.sh --password hunter2"}, cwd=str(daemon.project))[
        "requestId"
    ]
    own = classify(api, "bash", {"command": "./mine.sh"}, cwd=str(daemon.project))["requestId"]
    assert [p["id"] for p in api.get("/api/permissions").json()["pending"]] == [own]
    assert api.get(f"/api/permissions/{theirs}").status_code == 404
    assert [p["id"] for p in other.get("/api/permissions").json()["pending"]] == [theirs]
    assert other.get(f"/api/permissions/{own}").status_code == 404
    assert api.get("/api/sessions/another/stream").status_code == 403
    told = api.get("/api/runtime/permission_state").text
    assert own in told
    assert theirs not in told
    assert api.get(f"/api/permissions/{own}").json()["sessionId"] == run


def test_a_programs_token_does_nothing_that_is_for_people(program, daemon):
    api, run = program
    question = classify(api, "bash", {"command": "./mine.sh"}, cwd=str(daemon.project))["requestId"]
    for method, path, body in (
        ("POST", "/api/permissions", {"requestId": question, "decision": "approve"}),
        ("POST", f"/api/sessions/{run}/respond", {"decision": "approved"}),
        ("POST", "/api/runtime/respond_action", {"actionId": question, "decision": "allow"}),
        ("POST", "/api/tokens", {"role": "admin"}),
        ("POST", "/api/destructive", {"minutes": 5, "agentId": "helper"}),
        ("DELETE", f"/api/runs/{run}", None),
        ("GET", "/api/runs", None),
        ("GET", "/api/audit", None),
        ("GET", "/api/grants", None),
        ("GET", f"/api/runtime/evidence/{run}", None),
    ):
        assert (path, api.request(method, path, json=body).status_code) == (path, 403)


def test_what_was_always_allowed_to_an_agent_is_not_to_a_strategys_agent_by_its_name(client, daemon, tmp_path):
    out = tmp_path / "out"
    agent = daemon.api(daemon.mint("agent", agent="writer"))
    given = {"path": str(out), "content": "x"}
    asked = classify(agent, "write_file", given, cwd=str(daemon.project))["requestId"]
    yes = {"requestId": asked, "decision": "approve_always", "pattern": f"Write({tmp_path}/**)"}
    assert daemon.api(daemon.owner).post("/api/permissions", json=yes).status_code == 200
    assert classify(agent, "write_file", given, cwd=str(daemon.project))["allow"] is True
    strategy = write_strategy(tmp_path, f"- {{agent: writer, tool: write_file, input: {{path: {out}, content: x}}}}")
    run = client.launch(strategy)
    client.decide(run, client.hear("request_permission", resource=str(out)), "deny")
    client.hear("strategy_error")
    assert not out.exists()


def test_what_is_said_for_a_run_about_any_tool_is_named_and_ends_with_it(program, client, daemon):
    api, run = program
    for tool, given in (("mcp__a__b", {"q": "1"}), ("apply_patch", {"input": PATCH})):
        asked = classify(api, tool, given, cwd=str(daemon.project), toolCallId="1")["requestId"]
        question = client.find("request_permission", requestId=asked)
        assert question["operation"] in ("fs.read", "fs.write", "fs.exec", "command.execute")
        assert json.loads(question["details"]["input"]) == given
        client.decide(run, question, "allow-session")
        told = client.hear("policy_updated")["policies"][-1]["name"]
        assert told.startswith("session-allow-execute-")
        again = classify(api, tool, given, cwd=str(daemon.project), toolCallId="2")
        assert (again["allow"], again["reason"]) == (True, f"covered by {told}")
        assert classify(api, tool, {**given, "more": 1}, cwd=str(daemon.project))["allow"] is False
    grants = daemon.api(daemon.owner).get("/api/grants").json()["grants"]
    assert [g for g in grants if g["scope"] == "session"] == []


PATCH = "*** Begin Patch\n*** Update File: inside\n@@\n-a\n+b\n*** Update File: /opt/b\n@@\n-a\n+b\n*** End Patch"


def test_a_policy_for_all_tools_holds_for_one_that_is_called_later(program, client, daemon):
    api, run = program
    client.send("update_policy", runId=run, mode="write", deny=["kept/**"])
    client.hear("policy_updated", tool="run_command")
    given = {"notebook_path": str(daemon.project / "kept" / "n.ipynb"), "new_source": "x"}
    assert classify(api, "NotebookEdit", given, cwd=str(daemon.project))["allow"] is False
    client.send("update_policy", runId=run, tool="Write", mode="write", deny=["other/**"])
    assert client.hear("policy_updated")["tool"] == "write_file"


# Folders and files


def test_a_search_that_a_person_let_finds_what_is_there_and_nothing_that_is_forbidden(client, tmp_path):
    (tmp_path / "out" / "secrets").mkdir(parents=True)
    for name in ("a.txt", ".env", "secrets/x", "credentials.json"):
        (tmp_path / "out" / name).write_text("needle")
    step = f"- {{agent: a, tool: search_files, input: {{pattern: needle, path: {tmp_path}/out}}}}\n"
    run = client.launch(write_strategy(tmp_path, step * 3))
    client.decide(run, client.hear("request_permission"), "allow")
    assert client.hear("step_completed")["result"]["text"] == "a.txt:1: needle"
    client.decide(run, client.hear("request_permission"), "allow-session")
    assert client.hear("strategy_completed")["result"] == "a.txt:1: needle"
    assert client.kinds().count("request_permission") == 2


@pytest.mark.parametrize("folder", [".git", "secrets", "deep/secrets", "link-to-secrets"])
def test_the_names_in_a_forbidden_folder_are_forbidden_too(client, daemon, tmp_path, folder):
    (daemon.project / "deep" / "secrets").mkdir(parents=True, exist_ok=True)
    (daemon.project / "secrets").mkdir(exist_ok=True)
    if folder.startswith("link"):
        (daemon.project / folder).symlink_to("secrets")
    run = client.prepare(write_strategy(tmp_path, f"- {{agent: a, tool: list_dir, input: {{path: {folder}}}}}"))[
        "runId"
    ]
    client.send("update_policy", runId=run, mode="read", allow=["**"], default="allow")
    client.send("start_run", runId=run)
    assert "is forbidden in a run" in client.hear("strategy_error")["error"]["message"]


def test_a_folder_that_holds_the_home_is_no_workspace(client, daemon, tmp_path):
    strategy = write_strategy(tmp_path, ASK)
    for cwd in (daemon.home.parent, Path("/")):
        assert client.refused("prepare_run", strategyPath=str(strategy), cwd=str(cwd)) == (
            "PREPARE_FAILED",
            f"`{cwd}` cannot be a workspace: it contains everything else too (say a project's folder as cwd)",
        )


# A client that never reads


def test_one_that_never_reads_is_cut_off_by_how_much_is_kept_for_it(client, daemon, tmp_path):
    """Few messages, but large ones: some 80 MB."""
    (daemon.project / "big.txt").write_text("x" * 130_000)
    step = "- {agent: a, tool: read_file, input: {path: big.txt}}\n"
    run = client.prepare(write_strategy(tmp_path, step * 150))["runId"]
    with contextlib.closing(socket.create_connection(("127.0.0.1", daemon.port))) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        head = f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\nAuthorization: Bearer {daemon.owner}\r\n"
        upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        deaf.sendall(f"{head}{upgrade}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode())
        assert b" 101 " in deaf.recv(4096)
        data = json.dumps({"type": "subscribe", "runId": run}).encode()
        deaf.sendall(bytes([0x81, 0x80 | len(data), 0, 0, 0, 0]) + data)
        until(lambda: daemon.api().get("/health").json()["connectedClients"] == 2)
        client.send("unsubscribe", runId=run)  # a slow reader may not keep up either
        client.send("start_run", runId=run)
        until(lambda: daemon.api().get("/health").json()["connectedClients"] == 1)
