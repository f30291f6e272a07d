"""A `process` run: a program in the agent's sandbox, its output passed on, its questions in the run."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

from assent.runs.process_events import LONGEST_EXCERPT, MOST_EXCERPTS, Excerpt
from daemons import until
from runners import Runner

ASKER = """
import json, os, socket
line = socket.socket(socket.AF_UNIX)
line.connect(os.environ["ASSENT_HOME"] + "/assent.sock")
body = json.dumps({"toolName": "bash", "toolInput": {"command": "./deploy.sh"}, "cwd": os.getcwd()}).encode()
head = "POST /api/hooks/classify?wait=30 HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n"
head += "Content-Type: application/json\\r\\nAuthorization: Bearer " + os.environ["ASSENT_TOKEN"] + "\\r\\n"
line.sendall(head.encode() + b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)
data = b""
while piece := line.recv(65536):
    data += piece
print("allowed", json.loads(data.partition(b"\\r\\n\\r\\n")[2])["allow"])
"""


def strategy(folder, command, **more):
    path = folder / "process.yaml"
    path.write_text(json.dumps({"name": "p", "process": {"agent": "helper", "command": command, **more}}))
    return path


@pytest.fixture
def client(daemon):
    with Runner(daemon) as made:
        yield made


def test_its_output_streams_and_is_the_result(client, daemon, tmp_path):
    run = client.launch(strategy(tmp_path, ["sh", "-c", "echo one; echo $ASSENT_SANDBOX; pwd"]))
    done = client.hear("strategy_completed", runId=run)
    assert done["result"].split() == ["one", "agent", str(daemon.project)]
    kinds = [m["event"]["type"] for m in client.heard if m["type"] == "agent_streaming"]
    assert set(kinds) == {"text", "done"}
    told = [k for k in client.kinds() if k != "agent_streaming"]
    assert told[1:] == ["strategy_started", "step_started", "step_completed", "agent_output", "strategy_completed"]
    events = daemon.api(daemon.owner).get(f"/api/audit?session={run}&limit=100").json()["events"][::-1]
    kinds = [e["type"] for e in events]
    assert kinds.index("sandbox.applied") < kinds.index("process.started") < kinds.index("process.completed")


def test_it_is_given_input_while_it_runs(client, tmp_path):
    run = client.launch(strategy(tmp_path, ["sh", "-c", "read a; echo got $a"]))
    until(lambda: _gave(client, run))
    assert client.find("strategy_completed")["result"] == "got words"
    assert client.refused("user_input", runId=run, agentName="helper", text="x") == (
        "NO_PENDING_INPUT",
        f"No pending input request for run {run} agent helper",
    )


def test_what_a_run_is_given_is_read_back_and_who_typed_something_is_on_record(client, daemon, tmp_path):
    run = client.prepare(strategy(tmp_path, ["sh", "-c", 'read a; echo "$1 $a"', "x", "${input}"]))["runId"]
    client.send("start_run", runId=run, input="at the start")
    client.hear("strategy_started", runId=run)
    until(lambda: _gave(client, run))
    assert client.find("strategy_completed", runId=run)["result"] == "at the start words"
    past = client.ask("prepare_run", "run_prepared", runId=run)["conversation"]["inputs"]
    assert [(given["agentName"], given["text"]) for given in past] == [("helper", "at the start")]
    found = until(lambda: [e for e in recorded(daemon, run) if "given" in e])
    assert [(e["agent"], e["by"], e["given"]) for e in found] == [("helper", daemon.user, len("words"))]
    assert "words" not in json.dumps(found)


def recorded(daemon, run):
    found = daemon.api(daemon.owner).get(f"/api/audit?session={run}&type=run.status").json()["events"]
    return [event["body"]["payload"] for event in found]


def test_a_program_that_reads_nothing_holds_up_nobody_who_writes_to_it(client, tmp_path):
    run = client.launch(strategy(tmp_path, ["sleep", "600"]))
    until(lambda: _gave(client, run))
    piece = {"requestId": "in", "runId": run, "agentName": "helper", "text": "x" * 60_000}
    for _ in range(20):
        client.send("user_input", **piece)
    assert client.hear("error")["code"] == "NO_PENDING_INPUT"  # after a mebibyte that nobody has read
    client.quiet()
    client.send("stop_run", runId=run)
    assert client.hear("strategy_error", runId=run)["error"]["code"] == "CANCELLED"


def _gave(client, run) -> bool:
    client.send("user_input", requestId="in", runId=run, agentName="helper", text="words")
    return not any(m["type"] == "error" for m in client.quiet())


def test_a_program_that_fails_or_is_late_ends_the_run_with_the_reason(client, tmp_path):
    client.launch(strategy(tmp_path, ["sh", "-c", "echo no; exit 3"]))
    assert client.hear("strategy_error")["error"] == {"code": "EXECUTION_ERROR", "message": "no\nit ended with 3"}
    client.launch(strategy(tmp_path, ["sleep", "600"], timeout="1s"))
    assert "its limit of wall time was reached" in client.hear("strategy_error")["error"]["message"]
    client.launch(strategy(tmp_path, ["/no/such/program"]))
    assert "/no/such/program" in client.hear("strategy_error")["error"]["message"]


@pytest.mark.parametrize(
    ("top", "command", "why"),
    [
        ({"deny": ["Bash(touch:*)"]}, ["sh", "-c", "touch ran"], "denied by Bash(touch:*)"),
        ({}, ["sh", "-c", "touch ran; cat .env"], "**/.env* is forbidden in a run"),
        ({}, ["sh", "-c", "touch ran; rm -rf /"], "rm deletes whole trees"),
        ({"mode": "plan"}, ["touch", "ran"], "denied by mode plan: touch creates or touches files"),
        ({}, ["sh", "-c", 'touch ran; rm -rf "$1"', "x", "/"], "rm deletes whole trees"),
    ],
    ids=["a rule", "a forbidden file", "a destructive command", "a mode", "an argument"],
)
def test_a_program_that_policy_denies_is_not_started_and_one_that_would_be_asked_about_is(
    client, daemon, tmp_path, top, command, why
):
    path = tmp_path / "p.yaml"
    path.write_text(json.dumps({"name": "p", **top, "process": {"agent": "helper", "command": command}}))
    run = client.launch(path)
    error = client.hear("strategy_error", runId=run)["error"]
    assert (error["code"], error["message"]) == ("EXECUTION_ERROR", f"denied: {why}")
    assert not (daemon.project / "ran").exists()
    assert "request_permission" not in client.kinds()
    events = daemon.api(daemon.owner).get(f"/api/audit?session={run}&type=permission.evaluated").json()["events"]
    assert [event["verdict"] for event in events] == ["deny"]


def test_who_starts_a_program_is_not_asked_about_it_and_that_is_on_record(client, daemon, tmp_path):
    run = client.launch(strategy(tmp_path, ["sh", "./made-up.sh"]), interactive=False)
    client.hear("strategy_error", runId=run)  # there is no such file
    (event,) = daemon.api(daemon.owner).get(f"/api/audit?session={run}&type=permission.evaluated").json()["events"]
    told = event["body"]["permissionDecision"]
    assert (told["verdict"], told["decision_reason"]) == ("allow", "a person approved this call")
    assert told["boundary"]["name"] == "agent"


def test_a_program_that_is_stopped_is_gone(client, daemon, tmp_path):
    run = client.launch(strategy(tmp_path, ["sleep", "987.5"]))
    owner = daemon.api(daemon.owner)
    until(lambda: owner.get(f"/api/audit?session={run}&type=process.started").json()["events"])
    client.send("stop_run", runId=run)
    assert client.hear("strategy_error")["error"]["code"] == "CANCELLED"
    (ended,) = owner.get(f"/api/audit?session={run}&type=process.terminated").json()["events"]
    assert ended["body"]["payload"]["stopped"] == "cancelled"


def told(lines):
    """Return what the log is told of these pieces of output, each a second after the last."""
    said = []

    async def scene():
        excerpt = Excerpt("stdout", said.append)
        for line in lines:
            excerpt.take(line)
            if excerpt._timer is not None:
                excerpt._timer.cancel()
            excerpt._ring()
        excerpt.close()
        return excerpt.skipped

    return asyncio.run(scene()), said


def test_what_a_program_writes_does_not_flood_the_log_and_what_is_left_out_is_counted():
    text = "x" * 79 + "\n"
    skipped, said = told([text * 1000] * (2 * MOST_EXCERPTS))
    assert len(said) == MOST_EXCERPTS
    assert all(len(each["text"]) <= LONGEST_EXCERPT for each in said)
    assert sum(len(e["text"]) + (e["skipped"] or 0) for e in said) + skipped == 2 * MOST_EXCERPTS * 80_000
    assert told(["no end"]) == (0, [{"stream": "stdout", "text": "no end", "skipped": None}])


def test_the_lines_of_a_private_key_are_in_no_excerpt_however_they_come():
    key = ["-----BEGIN RSA PRIVATE KEY-----\n", "c2VjcmV0\n", "-----END RSA PRIVATE KEY-----\n", "after\n"]
    _, said = told(["before\n", *key])
    assert "".join(each["text"] for each in said) == "before\nafter\n"


@pytest.mark.parametrize(("decision", "heard"), [("allow", "allowed True"), ("deny", "allowed False")])
def test_it_asks_from_inside_its_sandbox_and_waits_for_the_answer(client, tmp_path, decision, heard):
    run = client.launch(strategy(tmp_path, [sys.executable, "-I", "-S", "-c", ASKER]))
    question = client.hear("request_permission", agentName="helper")
    client.decide(run, question, decision)
    assert client.hear("strategy_completed")["result"] == heard


def test_its_token_may_only_ask_its_questions_are_the_runs_and_it_ends_with_it(client, daemon, tmp_path):
    seen = daemon.project / "token"
    run = client.launch(strategy(tmp_path, ["sh", "-c", f"printf %s $ASSENT_TOKEN > {seen}; read a; echo $a"]))
    token = until(lambda: seen.exists() and seen.read_text())
    agent = daemon.api(token)
    assert agent.post("/api/permissions", json={"requestId": "x", "decision": "approve"}).status_code == 403
    with pytest.raises(Exception, match="403"):
        Runner(daemon, token)
    sub = daemon.project / "sub"
    sub.mkdir(exist_ok=True)
    body = {"toolName": "bash", "toolInput": {"command": "./tool.sh"}, "cwd": str(sub), "toolCallId": "c1"}
    assert agent.post("/api/hooks/classify", json=body).json()["allow"] is False
    question = client.hear("request_permission")
    assert (question["runId"], question["agentName"], question["toolName"]) == (run, "helper", "run_command")
    patch = "*** Begin Patch\n*** Update File: ../.git/config\n@@\n-a\n+b\n*** End Patch"
    for tool, given in (
        ("bash", {"command": "cat ../.env"}),
        ("Read", {"file_path": "../.env"}),
        ("Write", {"file_path": "../.git/config", "content": "x"}),
        ("apply_patch", {"input": patch}),
    ):
        forbidden = body | {"toolName": tool, "toolInput": given, "toolCallId": "c2"}
        assert "is forbidden in a run" in agent.post("/api/hooks/classify", json=forbidden).json()["reason"]
    client.decide(run, question, "allow-session")
    updated = client.hear("policy_updated")
    assert (updated["tool"], updated["policies"][-1]["name"]) == ("run_command", "session-allow-execute---tool-sh")
    for call in ("c1", "c3"):
        assert agent.post("/api/hooks/classify", json=body | {"toolCallId": call}).json()["allow"] is True
    client.send("user_input", runId=run, agentName="helper", text="done")
    assert client.hear("strategy_completed")["result"] == "done"
    until(lambda: agent.post("/api/hooks/classify", json=body).status_code == 401)
