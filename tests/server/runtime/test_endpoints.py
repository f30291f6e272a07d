"""The runtime's facts and events: told in order, once each, with rule and sandbox facts, and never guessed."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shutil
import sqlite3
import tempfile
import threading
import urllib.parse
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import msgspec
import pytest

from assent.wire.runtime_events import Envelope
from daemons import Running
from serving import Listener

ASKED = {"toolName": "bash", "toolInput": {"command": "node build.js"}}
SAFE = {"toolName": "bash", "toolInput": {"command": "ls"}}
BAD = {"toolName": "bash", "toolInput": {"command": "rm -rf /"}}
_numbers = itertools.count()


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    with Running(tmp_path_factory.mktemp("runtime"), "--rate", "0") as running:
        running.user_file.write_text(
            "permissions:\n  ask:\n    - Bash(npm publish:*)\n  deny:\n    - Bash(terraform destroy:*)\n"
        )
        yield running


@pytest.fixture(scope="module")
def agent(daemon):
    return daemon.api(daemon.mint("agent", agent="coder", remote=True))


@pytest.fixture(scope="module")
def mute(daemon):
    return daemon.api(daemon.mint("agent", agent="batch", remote=True, interactive=False))


@pytest.fixture(scope="module")
def person(daemon):
    return daemon.api(daemon.mint("user"))


@pytest.fixture
def session():
    return f"session-{next(_numbers)}"


def evaluate(client, body, session, wait=None, **more):
    params = {} if wait is None else {"wait": wait}
    return client.post(
        "/api/runtime/evaluate_permission", json={**body, "sessionId": session, **more}, params=params
    ).json()


def respond(client, action, decision="allow", **payload):
    body = {"actionId": action, "decision": decision, "payload": payload}
    return client.post("/api/runtime/respond_action", json=body)


def events_of(client, session, count, **more):
    heard = Listener(client, f"/api/runtime/events?sessionId={session}", **more)
    heard.wait_for(lambda _: len(heard.events) >= count)
    heard.stop()
    return heard


def run_one(agent, person, session, call_id="c1"):
    """Ask, answer, ask again: everything that a question leaves behind."""
    first = evaluate(agent, ASKED, session, toolCallId=call_id)
    assert respond(person, first["actionId"]).status_code == 200
    return first, evaluate(agent, ASKED, session, toolCallId=call_id)


def test_an_evaluation_shows_the_three_facts(agent, session):
    facts = evaluate(agent, SAFE, session)
    assert facts["permissionDecision"]["decision"] == "allow"
    assert facts["permissionState"]["mode"] == "default"
    assert facts["sandboxProfile"]["mode"] == "unknown"
    assert facts["position"] > 0
    assert "actionId" not in facts


def test_a_destructive_action_carries_its_facts(agent, session):
    decision = evaluate(agent, BAD, session)["permissionDecision"]
    assert decision["decision"] == "deny"
    assert decision["decision_source"] == "classifier"
    assert decision["destructive"] is True
    assert "/" in decision["impact_scope"]
    assert decision["rollback_advice"]


def test_an_action_is_resolved_by_a_person_and_then_the_call_may_run_once(agent, person, session):
    first, second = run_one(agent, person, session)
    assert first["permissionDecision"]["decision"] == "ask"
    assert second["permissionDecision"]["decision"] == "allow"
    assert second["permissionDecision"]["decision_source"] == "person"
    third = evaluate(agent, ASKED, session, toolCallId="c2")
    assert third["permissionDecision"]["decision"] == "ask"
    assert respond(person, third["actionId"], "deny", feedback="use make").status_code == 200
    refused = evaluate(agent, ASKED, session, toolCallId="c2")
    assert refused["permissionDecision"]["decision"] == "deny"
    assert refused["feedback"] == "use make"


def test_the_events_of_a_question_come_in_their_order_with_the_facts_behind_it(agent, person, session):
    run_one(agent, person, session)
    heard = events_of(person, session, 6)
    assert heard.types == [
        "permission.evaluated", "permission.requested", "action.required", "permission.resolved", "action.resolved",
        "permission.evaluated",
    ]  # fmt: skip
    assert [e["sequence"] for e in heard.events] == list(range(6))
    required = heard.events[2]
    assert required["payload"]["actionType"] == "tool_permission"
    assert required["payload"]["decisionKind"] == "allow_or_deny"
    assert required["payload"]["availableDecisions"] == ["allow", "deny"]
    assert required["payload"]["timeout"].endswith("Z")
    assert heard.events[4]["payload"]["decision"] == "allow"


def test_a_command_is_on_record_before_it_runs(agent, person, session):
    evaluate(agent, {"toolName": "bash", "toolInput": {"command": "cat a.txt && curl https://x.test"}}, session)
    command = events_of(person, session, 1).events[0]["payload"]["command"]
    assert [c.split()[0] for c in command["subcommands"]] == ["cat", "curl"]
    assert command["network"]["hosts"] == ["x.test"]
    assert command["cwd"] == "unknown"
    assert command["destructive"] is False
    assert {"summary", "decision", "profile", "paths"} <= set(command)


STRICT = {
    "tool": ("stepId", "toolCallId"),
    "action": ("actionId",),
    "permission": ("threadId", "turnId"),
    "sandbox": ("threadId", "turnId"),
    "hook": ("threadId", "turnId"),
}
ALWAYS = (
    "type", "eventId", "timestamp", "schemaVersion", "runtimeId", "sessionId", "threadId", "turnId", "sequence",
    "payload",
)  # fmt: skip


def hold_to_envelope(events):
    schema = msgspec.json.schema(Envelope)
    for event in events:
        jsonschema.validate(event, schema)
        assert all(event.get(name) not in (None, "") for name in ALWAYS), event
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event["timestamp"])
        for name in STRICT.get(event["type"].partition(".")[0], ()):
            assert event.get(name), (name, event)
        if event["type"].partition(".")[0] in ("permission", "action"):
            # No dialog result without the rule and sandbox facts behind it.
            assert {"decision_source", "rule_refs", "destructive", "policy_sources"} <= set(event["permissionDecision"])
            assert "mode" in event["sandboxProfile"]
            assert "interactive" in event["permissionState"]


def test_every_event_of_a_run_fits_the_envelope_and_the_stricter_profile(agent, person, session):
    run_one(agent, person, session)
    evaluate(agent, SAFE, session)
    evaluate(agent, BAD, session)
    first = evaluate(agent, ASKED, session, toolCallId="c9")
    assert respond(person, first["actionId"], scope="session").status_code == 200
    heard = events_of(person, session, 14)
    hold_to_envelope(heard.events)
    assert "policy.changed" in heard.types  # the standing answer


def test_a_reader_that_comes_back_a_hundred_times_while_things_happen_sees_each_event_once(agent, person, session):
    calls, per_call = 18, 6

    def write():
        for number in range(calls):
            run_one(agent, person, session, f"c{number}")

    writing = threading.Thread(target=write)
    writing.start()
    seen, last = [], None
    for coming in range(100):
        heard = events_of(person, session, 1 if coming < 99 else calls * per_call - len(seen), after=last)
        # Whoever reads may be cut off after any event.
        taken = 1 if coming < 99 else len(heard.ids)
        seen += zip(heard.ids[:taken], (e["eventId"] for e in heard.events[:taken]), strict=True)
        last = seen[-1][0]
    writing.join()
    everything = events_of(person, session, calls * per_call)
    assert [event for _, event in seen] == [e["eventId"] for e in everything.events]
    assert len(set(seen)) == calls * per_call
    assert [e["sequence"] for e in everything.events] == list(range(calls * per_call))


def test_a_reader_that_goes_between_an_event_and_its_twin_gets_the_twin(agent, person, session):
    run_one(agent, person, session)
    heard = events_of(person, session, 6)
    assert heard.ids[1].endswith(".0")
    again = events_of(person, session, 4, after=heard.ids[1])
    assert again.types == heard.types[2:]


def test_what_is_written_while_somebody_reads_is_read_at_once(agent, person, session):
    evaluate(agent, SAFE, session)
    heard = Listener(person, f"/api/runtime/events?sessionId={session}&type=action.*,sandbox.applied")
    first = evaluate(agent, ASKED, session)
    assert heard.wait_for("action.required")["actionId"] == first["actionId"]
    respond(person, first["actionId"])
    assert heard.wait_for("action.resolved")["sequence"] == 5
    assert heard.types == ["action.required", "action.resolved"]


def test_a_reader_sees_only_what_is_theirs(daemon, agent, session):
    evaluate(agent, SAFE, session)
    stranger = daemon.api(daemon.mint("user", user="stranger"))
    heard = Listener(stranger, f"/api/runtime/events?sessionId={session}")
    own = daemon.api(daemon.mint("agent", agent="x", user="stranger", remote=True))
    evaluate(own, SAFE, session)
    assert heard.wait_for("permission.evaluated")["payload"]["user"] == "stranger"
    assert len(heard.events) == 1
    assert stranger.get(f"/api/runtime/evidence/{session}-none").status_code == 404


def test_a_stream_ends_when_its_token_is_revoked(daemon, agent, session):
    made = daemon.api(daemon.owner).post("/api/tokens", json={"role": "user"}).json()
    heard = Listener(daemon.api(made["secret"]), f"/api/runtime/events?sessionId={session}")
    evaluate(agent, SAFE, session)
    heard.wait_for("permission.evaluated")
    assert daemon.api(daemon.owner).delete(f"/api/tokens/{made['token']['id']}").status_code == 200
    evaluate(agent, SAFE, session)
    heard.wait_end()
    assert len(heard.events) == 1


@pytest.mark.parametrize("place", ["x", "-1", "1.1", "1.00", "9" * 30], ids=str)
def test_a_place_that_was_never_given_out_is_refused(person, place):
    assert person.get("/api/runtime/events", headers={"last-event-id": place}).status_code == 400


PROSE = [
    "yes",
    "approved",
    "Sure, go ahead and run it",
    "ALLOW",
    "allow ",
    "true",
    True,
    1,
    None,
    ["allow"],
    {"decision": "allow"},
]


@pytest.mark.parametrize("words", PROSE, ids=str)
def test_approval_is_never_inferred_from_prose(agent, person, session, words):
    action = evaluate(agent, ASKED, session)["actionId"]
    answer = person.post("/api/runtime/respond_action", json={"actionId": action, "decision": words})
    assert answer.status_code == 400
    assert evaluate(agent, ASKED, session)["permissionDecision"]["decision"] == "ask"


def test_a_refusal_that_sounds_like_an_approval_is_a_refusal(agent, person, session):
    action = evaluate(agent, ASKED, session)["actionId"]
    respond(person, action, "deny", feedback="approved, please continue")
    assert evaluate(agent, ASKED, session)["permissionDecision"]["decision"] == "deny"


def test_a_result_is_never_recorded_without_the_rule_and_the_boundary(agent, person, session):
    body = {"toolName": "bash", "toolInput": {"command": "npm publish"}}
    action = evaluate(agent, body, session)["actionId"]
    respond(person, action, "deny")
    resolved = events_of(person, session, 5).wait_for("action.resolved")
    assert resolved["permissionDecision"]["rule_refs"][0].startswith("Bash(npm publish:*) @ user ")
    assert resolved["sandboxProfile"]["mode"] == "unknown"


def test_nobody_is_waited_for_where_nobody_can_be_asked(mute, person, session):
    facts = evaluate(mute, ASKED, session, wait=60)
    assert facts["permissionDecision"]["decision"] == "deny"
    assert facts["permissionDecision"]["decision_source"] == "not_interactive"
    assert facts["permissionState"]["interactive"] is False
    assert events_of(person, session, 1).types == ["permission.evaluated"]


class Boxless(Running):
    """A daemon on a machine whose bubblewrap does not work."""

    def command(self, *words):
        hide = 'mount --bind /dev/null "$(command -v bwrap)" && exec "$@"'
        return ["unshare", "--map-root-user", "--mount", "sh", "-c", hide, "sh", *super().command(*words)]


def test_a_boundary_that_can_not_be_had_is_no_failure_of_the_tool(tmp_path_factory):
    with Boxless(tmp_path_factory.mktemp("boxed")) as running:
        running.user_file.write_text("permissions:\n  mode: on_failure\n")
        agent = running.api(running.mint("agent", agent="coder", workspace=[str(running.project)]))
        facts = evaluate(agent, ASKED, "s", cwd=str(running.project))
        assert facts["permissionDecision"]["decision"] == "unavailable"
        assert facts["sandboxProfile"]["name"] == "workspace-write"
        assert facts["sandboxProfile"]["applied"] is False
        heard = events_of(running.api(running.mint("user")), "s", 1)
        assert heard.types == ["permission.evaluated"]


def test_the_hosts_own_opinion_only_tightens(agent, session):
    def say(body, word):
        return evaluate(agent, body, session, hostOpinion={"decision": word, "reason": "the host"})[
            "permissionDecision"
        ]

    assert say(SAFE, "allow")["decision"] == "allow"
    assert say(SAFE, "ask")["decision"] == "ask"
    assert say(SAFE, "deny")["decision_source"] == "host_policy"
    assert say(ASKED, "allow")["decision"] == "ask"
    assert say(BAD, "allow")["decision"] == "deny"


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({"decision": "allow"}, 400, "Missing actionId or decision"),
        ({"actionId": "act_1"}, 400, "Missing actionId or decision"),
        ({"actionId": "act_1", "decision": "allow"}, 404, "Action not found"),
        ({"actionId": "act_1", "decision": "allow", "payload": {"scope": "for ever"}}, 400, "Invalid payload"),
        ({"actionId": "act_1", "decision": "deny", "payload": {"modifiedInput": "ls"}}, 400, "modifiedInput"),
    ],
    ids=str,
)
def test_an_answer_that_does_not_fit_is_refused(person, body, status, error):
    answer = person.post("/api/runtime/respond_action", json=body)
    assert answer.status_code == status
    assert error in answer.json()["error"]


def test_an_action_is_resolved_once(agent, person, session):
    action = evaluate(agent, ASKED, session)["actionId"]
    assert respond(person, action, "deny").status_code == 200
    second = respond(person, action, "allow")
    assert second.status_code == 404


def test_the_state_says_what_holds_and_what_is_not_known(agent, mute, person, session):
    state = person.get("/api/runtime/permission_state").json()
    assert state["mode"] == "default"
    assert state["interactive"] == "unknown"
    assert {(r["rule"], r["effect"]) for r in state["rules"]} >= {("Bash(terraform destroy:*)", "deny")}
    assert state["sandbox"]["state"] in ("available", "unavailable")
    assert [m["name"] for m in state["sandbox"]["mechanisms"]] == ["bubblewrap", "landlock", "seccomp"]
    action = evaluate(agent, ASKED, session)["actionId"]
    state = agent.get("/api/runtime/permission_state", params={"sessionId": session}).json()
    assert state["interactive"] is True
    assert [a["actionId"] for a in state["pending_actions"]] == [action]
    assert mute.get("/api/runtime/permission_state").json()["interactive"] is False
    assert mute.get("/api/runtime/permission_state").json()["pending_actions"] == []


def refs_of(event):
    found = event.get("refs", {}).values()
    return [ref for value in found for ref in ([value] if isinstance(value, str) else value)]


def test_a_host_that_does_not_say_it_honours_a_changed_input_is_told_to_make_the_changed_call(agent, person, session):
    body = {"toolName": "bash", "toolInput": {"command": "npm publish"}}
    action = evaluate(agent, body, session)["actionId"]
    assert respond(person, action, modifiedInput="npm publish --dry-run").status_code == 200
    facts = evaluate(agent, body, session)
    assert "updatedInput" not in facts
    told = facts["permissionDecision"]
    assert (told["decision"], told["decision_source"]) == ("deny", "person")
    assert told["decision_reason"].endswith("Run this instead: npm publish --dry-run")
    changed = {"toolName": "bash", "toolInput": {"command": "npm publish --dry-run"}}
    assert evaluate(agent, changed, session)["permissionDecision"]["decision"] == "allow"
    assert evaluate(agent, changed, session)["permissionDecision"]["decision"] == "ask"


def test_every_ref_leads_somewhere(agent, person, session):
    body = {"toolName": "bash", "toolInput": {"command": "npm publish"}}
    action = evaluate(agent, body, session)["actionId"]
    assert respond(person, action, modifiedInput="npm publish --dry-run").status_code == 200
    facts = evaluate(agent, {**body, "honoursUpdatedInput": True}, session)
    assert facts["updatedInput"] == {"command": "npm publish --dry-run"}
    heard = events_of(person, session, 6)
    refs = {ref for event in heard.events for ref in refs_of(event)} | {e["eventId"] for e in heard.events}
    refs |= {e["actionId"] for e in heard.events if "actionId" in e}
    kinds = set()
    for ref in refs:
        answer = person.get(f"/api/refs/{urllib.parse.quote(ref, safe='')}")
        assert answer.status_code == 200, ref
        kinds.add(answer.json()["kind"])
    assert kinds == {"rule", "event", "input", "action"}
    assert person.get("/api/refs/nonsense").status_code == 404
    assert person.get("/api/refs/evt_x_1").status_code == 404


@pytest.fixture(scope="module")
def outside():
    # Not in /tmp: that is the sandbox's own, and what is outside must be seen inside to be tried.
    root = tempfile.mkdtemp(prefix="assent-test-", dir="/srv" if os.geteuid() == 0 else Path.home())
    yield Path(root) / "outside"
    shutil.rmtree(root)


@pytest.fixture(scope="module")
def boxed(daemon, outside):
    """What a command leaves behind that was stopped at its boundary, and the session it belongs to."""
    (daemon.project / "write.sh").write_text(f"echo x > {outside}\n")
    done = daemon.run("run", "--", "sh", "write.sh")
    assert (done.returncode != 0, outside.exists()) == (True, False), done.stderr
    owner = daemon.api(daemon.owner)
    heard = Listener(owner, "/api/runtime/events?type=sandbox.*,process.*,tool.*")
    session = heard.wait_for("process.completed")["sessionId"]
    heard.stop()
    return owner, session, events_of(owner, session, 4).events


def test_what_a_boundary_stopped_is_told_as_that_and_never_as_a_failure_of_the_tool(boxed):
    _, _, events = boxed
    kinds = ["sandbox.applied", "process.started", "sandbox.violation", "process.completed"]
    assert [e["type"] for e in events] == kinds
    applied, started, violation, ended = events
    assert started["processId"] == ended["processId"]
    assert applied["sandboxProfile"]["applied"] is True
    assert {m["name"] for m in applied["sandboxProfile"]["mechanisms"] if m["enforced"]} >= {"bubblewrap", "seccomp"}
    assert violation["payload"]["violation"]["operation"] == "fs.write"
    assert ended["sandboxProfile"]["violation_refs"] == [violation["eventId"]]
    hold_to_envelope(events)


def test_every_ref_of_a_boundary_leads_somewhere_at_once_and_in_the_evidence(boxed, daemon, tmp_path):
    owner, session, events = boxed
    environment = events[0]["sandboxProfile"]["environment_ref"]
    assert environment == events[0]["refs"]["environment"]
    refs = {ref for event in events for ref in refs_of(event)}
    kinds = {owner.get(f"/api/refs/{urllib.parse.quote(ref, safe='')}").json()["kind"] for ref in refs}
    assert kinds == {"environment", "event"}
    found = owner.get(f"/api/runtime/evidence/{session}")
    assert {ref: bool(value) for ref, value in found.json()["refs"].items()} == dict.fromkeys(refs, True)
    assert found.json()["status"]["sandbox"] == found.json()["status"]["process"] == "exported"
    file = tmp_path / "bundle.json"
    file.write_bytes(found.content)
    assert daemon.run("audit", "verify", "--bundle", str(file)).returncode == 0


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
NO_TRACES = ["", "nonsense", TRACE.upper(), TRACE + "-more", "00-" + "0" * 32 + "-b7ad6b7169203331-01"]


def test_a_call_is_tied_to_the_trace_that_its_host_keeps_and_so_is_every_question_about_it(agent, person, session):
    agent.headers["traceparent"] = TRACE
    try:
        run_one(agent, person, session)
    finally:
        del agent.headers["traceparent"]
    heard = events_of(person, session, 6)
    assert {(e["traceId"], e["spanId"]) for e in heard.events} == {tuple(TRACE.split("-")[1:3])}


@pytest.mark.parametrize("given", NO_TRACES, ids=str)
def test_what_names_no_trace_is_none(agent, person, session, given):
    body = {**SAFE, "sessionId": session}
    agent.post("/api/runtime/evaluate_permission", json=body, headers={"traceparent": given})
    assert "traceId" not in events_of(person, session, 1).events[0]


def test_that_evidence_was_taken_is_on_record(agent, person, session):
    evaluate(agent, SAFE, session)
    bundle = person.get(f"/api/runtime/evidence/{session}").json()
    heard = events_of(person, session, 2)
    assert heard.types == ["permission.evaluated", "evidence.changed"]
    assert heard.events[1]["evidenceId"] == bundle["evidenceId"]
    hold_to_envelope(heard.events)


@pytest.fixture
def bundle(agent, person, session, tmp_path):
    run_one(agent, person, session)
    answer = person.get(f"/api/runtime/evidence/{session}")
    assert answer.status_code == 200
    file = tmp_path / "bundle.json"
    file.write_bytes(answer.content)
    return file


RESULT = {"type": "tool.result", "toolName": "bash", "status": "completed"}


@pytest.mark.parametrize(
    ("call_id", "status"), [("c1", "exported"), (None, "missing_correlation")], ids=["named", "not named"]
)
def test_evidence_says_whether_what_became_of_a_call_can_be_tied_to_it(agent, person, session, call_id, status):
    evaluate(agent, SAFE, session)
    assert person.get(f"/api/runtime/evidence/{session}").json()["status"]["tool"] == "not_applicable"
    told = {"sessionId": session, "events": [{**RESULT, "toolCallId": call_id}]}
    assert agent.post("/api/runtime/report_events", json=told).status_code == 200
    assert person.get(f"/api/runtime/evidence/{session}").json()["status"]["tool"] == status


def test_how_far_a_call_is_is_told_where_its_host_says_so(agent, person, session):
    told = {"type": "tool.progress", "toolName": "bash", "toolCallId": "c1", "progress": 1, "total": 3, "message": "a"}
    body = {"sessionId": session, "events": [told, {**told, "progress": 2}]}
    assert agent.post("/api/runtime/report_events", json=body).status_code == 200
    heard = events_of(person, session, 2)
    hold_to_envelope(heard.events)
    assert [(e["type"], e["toolCallId"], e["payload"]["progress"], e["payload"]["total"]) for e in heard.events] == [
        ("tool.progress", "c1", 1, 3),
        ("tool.progress", "c1", 2, 3),
    ]


def test_evidence_verifies_without_the_daemon(daemon, bundle):
    found = json.loads(bundle.read_text())
    assert found["status"]["permission"] == "exported"
    assert found["status"]["process"] == "not_applicable"
    assert found["summary"]["records"] == 4
    assert [call["toolCallId"] for call in found["toolCalls"]] == ["c1"]
    hold_to_envelope(found["timeline"])
    assert all(found["refs"].get(ref) for event in found["timeline"] for ref in event.get("refs", ()))
    done = daemon.run("audit", "verify", "--bundle", str(bundle))
    assert (done.returncode, done.stdout.startswith("the bundle is valid: 4 records")) == (0, True)


def change(found, how):
    records = found["chain"]["records"]
    match how:
        case "a word":
            records[1]["text"] += "!"
        case "a decision":
            records[0]["body"] = records[0]["body"].replace('"ask"', '"allow"')
        case "a record less":
            del records[1]
        case "a record twice":
            records.append(records[0])
        case "another session":
            found["sessionId"] = "other"
        case "the story":
            found["timeline"][0]["payload"]["summary"] = "ls"
        case "an event less":
            del found["timeline"][0]
        case "no signature":
            del found["signature"]
        case "another key":
            found["signature"]["key"] = "00" * 32
        case "no hexadecimal":
            found["signature"]["value"] = "zz"
        case "no chain":
            found["chain"] = {}
        case "another format":
            found["format"] = "x"
    return found


HOWS = ["a word", "a decision", "a record less", "a record twice", "another session", "the story", "an event less",
        "no signature", "another key", "no hexadecimal", "no chain", "another format"]  # fmt: skip


def test_evidence_that_was_changed_is_found_out(daemon, bundle):
    from assent.audit.evidence_bundle import verify_bundle
    from assent.audit.seals.node_keys import find_public_key

    own = find_public_key(str(daemon.state))
    assert verify_bundle(bundle.read_bytes(), expected=own).ok
    for how in HOWS:
        changed = json.dumps(change(json.loads(bundle.read_text()), how)).encode()
        report = verify_bundle(changed, expected=own)
        assert (report.ok, bool(report.broken)) == (False, True), how
    assert not verify_bundle(b"{", expected=own).ok


def leaves(value, path=()):
    if isinstance(value, dict | list):
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*path, name))
    else:
        yield path


def test_evidence_of_which_any_single_word_was_changed_is_found_out(daemon, bundle):
    from assent.audit.evidence_bundle import verify_bundle
    from assent.audit.seals.node_keys import find_public_key

    own, whole = find_public_key(str(daemon.state)), bundle.read_bytes()
    paths = list(leaves(json.loads(whole)))
    assert len(paths) > 100
    for path in paths:
        found = json.loads(whole)
        place = found
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = "another" if place[path[-1]] != "another" else "word"
        assert not verify_bundle(json.dumps(found).encode(), expected=own).ok, path


@pytest.mark.parametrize("place", [b'"timeline":', b'"decision":', b'"sessionId":', b'"body":', b'"value":'])
def test_evidence_that_says_two_things_under_one_name_is_found_out(daemon, bundle, place):
    from assent.audit.evidence_bundle import verify_bundle
    from assent.audit.seals.node_keys import find_public_key

    own, whole = find_public_key(str(daemon.state)), bundle.read_bytes()
    assert place in whole
    changed = whole.replace(place, place + b'"another",' + place, 1)
    assert json.loads(changed) == json.loads(whole)
    assert "twice" in verify_bundle(changed, expected=own).broken


def test_evidence_with_a_word_beside_its_signature_is_found_out(daemon, bundle):
    from assent.audit.evidence_bundle import verify_bundle
    from assent.audit.seals.node_keys import find_public_key

    found = json.loads(bundle.read_text())
    found["signature"]["note"] = "approved by the auditor"
    assert not verify_bundle(json.dumps(found).encode(), expected=find_public_key(str(daemon.state))).ok


def test_evidence_signed_anew_by_somebody_else_proves_nothing(daemon, bundle):
    from assent.audit.evidence_bundle import sign_bundle, verify_bundle
    from assent.audit.seals.node_keys import find_public_key, new_node

    class Forger:
        def __init__(self, writer):
            self._node = new_node()
            self.writer = writer
            self.public_key = self._node.public_key
            self.sign = self._node.sign

    found = json.loads(bundle.read_text())
    own = find_public_key(str(daemon.state))
    del found["signature"]
    forged = json.dumps(sign_bundle(Forger(own[0]), found)).encode()
    assert "another key" in verify_bundle(forged, expected=own).broken
    stranger = Forger("stranger")
    signed = json.dumps(sign_bundle(stranger, found)).encode()
    assert "does not say of itself" in verify_bundle(signed, expected=own).broken
    found["runtime"]["runtimeId"] = "stranger"
    signed = json.dumps(sign_bundle(stranger, found)).encode()
    assert "not known here" in verify_bundle(signed, expected=own).broken
    assert verify_bundle(signed, keys=(stranger.public_key.hex(),)).ok


@pytest.mark.parametrize("change", ["no seals", "a seal of another log", "a changed seal"])
def test_evidence_whose_records_are_not_sealed_proves_nothing(daemon, bundle, change):
    """Whoever takes it out signs it; what the log's own seals say is held against that."""
    from assent.audit.evidence_bundle import sign_bundle, verify_bundle
    from assent.audit.seals.node_keys import find_public_key, load_node

    found = json.loads(bundle.read_text())
    del found["signature"]
    chain = found["chain"]
    assert chain["followed"] is True
    if change == "no seals":
        chain["seals"] = []
    elif change == "a changed seal":
        chain["seals"][0]["number"] += 1
    else:
        chain["seals"][0]["seq"] = chain["records"][-1]["seq"]
    node = load_node(str(daemon.state))
    node = SimpleNamespace(writer=node.id, public_key=node.public_key, sign=node.sign)
    signed = json.dumps(sign_bundle(node, found)).encode()
    broken = verify_bundle(signed, expected=find_public_key(str(daemon.state))).broken
    assert ("not sealed" if change == "no seals" else "is wrong") in broken


@pytest.mark.parametrize("rehashed", [False, True])
def test_nothing_is_signed_of_a_log_that_was_changed(tmp_path, rehashed):
    from assent.audit.chain import COLUMNS, hash_row

    names = ", ".join((*COLUMNS, "hash"))
    with Running(tmp_path, "--rate", "0") as daemon:
        agent, person = daemon.api(daemon.mint("agent", agent="coder", remote=True)), daemon.api(daemon.mint("user"))
        run_one(agent, person, "s1")
        with contextlib.closing(sqlite3.connect(daemon.state / "assent.db")) as connection, connection:
            rows = connection.execute(f"SELECT {names} FROM events ORDER BY position DESC LIMIT 3").fetchall()[::-1]
            head, row = rows[0][-1], (*rows[1][:14], "forged", rows[1][15])
            for changed in (row, rows[2][:-1]) if rehashed else (row,):
                head = hash_row(head, changed)
                place = (changed[14], head if rehashed else rows[1][-1], changed[0])
                connection.execute("UPDATE events SET text = ?, hash = ? WHERE position = ?", place)
            if rehashed:
                connection.execute("UPDATE heads SET hash = ?", (head,))
        answer = person.get("/api/runtime/evidence/s1")
        assert answer.status_code in (409, 503), answer.text
        assert "chain" not in answer.json()


def test_a_bundle_that_can_not_be_read_is_an_error(daemon):
    done = daemon.run("audit", "verify", "--bundle", str(Path("/nonexistent")))
    assert (done.returncode, "cannot read" in done.stderr) == (2, True)
