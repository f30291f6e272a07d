"""Sessions over HTTP: a stream that misses nothing, answers that reach the right call, and nobody else."""

from __future__ import annotations

import asyncio

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.routing import Mount

from assent import create_agent_app, create_stream_route, define_tool, parse_rules, queue_approvals
from assent.model import ConfigError
from assent.sdk.sessions.events import Feed
from assent.sdk.sessions.user_questions import show_result
from originals import read_session_stream
from serving import Listener, Served

RAN: list = []
TOKENS = {"Bearer ann": "ann", "Bearer bob": "bob"}
PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}}
NOBODY_ASKED = "No pending permission request for session '{}'"


def authorize(request, session_id):
    if session_id == "broken":
        raise RuntimeError("the directory is down")
    return TOKENS.get(request.headers.get("authorization", ""))


async def turn(session, message):
    """An agent of one thought: it calls a tool for every word."""
    said = [await session.call_tool("Write", {"path": word}, tool_call_id=f"call-{word}") for word in message.split()]
    return " ".join(str(result.content) for result in said)


def make_app(**more):
    write = define_tool(name="Write", parameters=PARAMETERS, execute=lambda p: RAN.append(p["path"]) or "written")
    return create_agent_app(permission_policy={"ask": parse_rules(["Write"])}, tools=[write], turn=turn, **more)


@pytest.fixture(scope="module")
def served():
    with make_app() as app:
        router = create_stream_route(app, authorize=authorize, create_permission_approval_handler=queue_approvals)
        outer = FastAPI()
        outer.mount("/", router)
        with Served(outer) as running:
            running.app = app
            yield running


@pytest.fixture
def ann(served):
    with served.client(authorization="Bearer ann") as client:
        yield client


@pytest.fixture
def name(request):
    return "s-" + "".join(c for c in request.node.name if c.isalnum())[-60:]


def ask(client, name, message):
    return Listener(client, f"/api/sessions/{name}/stream", method="POST", json={"message": message})


def respond(client, name, decision="approved", **more):
    return client.post(f"/api/sessions/{name}/respond", json={"kind": "permission", "decision": decision, **more})


def test_a_turn_asks_waits_for_the_answer_and_goes_on(ann, name):
    RAN.clear()
    heard = ask(ann, name, "a.txt")
    request = heard.wait_for("permission_request")
    assert (request["toolCallId"], request["toolName"]) == ("call-a.txt", "Write")
    assert request["input"] == {"path": "a.txt"}
    assert request["tier"] == "safe"
    assert request["expiresAt"] > 1.7e12
    assert RAN == []
    answer = respond(ann, name)
    assert (answer.status_code, answer.json()) == (200, {"ok": True})
    heard.wait_end()
    assert heard.types == [
        "turn.start", "tool.before", "permission_request", "permission_resolved", "tool.after", "turn.complete",
    ]  # fmt: skip
    assert heard.events[3] == {
        "type": "permission_resolved", "toolCallId": "call-a.txt", "toolName": "Write", "decision": "approved",
        "requestId": request["requestId"],
    }  # fmt: skip
    assert heard.events[-1]["text"] == "written"
    assert RAN == ["a.txt"]


def chat(client, message, session=None, **more):
    body = {
        "message": message,
        "tenantId": "",
        "userId": "",
        "mode": "chat",
        **({"sessionId": session} if session else {}),
    }
    return client.stream("POST", "/api/stream", json={**body, **more})


@pytest.mark.parametrize("decision", ["approved", "rejected"])
def test_a_chat_that_knows_no_session_is_told_its_own_and_goes_on_in_it(ann, decision):
    RAN.clear()
    names, session = [f"{decision}-1", f"{decision}-2"], None
    for name in names:
        with chat(ann, name, session) as answer:
            assert session in (None, answer.headers["x-session-id"])
            session, heard = answer.headers["x-session-id"], []
            for event in read_session_stream(answer.iter_text()):
                heard.append(event)
                if event["type"] == "permission_request":
                    assert respond(ann, session, decision).json() == {"ok": True}
        assert (heard[0]["type"], heard[-1]["type"]) == ("turn.start", "turn.complete")
        assert [e["decision"] for e in heard if e["type"] == "permission_resolved"] == [decision]
    assert len(session) > 20
    assert (names if decision == "approved" else []) == RAN


def test_a_chat_is_somebodys_as_every_session_is(served, ann):
    with chat(ann, "x", "broken") as answer:
        assert answer.status_code == 403
    with served.client(authorization="Bearer nobody") as nobody, chat(nobody, "x") as answer:
        assert answer.status_code == 401
    with chat(ann, "x", "s" * 201) as answer:
        assert answer.status_code == 400
    with ann.stream("POST", "/api/stream", json={"message": "x"}, headers={"origin": "https://evil.test"}) as answer:
        assert answer.status_code == 403


def test_a_rejected_call_is_an_error_for_the_model_with_what_the_person_said(ann, name):
    heard = ask(ann, name, "b.txt")
    heard.wait_for("permission_request")
    assert respond(ann, name, "rejected", feedback="write to /tmp").status_code == 200
    heard.wait_end()
    assert heard.wait_for("permission_resolved")["decision"] == "rejected"
    assert heard.wait_for("tool.after")["isError"] is True
    assert "write to /tmp" in heard.events[-1]["text"]


def test_a_follower_that_comes_and_goes_sees_each_event_once(ann, name):
    heard = ask(ann, name, "a b c")
    path, seen, last = f"/api/sessions/{name}/stream", [], None
    for word in ("a", "b", "c"):
        following = Listener(ann, path, after=last)
        following.wait_for(lambda e, w=word: e["type"] == "permission_request" and e["toolCallId"] == f"call-{w}")
        following.stop()
        seen += zip(following.ids, following.types, strict=True)
        last = following.ids[-1]
        assert respond(ann, name, toolCallId=f"call-{word}").status_code == 200
    heard.wait_end()
    following = Listener(ann, path, after=last)
    following.wait_for("turn.complete")
    seen += zip(following.ids, following.types, strict=True)
    assert len(set(seen)) == len(seen)
    assert [kind for _, kind in seen] == ["session.start", *heard.types]


def test_the_stream_of_a_turn_ends_with_that_turn_and_not_with_another_beside_it(ann, name):
    first = ask(ann, name, "first")
    first.wait_for("permission_request")
    second = ask(ann, name, "second")
    second.wait_for("permission_request")
    assert respond(ann, name, toolCallId="call-second").status_code == 200
    second.wait_end()
    assert second.events[-1]["type"] == "turn.complete"
    assert respond(ann, name, toolCallId="call-first").status_code == 200
    first.wait_end()
    begun = next(event for event in first.events if event["type"] == "turn.start")
    assert first.events[-1] == {"type": "turn.complete", "turnId": begun["turnId"], "text": "written"}
    assert begun["message"] == "first"


def test_a_reader_who_is_too_slow_is_told_what_was_not_kept():
    feed = Feed(most=3)

    async def read(count, after=None):
        following = feed.follow(after)
        return [await anext(following) for _ in range(count)]

    async def main():
        feed.put("one")
        last = feed.last
        for _ in range(5):
            feed.put("more")
        return await read(4, last), await read(3)

    behind, fresh = asyncio.run(main())
    assert [event["type"] for _, event in behind] == ["error", "more", "more", "more"]
    assert behind[0][1]["message"].startswith("2 events")
    assert [event["type"] for _, event in fresh] == ["more"] * 3
    assert behind[1:] == fresh


def test_an_id_of_another_process_begins_at_the_beginning(ann, name):
    ann.get("/health")
    heard = Listener(ann, f"/api/sessions/{name}/stream", after="00000000-7")
    assert heard.wait_for("session.start")["sessionId"] == name


def test_a_caller_that_hangs_up_leaves_its_question_open(served, ann, name):
    RAN.clear()
    with served.client(authorization="Bearer ann") as leaving:
        heard = ask(leaving, name, "later.txt")
        heard.wait_for("permission_request")
    following = Listener(ann, f"/api/sessions/{name}/stream")
    following.wait_for("permission_request")
    assert respond(ann, name).status_code == 200
    following.wait_for("turn.complete")
    assert RAN == ["later.txt"]


BAD_DECISION = 'Field \'decision\' must be "approved" or "rejected" for permission responses'


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({"kind": "permission", "decision": "yes"}, 400, BAD_DECISION),
        ({"kind": "permission"}, 400, BAD_DECISION),
        ({"kind": "permission", "decision": True}, 400, BAD_DECISION),
        ({"kind": "permission", "decision": "APPROVED"}, 400, BAD_DECISION),
        ({"kind": "opinion", "decision": "approved"}, 400, "Field 'kind' must be \"permission\""),
        ([], 400, "Invalid body"),
        ({"kind": "permission", "decision": "approved"}, 404, "No pending permission request for session 'quiet'"),
        ({"kind": "permission", "decision": "approved", "toolCallId": "x"}, 404, "No pending permission request"),
    ],
    ids=str,
)
def test_an_answer_that_is_none_changes_nothing(ann, body, status, error):
    answer = ann.post("/api/sessions/quiet/respond", json=body)
    assert answer.status_code == status
    assert error in answer.json()["error"]


def test_what_is_no_json_is_refused(ann):
    answer = ann.post("/api/sessions/q/respond", content=b"{", headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()) == (400, {"error": "Invalid JSON body"})
    answer = ann.post("/api/sessions/q/respond", content=b"{}", headers={"content-type": "text/plain"})
    assert answer.status_code == 415
    large = b'"' + b"x" * (1 << 21) + b'"'
    answer = ann.post("/api/sessions/q/respond", content=large, headers={"content-type": "application/json"})
    assert answer.status_code == 413


def test_an_answer_to_another_session_twice_or_too_late_is_404(ann, name):
    heard = ask(ann, name, "once.txt")
    heard.wait_for("permission_request")
    assert respond(ann, f"{name}-other").json() == {"error": NOBODY_ASKED.format(f"{name}-other")}
    assert respond(ann, name).status_code == 200
    heard.wait_end()
    assert respond(ann, name).status_code == 404
    assert respond(ann, name, toolCallId="call-once.txt").status_code == 404


def test_an_answer_after_the_question_has_expired_is_404_and_nothing_runs():
    RAN.clear()
    with make_app(expiry=0.3) as app:
        router = create_stream_route(app, authorize=authorize, create_permission_approval_handler=queue_approvals)
        with Served(router) as running, running.client(authorization="Bearer ann") as client:
            heard = ask(client, "late", "late.txt")
            resolved = heard.wait_for("permission_resolved")
            heard.wait_end()
            answer = respond(client, "late", toolCallId="call-late.txt")
    assert (resolved["decision"], resolved["reason"]) == ("rejected", "nobody answered in time")
    assert (answer.status_code, answer.json()) == (404, {"error": NOBODY_ASKED.format("late")})
    assert heard.wait_for("tool.after")["isError"] is True
    assert RAN == []


class Asks:
    """An approval handler as people write it: it asks somebody elsewhere."""

    def __init__(self, session_id, said) -> None:
        self.session_id = session_id
        self.said = said

    async def request_approval(self, *, tool_call_id, tool_name, reason, signal):
        return self.said[self.session_id, tool_call_id]


@pytest.mark.parametrize("before", [None, queue_approvals], ids=["nobody", "a queue"])
def test_a_maker_of_handlers_needs_to_know_nothing_but_its_session_and_is_asked_once(before):
    RAN.clear()
    said = {("s", "call-a.txt"): "approved", ("s", "call-b.txt"): "rejected"}
    made = []
    with make_app(approval_handler=before) as app:
        router = create_stream_route(
            app,
            authorize=authorize,
            create_permission_approval_handler=lambda session_id: made.append(session_id) or Asks(session_id, said),
        )
        with Served(router) as running, running.client(authorization="Bearer ann") as client:
            heard = ask(client, "s", "a.txt b.txt")
            heard.wait_end()
            assert respond(client, "s").status_code == 404
    assert made == ["s"]
    assert [e["decision"] for e in heard.events if e["type"] == "permission_resolved"] == ["approved", "rejected"]
    assert RAN == ["a.txt"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"authorization": "Bearer nobody"}, 401),
        ({"authorization": "Bearer bob"}, 403),
        ({"authorization": "Bearer ann", "origin": "https://evil.test"}, 403),
        ({"authorization": "Bearer ann", "origin": "null"}, 403),
        ({"authorization": "Bearer ann", "origin": "http://["}, 403),
        ({"authorization": "Bearer ann", "sec-fetch-site": "cross-site"}, 403),
    ],
    ids=["nobody", "a stranger", "somebody else", "another site's page", "no page", "no origin at all", "cross-site"],
)
@pytest.mark.parametrize("way", ["stream", "turn", "respond"])
def test_who_may_not_gets_nothing(served, ann, headers, status, way):
    served.app.session("private", user="ann")
    with served.client(**headers) as client:
        if way == "stream":
            answer = client.get("/api/sessions/private/stream")
        elif way == "turn":
            answer = client.post("/api/sessions/private/stream", json={"message": "x"})
        else:
            answer = respond(client, "private")
    assert answer.status_code == status


def test_its_own_page_is_let_in(served, ann, name):
    heard = Listener(ann, f"/api/sessions/{name}/stream")
    heard.wait_for("session.start")
    answer = ann.post(
        f"/api/sessions/{name}/respond",
        json={"kind": "permission", "decision": "approved"},
        headers={"origin": served.url, "sec-fetch-site": "same-origin"},
    )
    assert answer.status_code == 404


def test_who_can_not_be_told_is_nobody(ann):
    assert ann.get("/api/sessions/broken/stream").status_code == 403


def test_without_someone_who_says_whose_request_it_is_there_are_no_routes():
    with make_app() as app:
        with pytest.raises(TypeError):
            create_stream_route(app)
        with pytest.raises(ConfigError, match="authorize"):
            create_stream_route(app, authorize=None)


def test_without_a_handler_an_ask_is_a_deny_and_nobody_is_asked():
    RAN.clear()
    with make_app() as app:
        outer = Starlette(routes=[Mount("/", create_stream_route(app, authorize=authorize))])
        with Served(outer) as running, running.client(authorization="Bearer ann") as client:
            heard = ask(client, "s", "a.txt")
            heard.wait_end()
    assert "permission_request" not in heard.types
    assert heard.wait_for("tool.after")["isError"] is True
    assert RAN == []


def test_an_agent_that_fails_ends_its_turn_with_an_error():
    async def stumble(session, message):
        raise ValueError(message)

    with create_agent_app(permission_policy={}, turn=stumble) as app:
        outer = Starlette(routes=create_stream_route(app, authorize=authorize).routes)
        with Served(outer) as running, running.client(authorization="Bearer ann") as client:
            heard = ask(client, "s", "oh")
            heard.wait_end()
    assert heard.types == ["turn.start", "error", "turn.complete"]
    assert heard.events[1]["message"] == "ValueError: oh"


def follow_as_a_browser(client, name, message):
    """Take a turn, and read it as the page of the published design does."""
    with client.stream("POST", f"/api/sessions/{name}/stream", json={"message": message}) as answer:
        assert answer.headers["x-session-id"] == name
        yield from read_session_stream(answer.iter_text())


def test_the_page_of_the_published_design_hears_every_event(ann, name):
    heard = []
    for event in follow_as_a_browser(ann, name, "a.txt"):
        heard.append(event)
        if event["type"] == "permission_request":
            assert respond(ann, name).json() == {"ok": True}
    assert [e["type"] for e in heard] == [
        "turn.start",
        "tool.before",
        "permission_request",
        "permission_resolved",
        "tool.after",
        "turn.complete",
    ]
    before, after = heard[1], heard[4]
    assert before["args"] == {"path": "a.txt"}
    assert (after["result"], after["isError"]) == ("written", False)


def test_a_refused_call_shows_its_error_as_the_result(ann, name):
    for event in follow_as_a_browser(ann, name, "b.txt"):
        if event["type"] == "permission_request":
            respond(ann, name, "rejected", feedback="not there")
        if event["type"] == "tool.after":
            assert event["isError"]
            assert "not there" in event["result"]


async def ask_colour(session, message):
    first = session.ask_user("Which colour?", hint="a word", options=["red", "blue"], tool_call_id="q1")
    second = session.ask_user("And the other?", tool_call_id="q2")
    return " ".join(await asyncio.gather(first, second))


def answer_question(client, name, **body):
    return client.post(f"/api/sessions/{name}/respond", json=body)


def test_an_agent_asks_its_user_something_in_words(name):
    with create_agent_app(turn=ask_colour) as app:
        router = create_stream_route(app, authorize=authorize)
        with Served(router) as running, running.client(authorization="Bearer ann") as client:
            heard = []
            for event in follow_as_a_browser(client, name, "go"):
                heard.append(event)
                if event.get("toolCallId") == "q2":
                    assert answer_question(client, name, kind="question", answer="blue", toolCallId="q2").is_success
                    assert answer_question(client, name, answer=" red ").json() == {"ok": True}
                    late = answer_question(client, name, answer="green")
                    assert late.json() == {"error": f"No pending question for session '{name}'"}
    assert heard[1] == {
        "type": "waiting_for_user_input",
        "toolCallId": "q1",
        "question": "Which colour?",
        "hint": "a word",
        "options": ["red", "blue"],
    }
    assert heard[-1]["text"] == "red blue"


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("x" * 70_000, "x" * 65_536 + "…"),
        ({"a": [1]}, {"a": [1]}),
        (["y" * 70_000], "70004 bytes"),
        ({1: {2: 3}}, {1: {2: 3}}),
    ],
)
def test_a_result_is_shown_as_far_as_it_fits(content, shown):
    assert show_result(content) == shown


def test_a_result_that_cannot_be_written_is_shown_by_its_kind():
    endless: list = []
    endless.append(endless)
    assert show_result(endless) == "list"
