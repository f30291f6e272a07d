"""Every event of a constrained action carries the three facts: decision, state and boundary."""

from __future__ import annotations

import json

import pytest

from draft import hold_to_draft
from runners import Runner, write_strategy
from serving import Listener


@pytest.fixture
def client(daemon):
    with Runner(daemon) as made:
        yield made


def timeline(daemon, run):
    evidence = daemon.api(daemon.owner).get(f"/api/runtime/evidence/{run}").json()
    events = [e for e in evidence["timeline"] if e["type"] != "evidence.changed"]
    hold_to_draft(events)
    return evidence, events


def test_a_run_with_a_stopped_command_shows_the_facts_in_every_event(client, daemon, tmp_path):
    steps = (
        "- {agent: writer, name: first, tool: write_file, input: {path: a.txt, content: x}}\n"
        "- {agent: runner, name: second, tool: run_command, input: {command: 'ls; touch /etc/never'}}"
    )
    run = client.launch(write_strategy(tmp_path, steps))
    client.decide(run, client.hear("request_permission"), "allow")
    client.hear("strategy_error")
    evidence, events = timeline(daemon, run)
    assert evidence["status"]["sandbox"] == "exported"
    assert {e["runId"] for e in events} == {run}
    failed = next(e for e in events if e["type"] == "tool.failed")
    violation = next(e for e in events if e["type"] == "sandbox.violation")
    assert failed["payload"]["cause"]["type"] == "sandbox.violation"
    assert failed["payload"]["cause"]["ref"] == violation["eventId"]
    assert failed["sandboxProfile"]["violation_refs"] == failed["refs"]["violations"] == [violation["eventId"]]
    assert evidence["refs"][violation["eventId"]]["kind"] == "event"
    assert failed["permissionDecision"]["decision"] == "sandboxed"
    steps = {(e["stepId"], e["turnId"] == e["toolCallId"]) for e in events if e.get("toolCallId")}
    assert steps == {("first", True), ("second", True)}


def test_a_reader_that_comes_in_the_middle_gets_the_same_events(client, daemon, tmp_path):
    run = client.launch(write_strategy(tmp_path, "- {agent: r, tool: run_command, input: {command: ls}}"))
    client.hear("strategy_completed")
    _, events = timeline(daemon, run)
    whole = Listener(daemon.api(daemon.owner), f"/api/runtime/events?sessionId={run}")
    whole.wait_for(lambda _: len(whole.events) >= len(events))
    assert whole.events[: len(events)] == events
    for place in range(len(events) - 1):
        late = Listener(daemon.api(daemon.owner), f"/api/runtime/events?sessionId={run}", after=whole.ids[place])
        late.wait_for(lambda e, last=events[-1]: e["eventId"] == last["eventId"])
        late.stop()
        assert late.events[: len(events) - place - 1] == events[place + 1 :]


def test_a_boundary_that_cannot_be_set_up_is_on_record_as_unavailable_before_anything_else(client, daemon, tmp_path):
    steps = "- {agent: r, tool: run_command, input: {command: ls, cwd: nowhere}}"
    run = client.launch(write_strategy(tmp_path, steps))
    client.hear("strategy_error")
    evidence, events = timeline(daemon, run)
    kinds = [e["type"] for e in events if not e["type"].startswith("run.")]
    assert kinds == ["permission.evaluated", "permission.evaluated", "tool.failed"]
    decided = [e["permissionDecision"] for e in events if e["type"] == "permission.evaluated"]
    assert [d["decision"] for d in decided] == ["sandboxed", "unavailable"]
    assert decided[1]["decision_source"] == "sandbox"
    assert evidence["status"]["sandbox"] != "not_applicable"
    failed = next(e for e in events if e["type"] == "tool.failed")
    assert failed["permissionDecision"]["decision"] == "unavailable"
    assert failed["sandboxProfile"]["applied"] is False


def test_the_program_of_a_process_run_shows_the_facts_in_every_event(client, daemon, tmp_path):
    path = tmp_path / "process.yaml"
    command = ["sh", "-c", "echo out; touch /etc/never"]
    path.write_text(json.dumps({"name": "p", "process": {"agent": "helper", "command": command}}))
    run = client.launch(path)
    client.hear("strategy_error")
    evidence, events = timeline(daemon, run)
    kinds = {e["type"] for e in events}
    assert {
        "permission.evaluated",
        "sandbox.applied",
        "process.started",
        "process.failed",
        "sandbox.violation",
    } <= kinds
    assert {e["runId"] for e in events} == {run}
    process = next(e for e in events if e["type"] == "process.failed")
    assert process["sandboxProfile"]["violation_refs"]
    assert evidence["status"]["process"] == evidence["status"]["sandbox"] == "exported"


@pytest.mark.parametrize("answer", ["allow", "deny", "allow-session", "deny-session"])
def test_a_question_of_a_run_and_its_answer_show_the_facts(client, daemon, tmp_path, answer):
    target = tmp_path / "x.txt"
    step = f"- {{agent: a, name: only, tool: write_file, input: {{path: {target}, content: x}}}}"
    run = client.launch(write_strategy(tmp_path, step))
    client.decide(run, client.hear("request_permission"), answer)
    client.hear("strategy_completed" if answer.startswith("allow") else "strategy_error")
    _, events = timeline(daemon, run)
    told = [e for e in events if e["type"].startswith(("permission.", "action.", "tool."))]
    assert {(e["runId"], e["stepId"], e["turnId"] == e["toolCallId"]) for e in told} == {(run, "only", True)}
    resolved = next(e for e in events if e["type"] == "action.resolved")
    assert resolved["payload"]["decision"] == answer.partition("-")[0]
