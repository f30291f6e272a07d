"""Any client follows any session it may see, and a person answers its questions, whatever dialect asked them."""

from __future__ import annotations

import itertools

import pytest

from originals import read_session_stream
from serving import Listener

_numbers = itertools.count()


@pytest.fixture
def session():
    return f"s-{next(_numbers)}"


def ask(agent, session, script="x", call_id=None):
    body = {"toolName": "bash", "toolInput": {"command": f"node {script}.js"}, "sessionId": session}
    return agent.post("/api/hooks/classify", json={**body, "toolCallId": call_id}).json()["requestId"]


def respond(client, session, decision="approved", **more):
    return client.post(f"/api/sessions/{session}/respond", json={"kind": "permission", "decision": decision, **more})


def test_a_question_and_its_end_are_streamed_and_resumed(agent, person, session):
    request = ask(agent, session, call_id="c1")
    heard = Listener(person, f"/api/sessions/{session}/stream")
    asked = heard.wait_for("permission_request")
    assert (asked["toolCallId"], asked["toolName"], asked["requestId"]) == ("c1", "Bash", request)
    assert asked["input"] == {"command": "node x.js"}
    assert asked["tier"] == "dangerous"
    assert respond(person, session, feedback="fine").json() == {"ok": True}
    resolved = heard.wait_for("permission_resolved")
    assert (resolved["decision"], resolved["feedback"]) == ("approved", "fine")
    assert heard.types == ["session.start", "permission_request", "permission_resolved"]
    again = Listener(person, f"/api/sessions/{session}/stream", after=heard.ids[1])
    again.wait_for("permission_resolved")
    assert again.types == ["permission_resolved"]


def test_several_questions_are_answered_each_by_its_call_or_the_oldest_first(agent, person, session):
    first, second, third = (ask(agent, session, n, f"c{n}") for n in "123")
    assert respond(person, session, "rejected", toolCallId="c2").status_code == 200
    assert respond(person, session).status_code == 200
    status = {i: person.get(f"/api/permissions/{i}").json()["status"] for i in (first, second, third)}
    assert list(status.values()) == ["approved", "rejected", "pending"]


def test_two_questions_by_one_id_are_not_answered_by_it(agent, person, session):
    first, second = (ask(agent, session, n, "same") for n in "12")
    refused = respond(person, session, toolCallId="same")
    assert (refused.status_code, "requestId" in refused.json()["error"]) == (409, True)
    assert respond(person, session, toolCallId=second).status_code == 200
    status = {i: person.get(f"/api/permissions/{i}").json()["status"] for i in (first, second)}
    assert list(status.values()) == ["pending", "approved"]


def test_an_agent_follows_its_own_session_and_no_other(daemon, agent, person, session):
    ask(agent, session)
    own = Listener(agent, f"/api/sessions/{session}/stream")
    own.wait_for("permission_request")
    other = daemon.api(daemon.mint("agent", agent="other", remote=True))
    ask(other, session, "mine")
    heard = Listener(other, f"/api/sessions/{session}/stream")
    assert heard.wait_for("permission_request")["input"] == {"command": "node mine.js"}
    assert len(heard.events) == 2
    assert respond(agent, session).status_code == 403


def test_somebody_elses_session_has_no_questions_to_answer(daemon, agent, session):
    ask(agent, session)
    stranger = daemon.api(daemon.mint("user", user="stranger"))
    assert respond(stranger, session).status_code == 404


BAD_DECISION = 'Field \'decision\' must be "approved" or "rejected" for permission responses'


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({"kind": "permission", "decision": "maybe"}, 400, BAD_DECISION),
        ({"kind": "permission"}, 400, BAD_DECISION),
        ({"kind": "permission", "decision": 1}, 400, BAD_DECISION),
        ({"kind": "x", "decision": "approved"}, 400, 'Field \'kind\' must be "permission" or "question"'),
        ({}, 400, BAD_DECISION),
        ({"kind": "question"}, 400, "Field 'answer' is required and must be a non-empty string"),
        ({"kind": "question", "answer": " "}, 400, "Field 'answer' is required and must be a non-empty string"),
        ({"answer": 5}, 400, "Field 'answer' is required and must be a non-empty string"),
        ({"kind": "question", "answer": "blue"}, 404, "No pending question for session 'none'"),
        ({"answer": "blue"}, 404, "No pending question for session 'none'"),
        ({"kind": "permission", "decision": "approved"}, 404, "No pending permission request for session 'none'"),
    ],
    ids=str,
)
def test_an_answer_that_is_none_is_refused(person, body, status, error):
    answer = person.post("/api/sessions/none/respond", json=body)
    assert (answer.status_code, answer.json()["error"]) == (status, error)


def test_an_answer_that_is_no_json_is_refused(person):
    answer = person.post("/api/sessions/x/respond", content=b"{", headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()) == (400, {"error": "Invalid JSON body"})


def test_a_second_answer_comes_too_late(agent, person, session):
    ask(agent, session)
    assert respond(person, session).status_code == 200
    assert respond(person, session).status_code == 404


def test_a_place_that_was_never_given_out_is_refused(person, session):
    assert person.get(f"/api/sessions/{session}/stream", headers={"last-event-id": "x"}).status_code == 400


def test_a_stream_names_its_session_in_a_header(person):
    for session, shown in (("s-1", "s-1"), ("a%20b", "a b"), ("%C3%A4%0A", "%C3%A4%0A")):
        with person.stream("GET", f"/api/sessions/{session}/stream") as answer:
            assert answer.headers["x-session-id"] == shown


def test_the_page_of_the_published_design_hears_every_event(agent, person, session):
    ask(agent, session, call_id="c1")
    heard = []
    with person.stream("GET", f"/api/sessions/{session}/stream") as answer:
        for event in read_session_stream(answer.iter_text()):
            heard.append(event)
            if event["type"] == "permission_request":
                assert respond(person, session).status_code == 200
            if event["type"] == "permission_resolved":
                break
    assert [e["type"] for e in heard] == ["session.start", "permission_request", "permission_resolved"]
    assert {"toolCallId": "c1", "toolName": "Bash", "decision": "approved"}.items() <= heard[2].items()
