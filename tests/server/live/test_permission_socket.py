"""`WS /ws/permissions`, to the letter: who may listen, what is told to whom, and what becomes of bad clients."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import socket
import threading
import time
from types import SimpleNamespace

import pytest
import websockets
from starlette.websockets import WebSocket
from websockets.sync.client import connect

from assent.server.live.websockets import CloseError, Guarded
from daemons import PATIENT, Running, until


@pytest.fixture(scope="module")
def user(daemon):
    return daemon.user


@pytest.fixture(scope="module")
def token(daemon):
    return daemon.mint("user")


def listen(daemon, user, token=None, **kwargs):
    query = f"?userId={user}" if user is not None else ""
    headers = dict(kwargs.pop("headers", {}))
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    return connect(
        f"ws://127.0.0.1:{daemon.port}/ws/permissions{query}",
        additional_headers=headers,
        **PATIENT,
        **kwargs,
    )


def hear(ws, kind, seconds=60.0, **data):
    """Return the next message of a kind, passing over others (heartbeats, other questions)."""
    end = time.monotonic() + seconds
    while True:
        message = json.loads(ws.recv(timeout=max(0.01, end - time.monotonic())))
        if message["type"] == kind and all(message["data"].get(k) == v for k, v in data.items()):
            return message["data"]


def ask(agent, command):
    body = {"toolName": "bash", "toolInput": {"command": command}}
    return agent.post("/api/hooks/classify", json=body).json()["requestId"]


def closed_with(ws):
    with contextlib.suppress(websockets.ConnectionClosed):
        while True:
            ws.recv(timeout=60)
    return ws.close_code, ws.close_reason


def test_connecting_is_confirmed(daemon, user, token):
    with listen(daemon, user, token) as ws:
        first = json.loads(ws.recv())
    assert first["type"] == "connected"
    assert first["data"]["userId"] == user
    assert isinstance(first["data"]["timestamp"], int)


def test_without_a_user_it_is_closed_with_4001_whoever_it_is(daemon, token):
    for given in (None, "nonsense", token):
        for query in (None, "", "ann" + "&more=1" * 50):
            with listen(daemon, query, given) as ws:
                assert closed_with(ws) == (4001, "Missing userId")


def test_without_a_good_token_it_is_closed_with_4401(daemon, user):
    for given in (None, "nonsense"):
        with listen(daemon, user, given) as ws:
            assert closed_with(ws)[0] == 4401


def test_an_agent_or_somebody_else_is_closed_with_4403(daemon, user, token):
    with listen(daemon, user, daemon.mint("agent", agent="a")) as ws:
        assert closed_with(ws)[0] == 4403
    with listen(daemon, "somebody", token) as ws:
        assert closed_with(ws)[0] == 4403


def test_an_admin_may_hear_of_everybodys_questions_and_nobody_else_may(daemon, user, token):
    agent = daemon.api(daemon.mint("agent", user="dora", agent="a", remote=True))
    with listen(daemon, f"{user}&everyone=true", token) as ws:
        assert closed_with(ws)[0] == 4403
    star = daemon.mint("user", user="*")
    with listen(daemon, f"{user}&everyone=true", daemon.owner) as admin, listen(daemon, "*", star) as other:
        assert hear(admin, "connected")["userId"] == user
        asked = ask(agent, "node doras.js")
        assert hear(admin, "permission_request", id=asked)["agentId"] == "a"
        daemon.api(daemon.owner).post("/api/permissions", json={"requestId": asked, "decision": "reject"})
        assert hear(admin, "decision_ack", requestId=asked)["decision"] == "reject"
        with pytest.raises(TimeoutError):
            hear(other, "permission_request", seconds=0.5)


def test_a_token_may_come_as_a_subprotocol(daemon, user, token):
    with listen(daemon, user, subprotocols=["assent", f"assent.bearer.{token}"]) as ws:
        assert ws.subprotocol == "assent"
        assert hear(ws, "connected")["userId"] == user
    with listen(daemon, user, subprotocols=[f"assent.bearer.{token}"]) as ws:
        assert hear(ws, "connected")["userId"] == user
    with listen(daemon, user, subprotocols=["assent.bearer.nonsense"]) as ws:
        assert closed_with(ws)[0] == 4401


def test_every_session_of_the_user_gets_every_question_and_every_answer(daemon, user, token, agent, person):
    with listen(daemon, user, token) as one, listen(daemon, user, token) as two:
        hear(one, "connected")
        hear(two, "connected")
        wanted = ask(agent, "node ws-1.js")
        for ws in (one, two):
            told = hear(ws, "permission_request", id=wanted)
            assert told.keys() >= {"id", "command", "tier", "reason", "agentId"}
            assert (told["command"], told["tier"], told["agentId"]) == ("node ws-1.js", "dangerous", "agent_123")
            assert told["reason"].startswith("Dangerous command: ")
        one.send(json.dumps({"type": "decision", "data": {"requestId": wanted, "decision": "approve"}}))
        for ws in (one, two):
            told = hear(ws, "decision_ack", requestId=wanted)
            assert told["decision"] == "approve"
            assert isinstance(told["timestamp"], int)
        assert person.get(f"/api/permissions/{wanted}").json()["status"] == "approved"


def test_an_answer_by_rest_is_acknowledged_too(daemon, user, token, agent, person):
    with listen(daemon, user, token) as ws:
        wanted = ask(agent, "node ws-2.js")
        hear(ws, "permission_request", id=wanted)
        person.post("/api/permissions", json={"requestId": wanted, "decision": "reject"})
        assert hear(ws, "decision_ack", requestId=wanted)["decision"] == "reject"


def test_what_is_pending_is_sent_on_connecting_once(daemon, user, token, agent):
    wanted = ask(agent, "node ws-3.js")
    with listen(daemon, user, token) as ws:
        assert hear(ws, "connected")
        assert hear(ws, "permission_request", id=wanted)
        with pytest.raises(TimeoutError):
            hear(ws, "permission_request", seconds=1.0, id=wanted)


def test_what_other_tools_are_asked_about_has_a_name_and_a_resource(daemon, user, token, agent):
    with listen(daemon, user, token) as ws:
        body = {"toolName": "write", "toolInput": {"path": "/home/u/.ssh/config"}}
        wanted = agent.post("/api/hooks/classify", json=body).json()["requestId"]
        command = hear(ws, "permission_request", id=wanted)["command"]
    assert "/home/u/.ssh/config" in command
    assert "write" in command.lower()


def test_a_ping_is_answered_and_a_heartbeat_comes_by_itself(daemon, user, token):
    with listen(daemon, user, token) as ws:
        ws.send('{"type": "ping"}')
        assert isinstance(hear(ws, "pong")["timestamp"], int)
        assert isinstance(hear(ws, "heartbeat")["timestamp"], int)


BAD = [
    ("not json", "Invalid JSON"),
    ("", "Invalid JSON"),
    (b"\xff\xff", "Invalid JSON"),
    ("[" * 10_000, "Invalid JSON"),
    ("[]", "Invalid message"),
    ("3", "Invalid message"),
    ("{}", "Invalid message"),
    ('{"type": 3}', "Invalid message"),
    ('{"type": "decision", "data": 3}', "Invalid message"),
    ('{"type": "dance"}', "Unknown message type"),
    ('{"type": "decision"}', "Missing requestId or decision"),
    ('{"type": "decision", "data": {"requestId": "x"}}', "Missing requestId or decision"),
    ('{"type": "decision", "data": {"requestId": 1, "decision": "approve"}}', "Missing requestId or decision"),
    (
        '{"type": "decision", "data": {"requestId": "x", "decision": "approve_always"}}',
        "Invalid decision value. Must be one of: approve, reject.",
    ),
    ('{"type": "decision", "data": {"requestId": "x", "decision": "approve"}}', "Request not found"),
]


@pytest.mark.parametrize(("message", "complaint"), BAD)
def test_a_bad_message_is_complained_about_and_the_socket_stays(daemon, user, token, message, complaint):
    with listen(daemon, user, token) as ws:
        ws.send(message)
        assert hear(ws, "error") == {"message": complaint}
        ws.send('{"type": "ping"}')
        hear(ws, "pong")


def test_a_second_answer_is_an_error_that_says_who_was_first(daemon, user, token, agent, person):
    with listen(daemon, user, token) as ws:
        wanted = ask(agent, "node ws-4.js")
        person.post("/api/permissions", json={"requestId": wanted, "decision": "reject"})
        ws.send(json.dumps({"type": "decision", "data": {"requestId": wanted, "decision": "approve"}}))
        assert hear(ws, "error")["message"] == f"Request not found: already rejected by {user}"


def test_somebody_elses_question_can_not_be_answered(daemon, agent):
    stranger = daemon.mint("user", user="stranger")
    wanted = ask(agent, "node ws-5.js")
    with listen(daemon, "stranger", stranger) as ws:
        ws.send(json.dumps({"type": "decision", "data": {"requestId": wanted, "decision": "approve"}}))
        assert hear(ws, "error")["message"] == "Request not found"


def upgrade(port, *headers, path="/ws/permissions?userId=x", host=None):
    """Ask for a WebSocket by hand and return the status line."""
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [f"GET {path} HTTP/1.1", *([f"Host: {host or f'127.0.0.1:{port}'}"] if host != "" else [])]
    lines += ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}"]
    with socket.create_connection(("127.0.0.1", port), 60) as raw:
        raw.sendall("\r\n".join([*lines, *headers, "", ""]).encode())
        return int(raw.recv(4096).split(b" ", 2)[1])


@pytest.mark.parametrize(
    "origin", ["null", "https://evil.example", "http://localhost:3000", "http://127.0.0.1.nip.io", "file://"]
)
@pytest.mark.parametrize("with_token", [True, False])
def test_a_strange_origin_is_403_before_the_handshake(daemon, token, user, origin, with_token):
    bearer = [f"Authorization: Bearer {token}"] if with_token else []
    assert upgrade(daemon.port, f"Origin: {origin}", *bearer, path=f"/ws/permissions?userId={user}") == 403


@pytest.mark.parametrize("host", ["attacker.example", "localhost.", "127.0.0.1", "127.0.0.1.nip.io", "LOCALHOST"])
def test_a_strange_host_is_403_before_the_handshake(daemon, token, host):
    name = host if ":" in host else f"{host}:{daemon.port}" if host != "127.0.0.1" else host
    assert upgrade(daemon.port, f"Authorization: Bearer {token}", host=name) == 403


def test_another_site_is_403_before_the_handshake(daemon, token):
    for site in ("cross-site", "same-site"):
        headers = (f"Authorization: Bearer {token}", f"Sec-Fetch-Site: {site}", "Sec-Fetch-Mode: navigate")
        assert upgrade(daemon.port, *headers) == 403


def test_our_own_origin_or_none_is_let_in_with_a_token(daemon, token):
    bearer = f"Authorization: Bearer {token}"
    assert upgrade(daemon.port, bearer) == 101
    assert upgrade(daemon.port, bearer, f"Origin: http://localhost:{daemon.port}") == 101


def test_with_a_cookie_an_origin_is_demanded(daemon, user):
    link = daemon.run("token", "link").stdout.strip().partition("#")[2]
    browser = daemon.api(origin=daemon.url)
    assert browser.post("/api/login", json={"code": link}).status_code == 200
    (cookie,) = browser.cookies.jar
    baked = f"Cookie: {cookie.name}={cookie.value}"
    assert upgrade(daemon.port, baked, path=f"/ws/permissions?userId={user}") == 403
    assert upgrade(daemon.port, baked, f"Origin: {daemon.url}", path=f"/ws/permissions?userId={user}") == 101
    with listen(daemon, user, headers={"Cookie": f"{cookie.name}={cookie.value}", "Origin": daemon.url}) as ws:
        hear(ws, "connected")


def test_another_path_is_404(daemon, token):
    assert upgrade(daemon.port, f"Authorization: Bearer {token}", path="/ws/nothing") == 404


GARBAGE = [
    b"\x00" * 100,
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"POST /api/hooks/classify HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
    b"POST /api/hooks/classify HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 10_000,
    os.urandom(4096),
]


@pytest.mark.parametrize("data", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_on_a_connection_hurts_nobody_else(daemon, data):
    with socket.create_connection(("127.0.0.1", daemon.port), 60) as raw:
        raw.sendall(data)
        raw.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := raw.recv(65536):
            answer += piece
    assert b" 200 " not in answer.split(b"\r\n")[0]
    assert daemon.api().get("/health").status_code == 200


def test_garbage_frames_hurt_nobody_else(daemon, user, token):
    for frame in (os.urandom(500), b"\xff\xff\xff\xff\xff", b"\x81\xfe\xff\xff" + b"\0" * 50, b"\x8f\x80\0\0\0\0"):
        with listen(daemon, user, token) as ws:
            hear(ws, "connected")
            ws.socket.sendall(frame)
            with contextlib.suppress(OSError):  # it may have hung up on the garbage already
                ws.socket.shutdown(socket.SHUT_WR)
            assert closed_with(ws)
    assert daemon.api().get("/health").status_code == 200


def test_a_message_that_is_too_large_closes_its_socket_only(daemon, user, token):
    with listen(daemon, user, token) as ws, listen(daemon, user, token) as other:
        hear(other, "connected")
        ws.send("x" * 200_000)
        assert closed_with(ws)[0] == 1009
        other.send('{"type": "ping"}')
        hear(other, "pong")


def test_a_thousand_idle_sockets_leave_the_daemon_quick_to_answer(daemon, user, token, agent):
    async def crowd():
        url = f"ws://127.0.0.1:{daemon.port}/ws/permissions?userId={user}"
        headers = {"Authorization": f"Bearer {token}"}

        async def join():
            return await websockets.connect(url, additional_headers=headers, **PATIENT)

        sockets = []
        for _ in range(10):
            sockets += await asyncio.gather(*(join() for _ in range(100)))
        await asyncio.to_thread(until, lambda: daemon.api().get("/health").json()["connectedClients"] >= 1000)
        wanted = await asyncio.to_thread(ask, agent, "node crowd.js")
        for ws in sockets:
            while True:
                message = json.loads(await asyncio.wait_for(ws.recv(), 60))
                if message["type"] == "permission_request" and message["data"]["id"] == wanted:
                    break
        await asyncio.gather(*(ws.close() for ws in sockets))

    asyncio.run(crowd())
    until(lambda: daemon.api().get("/health").json()["connectedClients"] == 0)


def test_a_socket_that_never_reads_is_dropped_and_the_others_are_not_held_up(tmp_path):
    with Running(tmp_path, "--rate", "0", "--queue", "4") as running:
        user, token = running.user, running.mint("user")
        agent = running.api(running.mint("agent", agent="loud", remote=True))
        small = socket.socket()
        small.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        small.connect(("127.0.0.1", running.port))
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [
            f"GET /ws/permissions?userId={user} HTTP/1.1",
            f"Host: 127.0.0.1:{running.port}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {key}",
            f"Authorization: Bearer {token}",
        ]
        small.sendall("\r\n".join([*lines, "", ""]).encode())
        until(lambda: running.api().get("/health").json()["connectedClients"] == 1)
        with listen(running, user, token) as good:
            hear(good, "connected")
            for number in range(400):
                wanted = ask(agent, f"node {'x' * 20_000} {number}.js")
                hear(good, "permission_request", id=wanted)
                if running.api().get("/health").json()["connectedClients"] == 1:
                    break
            assert running.api().get("/health").json()["connectedClients"] == 1
            assert "assent_sockets_dropped_total 1" in running.api(running.owner).get("/metrics").text
        small.close()


def test_stopping_closes_sockets_with_1001_and_lets_waiters_go(tmp_path):
    with Running(tmp_path) as running:
        user, token = running.user, running.mint("user")
        agent = running.api(running.mint("agent", agent="a", remote=True))
        told = []
        body = {"toolName": "bash", "toolInput": {"command": "node wait.js"}}
        thread = threading.Thread(
            target=lambda: told.append(agent.post("/api/hooks/classify?wait=60", json=body).json())
        )
        with listen(running, user, token) as ws:
            thread.start()
            hear(ws, "permission_request")
            assert running.stop() == 0
            assert closed_with(ws) == (1001, "Server shutting down")
        thread.join(60)
        assert told[0]["allow"] is False
        assert told[0]["reason"].endswith("repeat the same call")
        running.start()
        (stopped,) = running.api(running.owner).get("/api/audit?type=daemon.stopped").json()["events"]
        assert stopped["body"]["payload"]["version"]
        pending = running.api(token).get("/api/permissions").json()["pending"]
        assert [p["id"] for p in pending] == [told[0]["requestId"]]


@pytest.mark.parametrize("said", ["a decision", "nothing"])
def test_a_socket_whose_token_was_revoked_answers_nothing_and_is_closed(daemon, agent, user, said):
    minted = daemon.api(daemon.owner).post("/api/tokens", json={"role": "user"}).json()
    with listen(daemon, user, minted["secret"]) as ws:
        hear(ws, "connected")
        wanted = ask(agent, f"node revoked_{said.replace(' ', '_')}.js")
        hear(ws, "permission_request", id=wanted)
        assert daemon.api(daemon.owner).delete(f"/api/tokens/{minted['token']['id']}").status_code == 200
        if said != "nothing":
            with contextlib.suppress(websockets.ConnectionClosed):
                ws.send(json.dumps({"type": "decision", "data": {"requestId": wanted, "decision": "approve"}}))
        assert closed_with(ws) == (4401, "Unauthorized")
    assert daemon.api(daemon.owner).get(f"/api/permissions/{wanted}").json()["status"] == "pending"


def test_a_run_socket_whose_token_was_revoked_is_closed_too(daemon):
    minted = daemon.api(daemon.owner).post("/api/tokens", json={"role": "user"}).json()
    headers = {"Authorization": f"Bearer {minted['secret']}"}
    with connect(f"ws://127.0.0.1:{daemon.port}/ws", additional_headers=headers, **PATIENT) as ws:
        ws.send('{"type": "ping"}')
        assert json.loads(ws.recv(timeout=60))["type"] == "pong"
        assert daemon.api(daemon.owner).delete(f"/api/tokens/{minted['token']['id']}").status_code == 200
        assert closed_with(ws) == (4401, "Unauthorized")


def test_what_is_said_at_the_moment_the_token_ends_is_not_obeyed_and_nothing_is_heard():
    said: list[dict] = []

    arriving = iter([{"type": "websocket.connect"}, {"type": "websocket.receive", "text": "{}"}])

    async def receive():
        return next(arriving)

    async def send(message):
        said.append(message)

    async def both():
        websocket = WebSocket({"type": "websocket"}, receive, send)
        await websocket.accept()
        said.clear()
        guarded = Guarded(SimpleNamespace(keys=SimpleNamespace(is_good=lambda _who: False)), None, websocket)
        assert await guarded.hear() == {"type": "websocket.disconnect"}
        with pytest.raises(CloseError):
            await guarded.say({"type": "websocket.send", "text": "secret"})

    asyncio.run(both())
    assert said == [{"type": "websocket.close", "code": 4401, "reason": "Unauthorized"}]


@pytest.fixture
def quiet(tmp_path):
    """A daemon that gives no sign of life for an hour: what is closed is closed for another reason."""
    with Running(tmp_path, "--heartbeat", "1h") as running:
        yield running


def test_logging_out_everywhere_ends_every_socket_and_stream_at_once(quiet):
    login = quiet.api(origin=quiet.url).post("/api/login", json={"token": quiet.owner})
    headers = {"cookie": login.headers["set-cookie"].partition(";")[0], "origin": quiet.url}
    base = f"ws://127.0.0.1:{quiet.port}"
    paths = (f"/ws/permissions?userId={quiet.user}", "/ws")
    with (
        connect(base + paths[0], additional_headers=headers, **PATIENT) as questions,
        connect(base + paths[1], additional_headers=headers, **PATIENT) as runs,
        quiet.api(**headers).stream("GET", "/api/runtime/events") as events,
    ):
        hear(questions, "connected")
        assert quiet.api(quiet.owner).delete("/api/login?everywhere=true").json()["sessions"] >= 1
        assert closed_with(questions) == closed_with(runs) == (4401, "Unauthorized")
        events.read()
        assert quiet.api(quiet.owner).get("/api/login").status_code == 200
