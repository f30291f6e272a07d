"""Several daemons on one PostgreSQL: what is said to one is heard by all, also when nobody is notified."""

from __future__ import annotations

import json
import re
import threading

import pytest
from websockets.sync.client import connect

from assent.model.principal import Role
from assent.server.routes import ROUTES
from daemons import PATIENT, Running, until


def ask(client, command, query=""):
    body = {"toolName": "bash", "toolInput": {"command": command}}
    return client.post(f"/api/hooks/classify{query}", json=body)


def pending(node, person):
    return node.api(person).get("/api/permissions").json()["pending"]


def two_on(folder, url):
    return (Running(folder / name, "--store", url, "--rate", "0") for name in ("one", "two"))


@pytest.fixture(scope="module", params=["", "?notify=off"], ids=["notified", "not notified"])
def nodes(request, tmp_path_factory, postgres):
    """Two daemons for all tests that leave them running: each asks about a command of its own."""
    one, two = two_on(tmp_path_factory.mktemp("nodes"), postgres.ready_database() + request.param)
    with one, two:
        yield one, two


@pytest.fixture(params=["", "?notify=off"], ids=["notified", "not notified"])
def mortals(request, tmp_path, postgres):
    one, two = two_on(tmp_path, postgres.ready_database() + request.param)
    with one, two:
        yield one, two


def test_an_answer_on_one_wakes_the_call_held_by_the_other(nodes):
    one, two = nodes
    agent, person = one.mint("agent", agent="a", remote=True), one.mint("user")
    until(lambda: two.api(person).get("/api/login").status_code == 200)
    told = []
    known = {each["id"] for each in pending(two, person)}
    thread = threading.Thread(target=lambda: told.append(ask(one.api(agent), "node held.js", "?wait=60").json()))
    thread.start()
    question = until(lambda: [each for each in pending(two, person) if each["id"] not in known])[0]
    done = two.api(person).post("/api/permissions", json={"requestId": question["id"], "decision": "approve"})
    assert done.status_code == 200
    thread.join(60)
    assert told[0]["allow"] is True
    again = one.api(person).post("/api/permissions", json={"requestId": question["id"], "decision": "reject"})
    assert again.status_code == 404


def test_questions_and_answers_reach_the_sockets_of_every_node(nodes):
    one, two = nodes
    agent, person = one.mint("agent", agent="a", remote=True), one.mint("user")
    until(lambda: two.api(person).get("/api/login").status_code == 200)
    url = f"ws://127.0.0.1:{two.port}/ws/permissions?userId={one.user}"
    with connect(url, additional_headers={"Authorization": f"Bearer {person}"}, **PATIENT) as ws:
        assert json.loads(ws.recv(timeout=60))["type"] == "connected"
        wanted = ask(one.api(agent), "node y.js").json()["requestId"]
        assert heard(ws, "permission_request")["id"] == wanted
        one.api(person).post("/api/permissions", json={"requestId": wanted, "decision": "reject"})
        assert heard(ws, "decision_ack")["requestId"] == wanted


def heard(ws, kind):
    while True:
        message = json.loads(ws.recv(timeout=60))
        if message["type"] == kind:
            return message["data"]


def test_a_token_revoked_on_one_is_nobodys_on_the_other(nodes):
    one, two = nodes
    made = one.api(one.owner).post("/api/tokens", json={"role": "user"}).json()
    until(lambda: two.api(made["secret"]).get("/api/login").status_code == 200)
    one.api(one.owner).delete(f"/api/tokens/{made['token']['id']}")
    until(lambda: two.api(made["secret"]).get("/api/login").status_code == 401)


def test_a_grant_given_on_one_holds_on_the_other_until_it_is_revoked(nodes):
    one, two = nodes
    agent, person = one.mint("agent", agent="a", remote=True), one.mint("user")
    until(lambda: two.api(person).get("/api/login").status_code == 200)
    wanted = ask(one.api(agent), "node z.js").json()["requestId"]
    one.api(person).post("/api/permissions", json={"requestId": wanted, "decision": "approve_always"})
    until(lambda: ask(two.api(agent), "node z.js").json()["allow"] is True)
    (grant,) = two.api(person).get("/api/grants").json()["grants"]
    assert two.api(person).delete(f"/api/grants/{grant['id']}").status_code == 200
    until(lambda: ask(one.api(agent), "node z.js").json()["allow"] is False)


def test_a_node_that_dies_leaves_its_questions_to_the_other(mortals):
    one, two = mortals
    agent, person = one.mint("agent", agent="a", remote=True), one.mint("user")
    until(lambda: two.api(person).get("/api/login").status_code == 200)
    wanted = ask(one.api(agent), "node w.js").json()["requestId"]
    one.kill()
    done = two.api(person).post("/api/permissions", json={"requestId": wanted, "decision": "approve"})
    assert done.status_code == 200
    assert ask(two.api(agent), "node w.js").json()["allow"] is True
    assert ask(two.api(agent), "node w.js").json()["allow"] is False


def test_a_name_that_a_server_can_not_hold_is_an_error_of_whoever_says_it(nodes):
    one, _ = nodes
    owner, agent = one.api(one.owner), one.api(one.mint("agent", agent="a", remote=True))
    for route in (route for route in ROUTES if "{" in route.path):
        path = re.sub(r"\{\w+\}", "a%00b", route.path)
        assert (owner if Role.ADMIN in route.roles else agent).request(route.method, path).status_code in (404, 415)
    for path in ("permissions?agentId=%00", "permissions?cursor=1~%00", "audit?text=%00", "runtime/permission_state"):
        found = owner.get(f"/api/{path}", params={"sessionId": "\0"} if "?" not in path else None)
        assert found.status_code == 400
    answer = {"requestId": "a\0b", "decision": "approve"}
    assert owner.post("/api/permissions", json=answer).json() == {"error": "Request not found"}
    assert owner.post("/api/destructive", json={"agentId": "a\0b", "minutes": 1}).status_code == 400
    call = {"toolName": "bash", "toolInput": {"command": "node x.js"}}
    for more in (
        {"toolName": "bash\0"},
        {"toolCallId": "a\0b"},
        {"sessionId": "a\0b"},
        {"toolInput": {"command": "ls\0"}},
    ):
        told = agent.post("/api/hooks/classify", json=call | more)
        assert (told.status_code, told.json()["allow"]) == (200, False)
    assert ask(agent, "ls").json()["allow"] is True
