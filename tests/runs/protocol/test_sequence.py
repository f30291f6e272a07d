"""The run protocol from end to end, over a real socket, with a client that shares no code with Assent."""

from __future__ import annotations

import contextlib
import json
import socket
import sqlite3
from pathlib import Path

import pytest

from daemons import Running, until
from runners import Runner, write_strategy

OUTSIDE = """
- {agent: writer, tool: write_file, input: {path: %s/out.txt, content: hello}}
- {agent: writer, tool: write_file, input: {path: %s/out.txt, content: again}}
"""


def test_a_session_decision_unblocks_the_tool_and_is_told_in_order(daemon, tmp_path):
    strategy = write_strategy(tmp_path, OUTSIDE % (tmp_path, tmp_path))
    with Runner(daemon) as client:
        run = client.launch(strategy)
        question = client.hear("request_permission")
        client.decide(run, question, "allow-session")
        client.hear("strategy_completed")
    assert question == {
        "type": "request_permission",
        "runId": run,
        "requestId": question["requestId"],
        "agentName": "writer",
        "toolName": "write_file",
        "toolCallId": question["toolCallId"],
        "operation": "fs.write",
        "resource": str(tmp_path / "out.txt"),
        "reason": "policy-ask",
        "details": question["details"],
        "expiresAt": question["expiresAt"],
        "ts": question["ts"],
    }
    assert question["details"]["content"] == "hello"
    assert question["details"]["tier"] == "safe"
    told = [k for k in client.kinds() if k != "agent_streaming"]
    assert told == [
        "run_prepared",
        "strategy_started",
        "step_started",
        "request_permission",
        "policy_updated",
        "step_completed",
        "agent_output",
        "step_started",
        "step_completed",
        "agent_output",
        "strategy_completed",
    ]
    assert (tmp_path / "out.txt").read_text() == "again"


def write(path, content="x", **more) -> str:
    extra = "".join(f", {k}: {v}" for k, v in more.items())
    return f"- {{agent: writer, tool: write_file, input: {{path: {path}, content: '{content}'}}{extra}}}\n"


def test_what_is_swapped_for_a_link_while_it_is_asked_about_is_not_written(daemon, tmp_path):
    asked, other = tmp_path / "asked", tmp_path / "other"
    for folder in (asked, other):
        folder.mkdir()
    with Runner(daemon) as client:
        run = client.launch(write_strategy(tmp_path, write(asked / "f")))
        question = client.hear("request_permission", resource=str(asked / "f"))
        asked.rmdir()
        asked.symlink_to(other)
        client.decide(run, question, "allow")
        again = client.hear("request_permission", resource=str(other / "f"))
        client.decide(run, again, "deny")
        message = client.hear("strategy_error")["error"]["message"]
    assert again["requestId"] != question["requestId"]
    assert again["details"]["why"].startswith("since the last approval, a path in it leads elsewhere; ")
    assert message == f"step 1 write_file: denied: refused by {daemon.user}"
    assert client.kinds().count("request_permission") == 2
    assert not list(other.iterdir())


def test_a_link_that_is_pointed_elsewhere_while_it_is_asked_about_leads_nowhere_new(daemon, tmp_path):
    for name in ("first", "second"):
        (tmp_path / name).write_text(name)
    link = daemon.project / "moving"
    link.symlink_to(tmp_path / "first")
    with Runner(daemon) as client:
        run = client.launch(write_strategy(tmp_path, "- {agent: a, tool: read_file, input: {path: moving}}"))
        question = client.hear("request_permission", resource=str(tmp_path / "first"))
        link.unlink()
        link.symlink_to(tmp_path / "second")
        client.decide(run, question, "allow")
        again = client.hear("request_permission", resource=str(tmp_path / "second"))
        client.decide(run, again, "deny")
        message = client.hear("strategy_error")["error"]["message"]
    assert again["requestId"] != question["requestId"]
    assert again["details"]["why"].startswith("since the last approval, a path in it leads elsewhere; ")
    assert message == f"step 1 read_file: denied: refused by {daemon.user}"
    assert client.kinds().count("request_permission") == 2


def test_a_client_may_go_and_come_back_in_the_middle_of_a_question(daemon, tmp_path):
    with Runner(daemon) as client:
        run = client.launch(write_strategy(tmp_path, write(tmp_path / "a")))
        question = client.hear("request_permission")
    with Runner(daemon) as client:
        introduced = client.ask("prepare_run", "run_prepared", runId=run, requestId="again")
        assert introduced["requestId"] == "again"
        kinds = [record["type"] for record in introduced["conversation"]["messages"]]
        assert kinds == ["strategy_started", "step_started", "agent_streaming", "request_permission"]
        assert client.hear("request_permission") == question
        client.decide(run, question, "allow")
        client.hear("strategy_completed")
    assert (tmp_path / "a").read_text() == "x"


def test_two_clients_answer_at_once_and_one_of_them_wins(daemon, tmp_path):
    with Runner(daemon) as one, Runner(daemon) as two:
        run = one.launch(write_strategy(tmp_path, write(tmp_path / "a", on_error="continue")))
        question = one.hear("request_permission")
        two.send("subscribe", runId=run)
        two.hear("request_permission")
        one.decide(run, question, "allow")
        two.decide(run, question, "deny")
        outcomes = {}
        for name, client in (("one", one), ("two", two)):
            while (message := _next(client))["type"] not in ("error", "permission_resolved", "strategy_completed"):
                continue
            outcomes[name] = message
    kinds = {name: m["type"] for name, m in outcomes.items()}
    loser = next(name for name, kind in kinds.items() if kind in ("error", "permission_resolved"))
    winner = "two" if loser == "one" else "one"
    if outcomes[loser]["type"] == "error":
        assert outcomes[loser]["code"] == "NO_PENDING_PERMISSION"
    assert kinds[winner] == "strategy_completed"
    assert (tmp_path / "a").exists() == (winner == "one")


def _next(client):
    message = json.loads(client.ws.recv(timeout=60))
    client.heard.append(message)
    return message


def test_a_client_that_never_reads_is_cut_off_and_holds_up_nobody(tmp_path):
    line = "yes 0123456789012345678901234567890123456789 | head -c 1000000"
    with Running(tmp_path / "d", "--queue", "40") as daemon:
        strategy = write_strategy(tmp_path, f"- {{agent: a, tool: run_command, input: {{command: '{line}'}}}}\n" * 16)
        with Runner(daemon) as client, socket.create_connection(("127.0.0.1", daemon.port)) as deaf:
            run = client.prepare(strategy)["runId"]
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.sendall(_handshake(daemon))
            assert b" 101 " in deaf.recv(4096)
            deaf.sendall(_frame({"type": "subscribe", "runId": run}))
            until(lambda: daemon.api().get("/health").json()["connectedClients"] == 2)
            client.send("start_run", runId=run)
            client.hear("strategy_completed", seconds=120)
            until(lambda: daemon.api().get("/health").json()["connectedClients"] == 1)


def _handshake(daemon) -> bytes:
    return (
        f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
        f"Authorization: Bearer {daemon.owner}\r\n\r\n"
    ).encode()


def _frame(message) -> bytes:
    data = json.dumps(message).encode()
    assert len(data) < 126
    return bytes([0x81, 0x80 | len(data), 0, 0, 0, 0]) + data


def test_a_run_that_is_stopped_while_it_asks_withdraws_its_question(daemon, tmp_path):
    with Runner(daemon) as client:
        run = client.launch(write_strategy(tmp_path, write(tmp_path / "a")))
        question = client.hear("request_permission")
        client.send("stop_run", runId=run)
        told = client.hear("permission_resolved")
        assert (told["requestId"], told["decision"]) == (question["requestId"], "cancelled")
        error = client.hear("strategy_error", runId=run)["error"]
        assert error == {"code": "CANCELLED", "message": "Run cancelled by client"}
        listed = client.ask("list_runs", "run_list")["runs"]
        assert next(r for r in listed if r["runId"] == run)["status"] == "cancelled"
    state = daemon.api(daemon.owner).get(f"/api/permissions/{question['requestId']}").json()
    assert state["status"] == "cancelled"
    assert not (tmp_path / "a").exists()


def test_a_command_that_is_stopped_is_gone_with_all_it_started(daemon, tmp_path):
    line = "sleep 987.125 & sleep 987.125"
    with Runner(daemon) as client:
        run = client.launch(
            write_strategy(tmp_path, f"- {{agent: a, tool: run_command, input: {{command: '{line}'}}}}")
        )
        until(lambda: _running("987.125") == 2)
        client.send("stop_run", runId=run)
        client.hear("strategy_error")
    assert _running("987.125") == 0


def _running(word: str) -> int:
    found = 0
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found += file.read_bytes().split(b"\0")[:2] == [b"sleep", word.encode()]
    return found


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_a_run_that_was_active_when_the_daemon_ended_is_reported_as_failed(fresh, tmp_path, end):
    reason = "the daemon was restarted while it ran" if end == "kill" else "the daemon was stopped while it ran"
    with fresh.start():
        with Runner(fresh) as client:
            run = client.launch(write_strategy(tmp_path, write(tmp_path / "a")))
            waiting = client.prepare(write_strategy(tmp_path, write("b"), "idle"))["runId"]
            if "request_permission" not in client.kinds():
                client.hear("request_permission")
            question = next(m for m in client.heard if m["type"] == "request_permission")
            getattr(fresh, end)()
        fresh.start()
        with Runner(fresh) as client:
            listed = {r["runId"]: r for r in client.ask("list_runs", "run_list")["runs"]}
            assert (listed[run]["status"], listed[run]["error"]) == ("error", reason)
            assert (listed[waiting]["status"], listed[waiting]["error"]) == ("error", reason)
            client.send("subscribe", runId=run)
            assert [m["error"]["message"] for m in client.quiet()] == [reason]
            past = client.ask("prepare_run", "run_prepared", runId=run)
            assert (past["strategyName"], past["agents"]) == ("test", ["writer"])
            told = past["conversation"]["messages"]
            assert [m["type"] for m in told] == ["step_started", "permission_resolved", "strategy_error"]
            assert (told[1]["requestId"], told[1]["decision"]) == (question["requestId"], "cancelled")
            assert (
                client.refused(
                    "permission_decision", runId=run, permissionRequestId=question["requestId"], decision="allow"
                )[0]
                == "NO_PENDING_PERMISSION"
            )
            assert client.refused("prepare_run", runId=run, strategyPath="/x.yaml") == (
                "PREPARE_FAILED",
                f"Run already exists: {run}",
            )
        owner = fresh.api(fresh.owner)
        assert owner.get(f"/api/permissions/{question['requestId']}").json()["status"] == "cancelled"
        events = [e["type"] for e in owner.get(f"/api/audit?session={run}&limit=100").json()["events"]]
        assert events[0] == "run.status"
        assert {"permission.evaluated", "permission.requested", "permission.resolved"} <= set(events)
        assert not (tmp_path / "a").exists()
    assert fresh.run("audit", "verify").returncode == 0


def test_the_log_has_a_run_from_its_beginning_to_its_end_in_order(daemon, tmp_path):
    steps = "- {agent: a, tool: write_file, input: {path: log.txt, content: x}}\n"
    steps += "- {agent: a, tool: run_command, input: {command: cat log.txt}}\n"
    with Runner(daemon) as client:
        run = client.launch(write_strategy(tmp_path, steps))
        assert client.hear("strategy_completed")["result"] == "x"
    events = daemon.api(daemon.owner).get(f"/api/audit?session={run}&limit=100").json()["events"][::-1]
    assert [e["type"] for e in events] == [
        "run.status",
        "run.status",
        *("run.status", "permission.evaluated", "tool.started", "tool.result"),
        *("run.status", "permission.evaluated", "sandbox.applied", "tool.started", "process.started"),
        *("process.output", "process.completed", "tool.result"),
        "run.status",
    ]
    bodies = [event["body"] for event in events]
    assert [e["payload"]["status"] for e in bodies if e["type"] == "run.status"][-1] == "completed"
    for event in bodies:
        if event["type"].startswith("tool."):
            assert event["stepId"]
            assert event["toolCallId"]
            assert event["runId"] == run
    applied = next(e for e in bodies if e["type"] == "sandbox.applied")
    assert {"bubblewrap", "landlock", "seccomp"} <= {m["name"] for m in applied["sandboxProfile"]["mechanisms"]}


def test_nothing_begins_in_a_run_that_was_ended_behind_its_daemons_back(daemon, tmp_path):
    steps = f"- {{agent: a, tool: write_file, input: {{path: {tmp_path}/asked, content: x}}, on_error: continue}}\n"
    strategy = write_strategy(tmp_path, steps + "- {agent: a, tool: list_dir, input: {path: .}}")
    with Runner(daemon) as client:
        run = client.launch(strategy)
        question = client.hear("request_permission")
        ready = client.prepare(strategy)["runId"]
        with contextlib.closing(sqlite3.connect(daemon.state / "assent.db", timeout=30)) as store, store:
            ended = "UPDATE runs SET status = 'error', ended_at = 1, reason = 'ended elsewhere' WHERE id IN (?, ?)"
            store.execute(ended, (run, ready))
        client.decide(run, question, "allow")
        assert client.hear("strategy_error", runId=run)["error"]["message"] == "ended elsewhere"
        assert client.refused("start_run", runId=ready) == ("START_FAILED", f"Prepared run not found: {ready}")
        (listed,) = [r for r in client.ask("list_runs", "run_list")["runs"] if r["runId"] == run]
        assert (listed["status"], listed["error"]) == ("error", "ended elsewhere")
    events = daemon.api(daemon.owner).get(f"/api/audit?session={run}&limit=100").json()["events"]
    assert "tool.started" not in [event["type"] for event in events]
    assert not (tmp_path / "asked").exists()
