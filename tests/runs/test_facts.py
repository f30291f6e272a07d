"""Every event of a constrained action carries the three facts: decision, state and boundary."""

from __future__ import annotations

import jsonschema
import pytest

from runners import Runner, write_strategy
from serving import Listener

#: Written from the draft's tables: what an event is, and which facts it has about a constrained action.
TEXT = {"type": "string", "minLength": 1}
DECISION = {
    "type": "object",
    "required": [
        "decision", "decision_source", "decision_reason", "rule_refs", "updated_input_ref", "approval_action_id",
        "expires_at", "scope", "destructive", "impact_scope", "rollback_advice",
    ],
    "properties": {"decision": {"enum": ["allow", "deny", "ask", "unavailable", "sandboxed"]}, "decision_source": TEXT},
}  # fmt: skip
PROFILE = {
    "type": "object",
    "required": [
        "mode", "cwd", "read_roots", "write_roots", "network", "environment_ref", "process_limits", "violation_refs",
    ],
    "properties": {"violation_refs": {"type": "array", "items": TEXT}},
}  # fmt: skip
STATE = {"type": "object", "required": ["mode", "policy_sources", "interactive"]}
EVENT = {
    "type": "object",
    "required": ["type", "eventId", "timestamp", "sessionId", "sequence", "payload"],
    "properties": {
        "type": TEXT,
        "eventId": TEXT,
        "timestamp": {"type": "string", "format": "date-time"},
        "sequence": {"type": "integer", "minimum": 0},
        "payload": {"type": "object"},
        "refs": {"type": "object"},
        "permissionDecision": DECISION,
        "sandboxProfile": PROFILE,
        "permissionState": STATE,
    },
}
CONSTRAINED = ("permission.", "sandbox.", "tool.", "process.", "action.")


def hold_to_draft(events):
    for event in events:
        jsonschema.validate(event, EVENT)
        if event["type"].startswith(CONSTRAINED):
            assert {"permissionDecision", "permissionState", "sandboxProfile"} <= set(event), event
    assert [e["sequence"] for e in events] == list(range(len(events)))


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
