"""The run protocol, one promise after the other, where no other test would notice that it does not hold."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3

import pytest
import websockets
from websockets.sync.client import connect

from daemons import PATIENT, Running
from runners import Runner, write_strategy


@pytest.fixture
def client(daemon):
    with Runner(daemon) as made:
        yield made


@pytest.fixture
def other(daemon):
    with Runner(daemon) as made:
        yield made


def step(tool, on_error="continue", **given) -> str:
    fields = ", ".join(f"{name}: {value!r}" for name, value in given.items())
    return f"- {{agent: a, tool: {tool}, input: {{{fields}}}, on_error: {on_error}}}\n"


def write(path) -> str:
    return step("write_file", path=str(path), content="x")


def outcomes(client, run) -> list[str]:
    client.find("strategy_completed", runId=run)
    events = [m["event"] for m in client.heard if m["type"] == "agent_streaming" and m["runId"] == run]
    return [e["status"] for e in events if e["type"] == "tool-result"]


def asked(client, run) -> list[tuple[str, str]]:
    found = [m for m in client.heard if m["type"] == "request_permission" and m["runId"] == run]
    return [(m["toolName"], m["resource"]) for m in found]


# Requests and decisions


@pytest.mark.parametrize(
    ("tool", "given", "operation", "resource"),
    [
        ("read_file", {"path": "/etc/hostname"}, "fs.read", "/etc/hostname"),
        ("write_file", {"path": "/opt/never", "content": "x"}, "fs.write", "/opt/never"),
        ("run_command", {"command": "./said.sh"}, "fs.exec", "said.sh"),
        ("run_command", {"command": "node -e 1"}, "command.execute", "node -e 1"),
    ],
)
def test_a_question_names_its_operation_and_the_resolved_resource(
    client, daemon, tmp_path, tool, given, operation, resource
):
    script = daemon.project / "said.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    run = client.launch(write_strategy(tmp_path, step(tool, **given)))
    question = client.hear("request_permission")
    wanted = str(script) if resource == "said.sh" else resource
    assert (question["toolName"], question["operation"], question["resource"]) == (tool, operation, wanted)
    client.decide(run, question, "deny")
    assert outcomes(client, run) == ["error"]


@pytest.mark.parametrize(
    ("kind", "fields", "code"),
    [
        ("permission_decision", {"permissionRequestId": "p", "decision": "allow"}, "NO_PENDING_PERMISSION"),
        ("permission_decision", {"permissionRequestId": "p", "decision": "maybe"}, "VALIDATION_ERROR"),
        ("update_policy", {"mode": "read"}, "RUN_NOT_FOUND"),
        ("subscribe", {}, "SUBSCRIBE_ERROR"),
        ("no_such_type", {}, "VALIDATION_ERROR"),
    ],
)
def test_the_id_of_a_request_comes_back_on_its_error(client, kind, fields, code):
    client.send(kind, runId="none", requestId="mine", **fields)
    error = client.hear("error")
    assert (error["code"], error["requestId"]) == (code, "mine")


def test_every_message_says_when_it_was_sent(client, daemon, tmp_path):
    run = client.launch(write_strategy(tmp_path, write(tmp_path / "x")))
    client.send("update_policy", runId=run, mode="read", allow=["generated/**"])
    client.decide(run, client.find("request_permission", runId=run), "allow-session")
    outcomes(client, run)
    for asked_for, told in (("ping", "pong"), ("list_runs", "run_list"), ("list_strategies", "strategy_list")):
        client.ask(asked_for, told)
    client.refused("stop_run", runId="none")
    assert {"run_prepared", "request_permission", "policy_updated", "strategy_completed", "error"} <= set(
        client.kinds()
    )
    when = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
    assert [m for m in client.heard if not when.fullmatch(m["ts"])] == []


def test_a_policy_that_a_client_adds_is_told_to_everyone(client, other, tmp_path):
    run = client.prepare(write_strategy(tmp_path, write(tmp_path / "x")))["runId"]
    other.send("subscribe", runId=run)
    other.ask("ping", "pong")
    client.send("update_policy", runId=run, tool="read_file", mode="read", allow=["generated/**", "tmp/**"])
    for each in (client, other):
        assert each.hear("policy_updated")["tool"] == "read_file"


def test_an_answer_counts_for_the_run_that_asked_and_for_no_other_of_the_same_person(client, tmp_path):
    one, two = (client.launch(write_strategy(tmp_path, write(tmp_path / name), name)) for name in ("one", "two"))
    question = client.find("request_permission", runId=one)["requestId"]
    wrong = {"runId": two, "permissionRequestId": question, "decision": "allow"}
    assert client.refused("permission_decision", **wrong) == (
        "NO_PENDING_PERMISSION",
        f"No pending permission request {question} for run {two}",
    )
    assert not (tmp_path / "one").exists()
    client.send("permission_decision", **wrong | {"runId": one})
    assert outcomes(client, one) == ["completed"]
    client.send("stop_run", runId=two)
    client.hear("strategy_error", runId=two)


def test_a_session_decision_is_the_tools_own_and_is_told_to_everyone(client, other, tmp_path):
    out = tmp_path / "x"
    edit = step("edit_file", path=str(out), old="x", new="y")
    run = client.launch(write_strategy(tmp_path, write(out) + edit + write(out) + edit))
    other.send("subscribe", runId=run)
    client.decide(run, other.hear("request_permission"), "allow-session")
    assert other.hear("policy_updated")["tool"] == "write_file"
    client.decide(run, other.hear("request_permission"), "allow")
    client.decide(run, other.hear("request_permission"), "allow")
    assert outcomes(client, run) == ["completed"] * 4
    assert asked(other, run) == [("write_file", str(out)), ("edit_file", str(out)), ("edit_file", str(out))]
    again = client.launch(write_strategy(tmp_path, write(out)))  # it ended with its run
    client.decide(again, client.hear("request_permission", runId=again), "deny")
    assert outcomes(client, again) == ["error"]


def test_a_line_is_asked_about_once_and_a_session_answer_covers_all_that_it_asks(client, daemon, tmp_path):
    for name in ("a", "b"):
        (daemon.project / f"{name}.sh").write_text("echo ran\n")
    line = f"sh ./a.sh && sh ./b.sh && cat {tmp_path}/none"
    run = client.launch(write_strategy(tmp_path, step("run_command", command=line) * 2))
    question = client.hear("request_permission")
    assert (question["operation"], question["resource"]) == ("command.execute", line)
    client.decide(run, question, "allow-session")
    assert outcomes(client, run) == ["error"] * 2  # there is nothing for `cat` to read
    assert "".join(m["event"].get("text", "") for m in client.heard if m["type"] == "agent_streaming").count("ran") == 4
    assert len(asked(client, run)) == 1


NO_TOKENS = {"promptTokens": 0, "completionTokens": 0}


def test_the_request_pauses_its_tool_and_nothing_else(client, daemon, tmp_path):
    both = write(tmp_path / "asked") + step("read_file", path="plain.txt")
    (daemon.project / "plain.txt").write_text("read meanwhile")
    run = client.launch(
        write_strategy(tmp_path, f"- name: both\n  parallel:\n{'  '.join(('', *both.splitlines(keepends=True)))}")
    )
    question = client.hear("request_permission")
    done = {"type": "done", "result": {"text": "read meanwhile", "usage": NO_TOKENS, "finishReason": "stop"}}
    client.find("agent_streaming", event=done)
    assert not (tmp_path / "asked").exists()
    client.decide(run, question, "allow")
    assert outcomes(client, run).count("completed") == 2


# update_policy


def test_what_is_allowed_or_asked_about_for_reads_holds_for_reads(client, daemon, tmp_path):
    for folder in (tmp_path, daemon.project):
        (folder / "r.txt").write_text("r")
    steps = step("read_file", path=str(tmp_path / "r.txt")) + step("read_file", path="r.txt") + write("w.txt")
    run = client.prepare(write_strategy(tmp_path, steps))["runId"]
    allow = {"allow": [f"{tmp_path}/**"], "default": "ask"}
    client.send("update_policy", runId=run, tool="read_file", mode="read", **allow)
    client.send("start_run", runId=run)
    question = client.hear("request_permission")
    assert (question["toolName"], question["resource"]) == ("read_file", str(daemon.project / "r.txt"))
    client.decide(run, question, "allow")
    assert outcomes(client, run) == ["completed"] * 3
    assert len(asked(client, run)) == 1


def test_a_policy_for_reads_passes_writes_and_one_tools_policy_passes_the_others(client, daemon, tmp_path):
    (daemon.project / "p.txt").write_text("p")
    steps = write("p.txt") + step("read_file", path="p.txt") + step("list_dir", path=".")
    run = client.prepare(write_strategy(tmp_path, steps))["runId"]
    client.send("update_policy", runId=run, tool="read_file", mode="read", deny=["**"])
    client.send("start_run", runId=run)
    assert outcomes(client, run) == ["completed", "error", "completed"]


def test_an_allow_of_update_policy_is_a_persons_word_and_answers_a_soft_ask(client, tmp_path):
    strategy = write_strategy(tmp_path, write("gen/a") + write("gen/b"), top="ask: ['Write(gen/**)']\n")
    run = client.prepare(strategy)["runId"]
    client.send("update_policy", runId=run, mode="write", allow=["gen/a"])
    client.send("start_run", runId=run)
    client.decide(run, client.hear("request_permission"), "allow")
    assert outcomes(client, run) == ["completed"] * 2
    assert [resource.rpartition("/")[2] for _, resource in asked(client, run)] == ["b"]


# Runs


def test_a_run_is_pending_until_it_is_started_and_preparing_it_subscribes(client, tmp_path):
    run = client.prepare(write_strategy(tmp_path, write(tmp_path / "x")))["runId"]

    def status():
        return {r["runId"]: r["status"] for r in client.ask("list_runs", "run_list")["runs"]}[run]

    assert status() == "pending"
    client.send("start_run", runId=run)
    client.hear("request_permission", runId=run)
    assert status() == "running"
    client.send("stop_run", runId=run)
    client.hear("strategy_error", runId=run)
    assert status() == "cancelled"


def test_every_guarded_tool_does_its_work(client, daemon, tmp_path):
    steps = (
        step("write_file", path="all/f.txt", content="one two"),
        step("edit_file", path="all/f.txt", old="two", new="three"),
        step("read_file", path="all/f.txt"),
        step("list_dir", path="all"),
        step("search_files", pattern="thr.e", path="all"),
        step("run_command", command="cat f.txt", cwd="all"),
    )
    run = client.launch(write_strategy(tmp_path, "".join(steps)))
    assert outcomes(client, run) == ["completed"] * 6
    assert not asked(client, run)
    results = [m["result"]["text"] for m in client.heard if m["type"] == "step_completed"]
    path = daemon.project / "all" / "f.txt"
    assert results == [
        f"wrote 7 bytes to {path}",
        f"edited {path}, now 9 bytes",
        "one three",
        "f.txt",
        "f.txt:1: one three",
        "one three",
    ]


@pytest.mark.parametrize("size", [10, 20_000])
def test_what_a_tool_is_given_is_told_as_json_however_long_it_is(client, tmp_path, size):
    given = {"path": "long.txt", "content": 'y"' * size}
    run = client.launch(write_strategy(tmp_path, step("write_file", **given)))
    assert outcomes(client, run) == ["completed"]
    (told,) = [m["event"]["args"] for m in client.heard if m.get("event", {}).get("type") == "tool-call"]
    assert len(told) <= 8192
    shown = json.loads(told)
    assert shown["path"] == given["path"]
    assert given["content"].startswith(shown["content"].partition("…")[0])


def test_a_step_that_can_not_take_what_the_run_is_given_fails_as_any_other(client, tmp_path):
    line = step("run_command", command="echo ${input}")
    run = client.prepare(write_strategy(tmp_path, line + write("after.txt")))["runId"]
    client.send("start_run", runId=run, input="a\x1bb")
    assert outcomes(client, run) == ["error", "completed"]
    errors = [m["event"]["error"] for m in client.heard if m.get("event", {}).get("status") == "error"]
    assert errors == [
        "what the run was given cannot be put in: the command contains the invisible character U+001B; nothing was run"
    ]
    strict = client.prepare(write_strategy(tmp_path, line.replace("continue", "stop")))["runId"]
    client.send("start_run", runId=strict, input="a\x1bb")
    assert client.hear("strategy_error")["error"]["message"].startswith("step 1 run_command: what the run was given")


def test_a_run_that_two_prepare_at_once_is_one_and_both_hear_of_it(client, other, daemon, tmp_path):
    strategy = write_strategy(tmp_path, write("once.txt"))
    for number in range(10):
        wish = {"runId": f"both-{number}", "strategyPath": str(strategy), "cwd": str(daemon.project)}
        for each in (client, other):
            each.send("prepare_run", **wish)
        for each in (client, other):
            assert each.hear("run_prepared")["runId"] == wish["runId"]
        client.send("start_run", runId=wish["runId"])
        other.hear("strategy_completed", runId=wish["runId"])
    listed = [r["runId"] for r in client.ask("list_runs", "run_list")["runs"] if r["runId"].startswith("both-")]
    assert len(listed) == len(set(listed)) == 10


def test_git_uses_its_own_folder_and_nobody_else_does(client, daemon, tmp_path):
    steps = step("run_command", command="git init -q . && git status --short") + step("run_command", command="ls .git")
    run = client.launch(write_strategy(tmp_path, steps), cwd=fresh_folder(tmp_path))
    client.decide(run, client.hear("request_permission"), "allow")
    client.hear("strategy_completed")
    errors = [m["event"].get("error", "") for m in client.heard if m.get("event", {}).get("type") == "tool-result"]
    assert "is forbidden in a run" not in errors[0]
    assert "is forbidden in a run" in errors[1]


def fresh_folder(tmp_path):
    (tmp_path / "repo").mkdir()
    return tmp_path / "repo"


# The socket


def test_a_browser_speaks_it_with_its_cookie_and_its_origin(daemon):
    browser = daemon.api()
    assert browser.post("/api/login", json={"token": daemon.owner}, headers={"origin": daemon.url}).status_code == 200
    (cookie,) = browser.cookies.jar
    baked = {"Cookie": f"{cookie.name}={cookie.value}"}
    url = f"ws://127.0.0.1:{daemon.port}/ws"
    with pytest.raises(websockets.InvalidStatus) as refused:
        connect(url, additional_headers=baked, **PATIENT)
    assert refused.value.response.status_code == 403
    with connect(url, additional_headers=baked, origin=daemon.url, **PATIENT) as ws:
        ws.send('{"type": "ping"}')
        assert '"pong"' in ws.recv(timeout=60)


def test_health_and_the_end_of_a_daemon_are_told(tmp_path):
    with Running(tmp_path) as daemon, Runner(daemon) as client:
        client.ask("ping", "pong")
        health = daemon.api().get("/health").json()
        assert (health["status"], health["activeRuns"], health["connectedClients"]) == ("ok", 0, 1)
        assert isinstance(health["uptime"], int)
        daemon.stop()
        with pytest.raises(websockets.ConnectionClosed) as closed:
            client.ws.recv(timeout=60)
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1001, "Server shutting down")


def test_a_store_that_fails_is_an_internal_error_that_tells_nothing_and_the_socket_stays(tmp_path):
    with Running(tmp_path) as daemon, Runner(daemon) as client:
        client.ask("list_runs", "run_list")
        with contextlib.closing(sqlite3.connect(daemon.state / "assent.db", timeout=30)) as store, store:
            store.execute("ALTER TABLE runs RENAME TO elsewhere")
        refused = client.refused("list_runs")
        with contextlib.closing(sqlite3.connect(daemon.state / "assent.db", timeout=30)) as store, store:
            store.execute("ALTER TABLE elsewhere RENAME TO runs")
        assert refused == ("INTERNAL_ERROR", "The store cannot be used; nothing was done")
        assert client.ask("list_runs", "run_list")["runs"] == []
