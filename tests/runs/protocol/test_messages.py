"""`WS /ws`, message by message: who may speak, what comes back, and the exact error for everything that is wrong."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest
import websockets
from websockets.sync.client import connect

from daemons import PATIENT
from runners import Runner, write_strategy

READ = "- {agent: reader, tool: list_dir, input: {path: .}}\n"
ASK = "- {agent: writer, tool: write_file, input: {path: /opt/assent-test, content: x}}\n"


@pytest.fixture(scope="module")
def others(daemon):
    return daemon.mint("user", user="somebody-else")


@pytest.fixture
def client(daemon):
    with Runner(daemon) as made:
        yield made


@pytest.fixture
def asking(client, tmp_path):
    """A run that asks something, and its question."""
    run = client.launch(write_strategy(tmp_path, ASK, "asking"))
    yield run, client.hear("request_permission")
    client.send("stop_run", runId=run)


def refused_upgrade(daemon, **headers):
    with pytest.raises(websockets.InvalidStatus) as error:
        connect(f"ws://127.0.0.1:{daemon.port}/ws", additional_headers=headers, **PATIENT)
    return error.value.response.status_code


# Who may connect


def test_a_socket_needs_a_persons_token_before_the_handshake(daemon):
    assert refused_upgrade(daemon) == 401
    assert refused_upgrade(daemon, Authorization="Bearer nonsense") == 401
    agent = daemon.mint("agent", agent="a")
    assert refused_upgrade(daemon, Authorization=f"Bearer {agent}") == 403


def test_a_foreign_origin_or_host_is_refused(daemon):
    bearer = f"Bearer {daemon.owner}"
    assert refused_upgrade(daemon, Authorization=bearer, Origin="http://evil.test") == 403
    with socket.create_connection(("127.0.0.1", daemon.port)) as raw:
        raw.sendall(
            f"GET /ws HTTP/1.1\r\nHost: evil.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            f"Authorization: {bearer}\r\n\r\n".encode()
        )
        assert b" 403 " in raw.recv(4096)


def test_a_token_may_come_as_a_subprotocol(daemon):
    with connect(
        f"ws://127.0.0.1:{daemon.port}/ws", subprotocols=["assent", f"assent.bearer.{daemon.owner}"], **PATIENT
    ) as ws:
        ws.send('{"type": "ping"}')
        assert json.loads(ws.recv())["type"] == "pong"


# What every message gets


def test_a_ping_is_answered_with_its_id_and_a_time(client):
    client.send("ping", requestId="p1", more="is passed over")
    pong = client.hear("pong")
    assert set(pong) == {"type", "ts", "requestId"}
    assert pong["requestId"] == "p1"
    client.send("ping")
    assert set(client.hear("pong")) == {"type", "ts"}


@pytest.mark.parametrize("number", ["9007199254740993", "1" + "0" * 400, "1e400", "-1.5e-400", "0.1"])
def test_a_number_of_any_size_is_json_and_no_text(client, number):
    client.ws.send(f'{{"type": "ping", "requestId": "n", "more": {number}}}')
    assert client.hear("pong")["requestId"] == "n"
    client.ws.send(f'{{"type": "ping", "requestId": {number}}}')
    assert client.hear("error")["message"].startswith("Invalid message: requestId: expected str | null, got ")


def test_a_binary_frame_is_read_as_text(client):
    client.ws.send(b'{"type": "ping", "requestId": "b"}')
    assert client.hear("pong")["requestId"] == "b"


def test_preparing_tells_everything_about_the_run(client, tmp_path):
    told = client.prepare(write_strategy(tmp_path, READ, "describe"), requestId="r")
    assert told == {
        "type": "run_prepared",
        "ts": told["ts"],
        "requestId": "r",
        "runId": told["runId"],
        "strategyName": "describe",
        "agents": ["reader"],
        "flowTree": {
            "name": "describe",
            "kind": "sequence",
            "children": [{"name": "1 list_dir", "kind": "step", "children": []}],
        },
        "conversation": {"records": [], "retentionEvents": [], "inputs": [], "messages": []},
        "mcpServers": [],
    }


def test_a_run_that_ended_before_it_began_is_not_said_to_have_started(client, tmp_path):
    run = client.prepare(write_strategy(tmp_path, READ))["runId"]
    client.send("stop_run", runId=run)
    client.hear("strategy_error", runId=run)
    assert client.refused("start_run", runId=run) == ("START_FAILED", f"Prepared run not found: {run}")


def test_a_run_may_be_given_its_id_and_is_started_once(client, tmp_path):
    strategy = write_strategy(tmp_path, READ)
    name = f"mine-{tmp_path.name}"
    assert client.prepare(strategy, runId=name)["runId"] == name
    assert client.prepare(strategy, runId=name)["runId"] == name  # attached
    client.send("start_run", runId=name, input="hello")
    client.hear("strategy_completed")
    assert client.refused("start_run", runId=name) == ("START_FAILED", f"Run already started: {name}")
    assert client.refused("start_run", runId="nope") == ("START_FAILED", "Prepared run not found: nope")
    assert client.refused("prepare_run", runId=name, strategyPath=str(strategy)) == (
        "PREPARE_FAILED",
        f"Run already exists: {name}",
    )


def test_a_run_streams_each_step_in_this_shape(client, tmp_path):
    run = client.launch(write_strategy(tmp_path, "- {name: look, agent: a, tool: read_file, input: {path: f.txt}}"))
    error = client.hear("strategy_error")
    assert error == {
        "type": "strategy_error",
        "ts": error["ts"],
        "runId": run,
        "error": {"code": "EXECUTION_ERROR", "message": error["error"]["message"]},
    }
    assert error["error"]["message"].startswith("step look: ")
    (client.daemon.project / "f.txt").write_text("content")
    client.heard.clear()
    run = client.launch(write_strategy(tmp_path, "- {name: look, agent: a, tool: read_file, input: {path: f.txt}}"))
    client.hear("strategy_completed")
    shapes = [{k: v for k, v in m.items() if k not in ("ts", "runId")} for m in client.heard[1:]]
    call = shapes[2]["event"]["toolCallId"]
    usage = {"promptTokens": 0, "completionTokens": 0}
    result = {"text": "content", "usage": usage, "finishReason": "stop"}
    tree = {"name": "test", "kind": "sequence", "children": [{"name": "look", "kind": "step", "children": []}]}
    assert shapes == [
        {"type": "strategy_started", "strategyName": "test", "agents": ["a"], "flowTree": tree},
        {"type": "step_started", "stepName": "look", "message": "a: read_file"},
        _streaming({"type": "tool-call", "toolCallId": call, "toolName": "read_file", "args": '{"path":"f.txt"}'}),
        _streaming(
            {
                "type": "tool-result",
                "toolCallId": call,
                "toolName": "read_file",
                "output": "content",
                "status": "completed",
            }
        ),
        _streaming({"type": "done", "result": result}),
        {"type": "step_completed", "stepName": "look", "result": result},
        {"type": "agent_output", "agentName": "a", "text": "content", "usage": usage},
        {"type": "strategy_completed", "result": "content", "usage": usage},
    ]


def _streaming(event):
    return {"type": "agent_streaming", "agentName": "a", "event": event}


def test_a_commands_output_is_passed_on_while_it_runs(client, tmp_path):
    client.launch(
        write_strategy(tmp_path, "- {agent: a, tool: run_command, input: {command: 'echo one; echo two >&2'}}")
    )
    done = client.hear("strategy_completed")
    pieces = [m["event"]["text"] for m in client.heard if m.get("event", {}).get("type") == "text"]
    assert sorted("".join(pieces).split()) == ["one", "two"]
    assert sorted(done["result"].split()) == ["one", "two"]


def test_a_command_ends_at_its_time_limit_and_says_so(client, tmp_path):
    client.launch(write_strategy(tmp_path, "- {agent: a, tool: run_command, input: {command: sleep 600, timeout: 1}}"))
    assert "its limit of wall time was reached" in client.hear("strategy_error")["error"]["message"]


def test_what_the_sandbox_stops_is_told_as_that(client, daemon, tmp_path):
    outside = Path("/opt/assent-run-test")
    step = f"- {{agent: a, tool: run_command, input: {{command: 'echo x > {outside}'}}}}"
    run = client.launch(write_strategy(tmp_path, step))
    client.decide(run, client.hear("request_permission"), "allow")
    assert f"stopped by the sandbox: fs.write {outside}" in client.hear("strategy_error")["error"]["message"]
    assert not outside.exists()
    events = daemon.api(daemon.owner).get(f"/api/audit?session={run}&type=sandbox.violation").json()["events"]
    assert events[0]["body"]["violation"]["resource"] == str(outside)


def test_runs_and_strategies_are_listed(client, tmp_path):
    run = client.launch(write_strategy(tmp_path, READ, "listed"))
    client.hear("strategy_completed")
    listed = client.ask("list_runs", "run_list", requestId="l")
    assert listed["requestId"] == "l"
    entry = listed["runs"][0]
    assert entry["runId"] == run
    assert {"status", "strategyName", "strategyPath", "cwd", "createdAt", "startedAt", "endedAt"} <= set(entry)
    assert (entry["status"], entry["strategyName"]) == ("completed", "listed")
    assert entry["completedAt"] == entry["endedAt"]
    listed = client.ask("list_strategies", "strategy_list")
    assert {"runId", "strategyName", "status", "startedAt", "completedAt"} == set(listed["runs"][0])
    found = listed["strategies"]
    assert {"look-around", "note", "two-at-once", "script"} <= {s["name"] for s in found}
    assert all({"name", "path", "kind", "description"} == set(s) for s in found)


def test_health_counts_runs_and_clients(client, daemon, asking):
    health = daemon.api().get("/health").json()
    assert health["activeRuns"] >= 1
    assert health["connectedClients"] >= 1


# Errors, to the letter


def test_unknown_runs_get_their_errors(client):
    assert client.refused("stop_run", runId="x") == ("RUN_NOT_FOUND", "No active run found for runId x")
    assert client.refused("update_policy", runId="x", mode="read") == (
        "RUN_NOT_FOUND",
        "No active run found for runId x",
    )
    assert client.refused("subscribe", runId="x") == ("SUBSCRIBE_ERROR", "Run not found: x")
    assert client.refused("permission_decision", runId="x", permissionRequestId="p", decision="allow") == (
        "NO_PENDING_PERMISSION",
        "No pending permission request p for run x",
    )
    assert client.refused("user_input", runId="x", agentName="a", text="t") == (
        "NO_PENDING_INPUT",
        "No pending input request for run x agent a",
    )
    client.send("unsubscribe", runId="x")
    assert client.quiet() == []


def test_a_run_that_is_over_takes_no_orders_and_is_read_back(client, tmp_path):
    run = client.launch(write_strategy(tmp_path, READ))
    done = client.hear("strategy_completed")
    for kind, fields in (("stop_run", {}), ("update_policy", {"mode": "read"})):
        assert client.refused(kind, runId=run, **fields)[0] == "RUN_NOT_FOUND"
    client.send("subscribe", runId=run)
    (again,) = client.quiet()
    assert (again["type"], again["result"]) == ("strategy_completed", done["result"])
    past = client.ask("prepare_run", "run_prepared", runId=run, requestId="past")
    assert past["requestId"] == "past"
    records = past["conversation"]["messages"]
    assert [r["type"] for r in records] == ["step_started", "agent_streaming", "strategy_completed"]
    assert records[1]["event"]["output"] == done["result"]


def test_steps_read_no_input(client, asking):
    run, _ = asking
    assert client.refused("user_input", runId=run, agentName="writer", text="t") == (
        "NO_PENDING_INPUT",
        f"No pending input request for run {run} agent writer",
    )


def test_another_users_run_is_forbidden_in_every_way_and_unchanged(client, daemon, others, asking):
    run, question = asking
    with Runner(daemon, others) as stranger:
        for kind, fields in (
            ("prepare_run", {}),
            ("start_run", {}),
            ("stop_run", {}),
            ("subscribe", {}),
            ("permission_decision", {"permissionRequestId": question["requestId"], "decision": "allow"}),
            ("update_policy", {"mode": "write", "allow": ["**"]}),
            ("user_input", {"agentName": "writer", "text": "x"}),
            ("steer_run", {"text": "x"}),
            ("continue_run", {"input": "x"}),
        ):
            code, message = stranger.refused(kind, runId=run, **fields)
            assert (kind, code) == (kind, "FORBIDDEN")
            assert "belongs to another user" in message
        assert run not in [r["runId"] for r in stranger.ask("list_runs", "run_list")["runs"]]
    assert client.quiet() == []


INVALID = {
    '{"type": "stop_run"}': "runId: required",
    '{"type": "stop_run", "runId": 7}': "runId: expected str, got int",
    '{"type": "permission_decision", "runId": "r", "decision": "maybe"}': (
        "permissionRequestId: required; decision: invalid enum value 'maybe'"
    ),
    '{"type": "update_policy", "runId": "r", "mode": "exec", "allow": ["a", 1], "deny": "x", "default": "yes"}': (
        "mode: invalid enum value 'exec'; allow[1]: expected str, got int; deny: expected array, got str; "
        "default: invalid enum value 'yes'"
    ),
    '{"type": "prepare_run"}': "runId: required without a strategyPath",
    '{"type": "prepare_run", "runId": "../x"}': "runId: expected letters, digits and _ . : -",
    '{"type": "start_run", "runId": "r", "input": {}}': "input: expected str | null, got object",
    '{"type": "ping", "requestId": 5}': "requestId: expected str | null, got int",
    "[]": "message: expected an object",
    '"ping"': "message: expected an object",
    "{}": "type: required",
}


@pytest.mark.parametrize("frame", INVALID, ids=range(len(INVALID)))
def test_a_wrong_message_is_answered_with_everything_that_is_wrong_with_it(client, frame):
    client.ws.send(frame)
    error = client.hear("error")
    assert (error["code"], error["message"]) == ("VALIDATION_ERROR", f"Invalid message: {INVALID[frame]}")
    assert client.quiet() == []


def test_an_unknown_type_is_an_error_that_names_those_there_are(client):
    code, message = client.refused("fly")
    assert code == "VALIDATION_ERROR"
    assert message.startswith("Invalid message: type: unknown, expected one of prepare_run, start_run, ")


@pytest.mark.parametrize(
    "frame", ["", "nonsense", "{", b"\xff\xfe", '{"type": "ping"', "[" * 5000, b"\0"], ids=range(7)
)
def test_what_is_no_json_is_said_to_be_none_and_the_socket_stays(client, frame):
    client.ws.send(frame)
    error = client.hear("error")
    assert set(error) == {"type", "ts", "code", "message"}
    assert (error["code"], error["message"]) == ("PARSE_ERROR", "Invalid JSON")
    assert client.quiet() == []


def test_a_frame_that_is_too_long_is_refused_and_the_socket_stays(client):
    client.ws.send(json.dumps({"type": "ping", "requestId": "x" * 100_000}))
    error = client.hear("error")
    assert (error["code"], error["message"]) == ("VALIDATION_ERROR", "Invalid message: frame: longer than 65536 bytes")
    client.ws.send("x" * 3_000_000)
    assert client.hear("error")["code"] == "VALIDATION_ERROR"
    assert client.quiet() == []


def test_patterns_that_are_none_change_nothing(client, tmp_path):
    run = client.prepare(write_strategy(tmp_path, READ))["runId"]
    for fields, wrong in (
        ({"allow": [""]}, "allow[0]: expected 1 to 4096 characters"),
        ({"deny": ["ok", "x" * 5000]}, "deny[1]: expected 1 to 4096 characters"),
        (
            {"allow": ["Write(src/**)"]},
            "allow[0]: it holds another rule, `Write(src/**)`; write `src/**` alone",
        ),
        ({"tool": "fly"}, 'tool: no guard is called "fly"'),
        ({"allow": [f"a{n}" for n in range(1001)]}, "allow, deny: more than 1000 in all"),
    ):
        assert client.refused("update_policy", runId=run, mode="read", **fields) == (
            "VALIDATION_ERROR",
            f"Invalid message: {wrong}",
        )
    assert client.quiet() == []


def test_strategies_that_can_not_be_used_are_named_with_the_line_and_the_reason(client, daemon, tmp_path):
    bad = {
        "cycle": ("name: x\nsteps: &a [*a]\n", ":2: YAML anchors are not supported"),
        "tool": ("name: x\nsteps:\n- {agent: a, tool: fly, input: {}}\n", ':3: Invalid steps.0.tool "fly".'),
        "bomb": ("a: &a [x]\nb: &b [*a,*a,*a,*a]\nc: [*b,*b,*b,*b]\n", ":1: YAML anchors are not supported"),
        "deep": ("name: " + "[" * 2000, ": nested more than 32 levels deep"),
        "long": ("name: x\nsteps:\n" + READ * 1001, ": There are more than 1000 steps in this file."),
        "wide": ("name: [" + "a," * 300_000 + "]\n", ":1: the file has more than 200000 values"),
        "empty": ("", ": This file is empty."),
        "bytes": ("name: \x01\n", ":1: The character U+0001 is not allowed"),
        "profile": (f"name: x\nprofile: mine\nsteps:\n{READ}", ': no sandbox profile is called "mine"'),
    }
    for name, (text, wrong) in bad.items():
        path = tmp_path / f"{name}.yaml"
        path.write_text(text)
        code, message = client.refused("prepare_run", strategyPath=str(path), cwd=str(daemon.project))
        assert code == "PREPARE_FAILED"
        assert message.startswith(str(path)), message
        assert wrong.removeprefix(":") in message, message
    for fields, wrong in (
        ({"strategyPath": "/nope.yaml"}, "/nope.yaml: file not found"),
        ({"strategyPath": "/dev/zero"}, "/dev/zero: not a regular file"),
        ({"strategyPath": "x.yaml"}, "strategyPath must be absolute, or relative to a cwd that is given"),
        ({"strategyPath": "/x.yaml", "cwd": "here"}, "cwd must be an absolute path"),
        ({"strategyPath": "/x.yaml", "cwd": "/a\0b"}, "cwd must be an absolute path"),
        ({"runId": "new"}, "strategyPath is required when preparing a new run"),
    ):
        assert client.refused("prepare_run", **fields) == ("PREPARE_FAILED", wrong)
    good = write_strategy(tmp_path, READ, "good")
    for cwd, wrong in (
        ("/", "`/` cannot be a workspace: it contains everything else too (say a project's folder as cwd)"),
        (
            str(daemon.home),
            f"`{daemon.home}` cannot be a workspace: it contains everything else too (say a project's folder as cwd)",
        ),
        ("/nope", "there is no folder /nope"),
    ):
        assert client.refused("prepare_run", strategyPath=str(good), cwd=cwd) == ("PREPARE_FAILED", wrong)
    assert client.quiet() == []


def test_garbage_on_the_wire_hurts_nobody_else(client, daemon):
    for frame in (os.urandom(500), b"\xff\xff\xff\xff\xff", b"\x81\xfe\xff\xff" + b"\0" * 50):
        with Runner(daemon) as other:
            other.ws.socket.sendall(frame)
    assert client.quiet() == []


# Declared, never guessed


@pytest.mark.parametrize("where", ["message", "strategy"])
def test_where_nobody_can_be_asked_an_ask_is_a_deny_at_once(daemon, tmp_path, where):
    top = "interactive: false\n" if where == "strategy" else ""
    with Runner(daemon) as client:
        strategy = write_strategy(tmp_path, ASK, top=top)
        client.launch(strategy, **({"interactive": False} if where == "message" else {}))
        assert "nobody can be asked here" in client.hear("strategy_error")["error"]["message"]
        assert "request_permission" not in client.kinds()


def test_a_steps_mode_and_profile_only_tighten(client, daemon, tmp_path):
    write = "{agent: a, tool: write_file, input: {path: tight.txt, content: x}, on_error: continue"
    touch = "{agent: a, tool: run_command, input: {command: 'touch tight-too.txt'}, on_error: continue"
    steps = (
        f"- {write}, mode: plan}}\n- {touch}, profile: read-only}}\n"
        "- {agent: a, tool: write_file, input: {path: /opt/assent-test, content: x}, mode: bypass}\n"
    )
    run = client.launch(write_strategy(tmp_path, steps))
    while (asked := client.hear("request_permission"))["resource"] != "/opt/assent-test":
        client.decide(run, asked, "allow")  # the command: it may run, and its sandbox holds it
    client.decide(run, asked, "deny")  # bypass in a step loosens nothing
    client.hear("strategy_error")
    assert not (daemon.project / "tight.txt").exists()
    assert not (daemon.project / "tight-too.txt").exists()


@pytest.mark.parametrize(
    ("request_", "reply", "fields"),
    [
        ("list_mcp_servers", "mcp_server_list", {"servers": []}),
        ("list_providers", "provider_list", {"providers": []}),
        ("get_available_models", "available_models", {"models": []}),
        ("hub_list", "hub_packages", {"operation": "list", "available": [], "installed": []}),
        ("trash_list", "trash_list_result", {"workspaces": [], "totalEntries": 0, "totalBytes": 0}),
        ("trash_clear", "trash_clear_result", {"cleared": 0, "bytesFreed": 0}),
    ],
)
def test_what_this_daemon_has_none_of_is_answered_as_by_an_empty_one(client, request_, reply, fields):
    answer = client.ask(request_, reply, requestId="r", cwd="/x")
    assert {k: v for k, v in answer.items() if k not in ("type", "ts")} == {"requestId": "r", **fields}


def test_no_question_in_words_is_ever_pending(client):
    said = {"runId": "r", "questionRequestId": "q", "response": "yes"}
    assert client.refused("question_response", **said) == (
        "NO_PENDING_QUESTION",
        "No pending question request q for run r",
    )


def test_a_second_subscription_repeats_nothing(client, daemon, tmp_path):
    run = client.launch(
        write_strategy(tmp_path, f"- {{agent: a, tool: write_file, input: {{path: {tmp_path}/x, content: y}}}}")
    )
    client.hear("request_permission")
    client.send("subscribe", runId=run)
    client.ask("ping", "pong")
    assert client.kinds().count("request_permission") == 1
    with Runner(daemon) as other:
        other.send("subscribe", runId=run)
        other.hear("request_permission")


@pytest.mark.parametrize(("request_", "field"), [("steer_run", "text"), ("continue_run", "input")])
def test_a_program_that_reads_is_steered_and_everything_else_is_refused(client, tmp_path, request_, field):
    path = tmp_path / "reader.yaml"
    path.write_text("name: r\nprocess: {agent: helper, command: [sh, -c, 'echo ready; read a; echo got $a']}")
    run = client.launch(path)
    client.hear("agent_streaming", event={"type": "text", "text": "ready\n"})
    client.send(request_, runId=run, **{field: "words"})
    assert client.hear("steer_queued")["text"] == "words"
    assert client.hear("strategy_completed")["result"] == "ready\ngot words"
    refusal = ("RUN_NOT_STEERABLE", f"Cannot steer run {run}: not running")
    assert client.refused(request_, runId=run, **{field: "more"}) == refusal
    steps = client.launch(write_strategy(tmp_path, "- {agent: a, tool: run_command, input: {command: sleep 2}}"))
    refusal = ("RUN_NOT_STEERABLE", f"Cannot steer run {steps}: its program does not read input")
    assert client.refused(request_, runId=steps, **{field: "more"}) == refusal
