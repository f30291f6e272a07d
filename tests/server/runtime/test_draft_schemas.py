"""Every event of a session, whatever happens in it and in every mode, is held to schemas written from the draft."""

from __future__ import annotations

import itertools
from collections import defaultdict

import jsonschema
import pytest

from daemons import Running, until
from draft import EVENT, hold_to_draft
from serving import Listener

MODES = ("default", "untrusted", "acceptEdits", "auto", "on_failure", "plan", "strict", "dontAsk", "bypassPermissions")
CALLS = ("ls", "node build.js", "rm -rf /", "rm -rf build", "cat .env", "curl https://x.test")
OFF = {"name": "off", "mode": "off"}
_numbers = itertools.count()


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    with Running(tmp_path_factory.mktemp("draft"), "--rate", "0") as running:
        yield running


@pytest.fixture(scope="module")
def agent(daemon):
    return daemon.api(daemon.mint("agent", agent="coder"))


@pytest.fixture(scope="module")
def owner(daemon):
    return daemon.api(daemon.owner)


@pytest.fixture
def session():
    return f"draft-{next(_numbers)}"


def evaluate(daemon, agent, session, command, **more):
    body = {"toolName": "bash", "toolInput": {"command": command}, "cwd": str(daemon.project), "sessionId": session}
    answer = agent.post("/api/runtime/evaluate_permission", json={**body, "toolCallId": f"{command} {session}", **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def respond(owner, found, decision, **payload):
    body = {"actionId": found["actionId"], "decision": decision, "payload": payload}
    answer = owner.post("/api/runtime/respond_action", json=body)
    assert answer.status_code == 200, answer.text


def report(agent, session, command, kind, **more):
    event = {"type": kind, "toolName": "bash", "toolCallId": f"{command} {session}", **more}
    answer = agent.post("/api/runtime/report_events", json={"sessionId": session, "events": [event]})
    assert answer.status_code == 200, answer.text


def timeline(owner, session):
    evidence = owner.get(f"/api/runtime/evidence/{session}").json()
    events = evidence["timeline"]
    hold_to_draft(events)
    follow_refs(owner, evidence)
    return evidence, events


def follow_refs(owner, evidence):
    for event in evidence["timeline"]:
        for ref in itertools.chain.from_iterable(
            value if isinstance(value, list) else [value] for value in event.get("refs", {}).values()
        ):
            assert evidence["refs"][ref] is not None, ref
            assert owner.get(f"/api/refs/{ref}").status_code == 200, ref


def play(daemon, agent, owner, session):
    """A session in which all happens that can: safe, denied, asked, changed, withdrawn, run, failed."""
    evaluate(daemon, agent, session, "ls", runsIn=OFF)
    report(agent, session, "ls", "tool.result", status="completed")
    evaluate(daemon, agent, session, "rm -rf /")
    once = evaluate(daemon, agent, session, "node once.js")
    respond(owner, once, "allow")
    evaluate(daemon, agent, session, "node once.js", runsIn=OFF)
    report(agent, session, "node once.js", "tool.failed", error="it ended with 1")
    respond(owner, evaluate(daemon, agent, session, "node never.js"), "deny", feedback="use make")
    evaluate(daemon, agent, session, "node never.js")
    respond(owner, evaluate(daemon, agent, session, "node a.js"), "allow", modifiedInput="node b.js")
    evaluate(daemon, agent, session, "node a.js")
    respond(owner, evaluate(daemon, agent, session, "node c.js"), "allow", scope="session")
    evaluate(daemon, agent, session, "node quiet.js", interactive=False)
    opinion = {"decision": "deny", "reason": "not on a Friday"}
    denied = evaluate(daemon, agent, session, "pwd", hostOpinion=opinion)["permissionDecision"]
    assert (denied["decision"], denied["decision_source"]) == ("deny", "host_policy")
    evaluate(daemon, agent, session, "node open.js")


def test_all_events_of_a_whole_session_are_as_the_draft_has_them(daemon, agent, owner, session):
    play(daemon, agent, owner, session)
    _, events = timeline(owner, session)
    assert {
        "permission.evaluated", "permission.requested", "permission.resolved", "action.required", "action.resolved",
        "sandbox.applied", "tool.started", "tool.args", "tool.result", "tool.failed", "policy.changed",
    } <= {e["type"] for e in events}  # fmt: skip


def test_an_event_has_one_number_in_every_view(daemon, agent, owner, session):
    play(daemon, agent, owner, session)
    person = daemon.api(daemon.mint("user"))
    _, events = timeline(owner, session)
    numbers = {e["eventId"]: e["sequence"] for e in events}
    last = events[-1]["eventId"]
    whole = Listener(person, f"/api/runtime/events?sessionId={session}")
    whole.wait_for(lambda e: e["eventId"] == last)
    views = [
        Listener(owner, f"/api/runtime/events?sessionId={session}"),
        Listener(owner, "/api/runtime/events"),
        Listener(person, "/api/runtime/events"),
        Listener(person, f"/api/runtime/events?sessionId={session}", after=whole.ids[len(whole.ids) // 2]),
    ]
    only = Listener(person, f"/api/runtime/events?sessionId={session}&type=permission.*")
    for view in views:
        view.wait_for(lambda e: e["eventId"] == last)
    wanted = [e["eventId"] for e in events if e["type"].startswith("permission.")]
    only.wait_for(lambda e: e["eventId"] == wanted[-1])
    for view in (whole, *views, only):
        view.stop()
        told = [e for e in view.events if e["sessionId"] == session and e["type"] != "evidence.changed"]
        seen = {e["eventId"]: e["sequence"] for e in told}
        assert seen
        assert {name: numbers.get(name) for name in seen} == seen
    assert [e["eventId"] for e in only.events] == wanted


def test_who_sees_everything_counts_each_session_without_gaps_also_those_of_the_runtime_itself(daemon, agent, owner):
    for user in ("alice", "bob", "alice"):
        daemon.mint("user", user=user)
    last = evaluate(daemon, agent, "after", "ls")["position"]
    view = Listener(owner, "/api/runtime/events")
    view.wait_for(lambda _: view.ids[-1] == str(last))
    view.stop()
    numbers = defaultdict(list)
    for event in view.events:
        numbers[event["sessionId"]].append(event["sequence"])
    assert {"runtime", "runtime:alice", "runtime:bob"} <= set(numbers)
    assert {name: found for name, found in numbers.items() if found != list(range(len(found)))} == {}


def test_a_question_that_timed_out_is_resolved_and_shows_its_facts(tmp_path):
    with Running(tmp_path / "d", "--expiry", "1s") as daemon:
        agent, owner = daemon.api(daemon.mint("agent", agent="coder")), daemon.api(daemon.owner)
        evaluate(daemon, agent, "s", "node late.js")
        until(lambda: "action.resolved" in {e["type"] for e in timeline(owner, "s")[1]})
        resolved = next(e for e in timeline(owner, "s")[1] if e["type"] == "permission.resolved")
        assert resolved["payload"]["state"] == "expired"
        assert evaluate(daemon, agent, "s", "node late.js")["permissionDecision"]["decision"] != "allow"


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_keeps_the_facts(daemon, agent, owner, session, mode):
    daemon.user_file.write_text(f"permissions:\n  mode: {mode}\n")
    until(lambda: evaluate(daemon, agent, f"before {session}", "ls")["permissionState"]["mode"] == mode)
    for command in CALLS:
        evaluate(daemon, agent, session, command, runsIn=OFF)
    _, events = timeline(owner, session)
    decided = [e for e in events if e["type"] == "permission.evaluated"]
    assert len(decided) == len(CALLS)
    assert {e["permissionState"]["mode"] for e in decided} == {mode}
    destructive = decided[2]["permissionDecision"]
    assert (destructive["destructive"], destructive["decision"] in ("deny", "ask")) == (True, True)
    assert destructive["impact_scope"]
    assert destructive["rollback_advice"]
    asked = [e for e in events if e["type"] == "permission.requested"]
    assert not asked or mode not in ("dontAsk", "strict")


@pytest.mark.parametrize(
    "missing", ["decision_source", "rule_refs", "scope", "violation_refs", "network", "interactive", "rules"]
)
def test_the_schemas_find_what_is_missing(daemon, agent, owner, session, missing):
    evaluate(daemon, agent, session, "ls", runsIn=OFF)
    _, events = timeline(owner, session)
    for name in ("permissionDecision", "sandboxProfile", "permissionState"):
        events[0][name].pop(missing, None)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(EVENT).validate(events[0])
