"""P6: credentials that ask cannot answer. Every route is walked with every role, by a list made from the routes."""

from __future__ import annotations

import contextlib
import json
import re
import socket

import pytest
import websockets
from websockets.sync.client import connect

from assent.model.principal import Role
from assent.server.routes import ROUTES
from daemons import PATIENT, Running
from runners import Runner

ROLES = ("nobody", "agent", "user", "admin")
# What each role may do, said once more by hand: a route that is opened wider by mistake is found here.
AGENTS_MAY = {
    ("POST", "/api/hooks/classify"),
    ("POST", "/api/hooks/{agent}"),
    ("GET", "/api/permissions"),
    ("GET", "/api/permissions/{id}"),
    ("POST", "/api/sandbox/redeem"),
    ("POST", "/api/sandbox/ask"),
    ("POST", "/api/sandbox/events"),
    ("POST", "/api/runtime/evaluate_permission"),
    ("POST", "/api/runtime/report_events"),
    ("GET", "/api/runtime/permission_state"),
    ("GET", "/api/sessions/{id}/stream"),
}
ADMINS_ONLY = {
    ("GET", "/api/tokens"),
    ("POST", "/api/tokens"),
    ("DELETE", "/api/tokens/{id}"),
    ("POST", "/api/audit/verify"),
    ("GET", "/metrics"),
}
EVERYONE_MAY = {
    ("POST", "/api/login"),
    ("GET", "/health"),
    ("GET", "/openapi.json"),
    *(("GET", path) for path in ("/", "/login", "/sessions", "/audit", "/policy", "/overview", "/people")),
    ("GET", "/docs"),
    ("GET", "/assets/{name}"),
}
AGENTS_ONLY = {
    ("POST", "/api/hooks/classify"),
    ("POST", "/api/hooks/{agent}"),
    ("POST", "/api/runtime/evaluate_permission"),
    ("POST", "/api/runtime/report_events"),
}


def may(role: str, method: str, path: str) -> bool:
    route = (method, path)
    if route in EVERYONE_MAY:
        return True
    return {
        "nobody": False,
        "agent": route in AGENTS_MAY,
        "user": route not in ADMINS_ONLY | AGENTS_ONLY,
        "admin": route not in AGENTS_ONLY,
    }[role]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    with Running(tmp_path_factory.mktemp("p06"), "--rate", "0") as running:
        yield running


@pytest.fixture(scope="module")
def tokens(daemon):
    made = {role: daemon.mint(role) for role in ("agent", "user", "admin")}
    return {"nobody": None, **made}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("route", ROUTES, ids=lambda r: f"{r.method} {r.path}")
def test_every_route_lets_in_exactly_the_roles_it_is_for(daemon, tokens, role, route):
    path = re.sub(r"\{\w+\}", "nothing", route.path)
    body = b"{}" if route.method == "POST" else None
    headers = {"content-type": "application/json"} if body else {}
    with daemon.api(tokens[role]).stream(route.method, path, content=body, headers=headers) as answer:
        if not route.stream:
            answer.read()
    if may(role, route.method, route.path):
        assert answer.status_code not in (403, 405)
        assert answer.status_code != 401 or route.path == "/api/login"
    else:
        assert answer.status_code == (401 if role == "nobody" else 403)
    assert answer.status_code < 500


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("path", sorted({r.path for r in ROUTES}))
@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "TRACE", "POST", "DELETE"])
def test_no_other_method_does_anything(daemon, tokens, role, path, method):
    if any((r.method, r.path) == (method, path) for r in ROUTES):
        return
    named = re.sub(r"\{\w+\}", "nothing", path)
    answer = daemon.api(tokens[role]).request(
        method, named, headers={"content-type": "application/json"}, content=b"{}"
    )
    assert answer.status_code == 405
    assert "access-control-allow-origin" not in answer.headers


def test_the_table_says_of_itself_what_is_tested_here():
    for route in ROUTES:
        for role in ("agent", "user", "admin"):
            assert may(role, route.method, route.path) == (not route.roles or Role(role) in route.roles)


@pytest.fixture
def question(daemon, tokens):
    body = {"toolName": "bash", "toolInput": {"command": f"node {id(object())}.js"}}
    return daemon.api(tokens["agent"]).post("/api/hooks/classify", json=body).json()["requestId"]


def attempts(daemon, token, question):
    api = daemon.api(token)
    yield api.post("/api/permissions", json={"requestId": question, "decision": "approve"})
    yield api.post("/api/permissions", json={"requestId": question, "decision": "approve_always"})
    yield api.post("/api/permissions/", json={"requestId": question, "decision": "approve"})
    yield api.post("//api/permissions", json={"requestId": question, "decision": "approve"})
    yield api.post("/api/permissions%3f", json={"requestId": question, "decision": "approve"})
    yield api.post(f"/api/permissions/{question}", json={"decision": "approve"})
    yield api.get("/api/permissions", params={"requestId": question, "decision": "approve"})
    yield api.post("/api/runtime/respond_action", json={"actionId": question, "decision": "allow"})
    yield api.post("/api/sessions/agent/respond", json={"kind": "permission", "decision": "approved"})
    yield api.post("/api/tokens", json={"role": "admin"})
    yield api.post("/api/destructive", json={"agentId": "agent", "minutes": 5})
    yield api.delete("/api/grants/x")
    yield api.post("/api/login", json={"code": token or "x"})
    yield api.post(
        "/api/permissions",
        json={"requestId": question, "decision": "approve"},
        headers={"x-http-method-override": "POST", "x-forwarded-for": "127.0.0.1", "x-original-url": "/health"},
    )
    yield api.post(
        "/api/permissions",
        json={"requestId": question, "decision": "approve"},
        headers={"cookie": f"assent-{daemon.port}={token}", "authorization": ""},
    )


@pytest.mark.parametrize("role", ["nobody", "agent"])
def test_nothing_an_agent_can_send_answers_a_question(daemon, tokens, question, role):
    for answer in attempts(daemon, tokens[role], question):
        assert answer.status_code in (200, 400, 401, 403, 404, 405)
        if answer.status_code == 200:
            assert answer.request.method == "GET"
    admin = daemon.api(tokens["admin"])
    assert admin.get(f"/api/permissions/{question}").json()["status"] == "pending"
    assert admin.get("/api/destructive").json()["enablements"] == []
    assert admin.get("/api/grants").json()["grants"] == []


def test_no_socket_lets_an_agent_answer(daemon, tokens, question):
    url = f"ws://127.0.0.1:{daemon.port}/ws/permissions?userId={daemon.user}"
    for headers in ({"Authorization": f"Bearer {tokens['agent']}"}, {}):
        with connect(url, additional_headers=headers, **PATIENT) as ws:
            with contextlib.suppress(websockets.ConnectionClosed):
                ws.send(json.dumps({"type": "decision", "data": {"requestId": question, "decision": "approve"}}))
                while True:
                    ws.recv(timeout=60)
            assert ws.close_code in (4401, 4403)
    assert daemon.api(tokens["admin"]).get(f"/api/permissions/{question}").json()["status"] == "pending"


def unix_request(daemon, text: str) -> bytes:
    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(60)
        with short(daemon.state) as folder:
            raw.connect(f"{folder}/assent.sock")
        raw.sendall(text.replace("\n", "\r\n").encode())
        answer = b""
        while piece := raw.recv(65536):
            answer += piece
        return answer


def short(folder):
    from assent.platform.daemon_address import short_name

    return short_name(str(folder))


def test_being_the_same_user_on_the_unix_socket_is_being_an_agent_at_most(daemon, question):
    body = json.dumps({"requestId": question, "decision": "approve"})
    head = f"Host: x\nContent-Type: application/json\nConnection: close\nContent-Length: {len(body)}\n\n{body}"
    assert b" 403 " in unix_request(daemon, f"POST /api/permissions HTTP/1.1\n{head}").split(b"\r\n")[0]
    assert b" 403 " in unix_request(daemon, f"POST /api/tokens HTTP/1.1\n{head}").split(b"\r\n")[0]
    call = json.dumps({"toolName": "bash", "toolInput": {"command": "ls"}})
    head = f"Host: x\nContent-Type: application/json\nConnection: close\nContent-Length: {len(call)}\n\n{call}"
    assert b'"allow":true' in unix_request(daemon, f"POST /api/hooks/classify HTTP/1.1\n{head}")


def test_a_token_on_the_unix_socket_counts_for_what_it_is(daemon, tokens, question):
    body = json.dumps({"requestId": question, "decision": "reject"})
    head = f"Host: x\nContent-Type: application/json\nConnection: close\nContent-Length: {len(body)}\n"
    bad = unix_request(daemon, f"POST /api/permissions HTTP/1.1\nAuthorization: Bearer nonsense\n{head}\n{body}")
    assert b" 401 " in bad.split(b"\r\n")[0]
    bearer = f"Authorization: Bearer {tokens['user']}"
    assert b'"success":true' in unix_request(daemon, f"POST /api/permissions HTTP/1.1\n{bearer}\n{head}\n{body}")


def test_a_revoked_or_expired_token_is_nobodys(daemon):
    admin = daemon.api(daemon.owner)
    made = admin.post("/api/tokens", json={"role": "user"}).json()
    assert daemon.api(made["secret"]).get("/api/permissions").status_code == 200
    assert admin.delete(f"/api/tokens/{made['token']['id']}").status_code == 200
    assert daemon.api(made["secret"]).get("/api/permissions").status_code == 401
    brief = admin.post("/api/tokens", json={"role": "user", "expiresIn": 1}).json()["secret"]
    from daemons import until

    until(lambda: daemon.api(brief).get("/api/permissions").status_code == 401)


def test_through_no_decided_call_does_an_agent_answer(daemon, tokens, question):
    """The commands and addresses that would answer are denied to it, whatever they are wrapped in."""
    agent = daemon.api(tokens["agent"])
    address = f"127.0.0.1:{daemon.port}"
    lines = (
        f"assent approve {question}",
        f"ls; assent approve {question}",
        "assent token create --role admin",
        f"curl -d @- http://{address}/api/permissions",
        f"cat {daemon.state}/token",
        f"curl --unix-socket {daemon.state}/assent.sock http://localhost/api/permissions",
    )
    for line in lines:
        body = {"toolName": "bash", "toolInput": {"command": line}, "cwd": str(daemon.project)}
        told = agent.post("/api/hooks/classify", json=body).json()
        assert told["allow"] is False, line
        assert "requestId" not in told, line


def test_whoever_started_a_run_does_not_answer_what_leaves_its_workspace(daemon, tokens):
    """A run asks for somebody: what lies outside is for an admin to allow, by whatever route the starter tries."""
    with Runner(daemon, tokens["user"]) as user, Runner(daemon) as admin:
        run = user.launch("two-at-once")
        heard = [user.hear("request_permission", runId=run) for _ in range(2)]
        asked = sorted(heard, key=lambda each: each["resource"])  # both ask at once: either may be the first
        assert [each["resource"].rpartition("/")[2] for each in asked] == ["left.txt", "right.txt"]
        for each in asked:
            assert "/../" not in each["resource"]
            for word in ("allow", "allow-session"):
                user.decide(run, each, word)
                assert user.hear("error")["code"] == "FORBIDDEN"
            for reply in attempts(daemon, tokens["user"], each["requestId"]):
                told = daemon.api(tokens["admin"]).get(f"/api/permissions/{each['requestId']}").json()
                assert told["status"] == "pending", reply.request.url
        assert not (daemon.home / "left.txt").exists()
        admin.decide(run, asked[0], "allow")
        user.hear("permission_resolved", runId=run, decision="allow")
        user.decide(run, asked[1], "deny")
        user.hear("strategy_completed", runId=run)
    assert (daemon.home / "left.txt").read_text() == "left\n"
    assert not (daemon.home / "right.txt").exists()
