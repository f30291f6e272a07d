"""Requests that come at the same time: each is decided, recorded once, and answered for itself."""

from __future__ import annotations

import json
import socket

import pytest

MIXED = (
    ("ls -la", {"allow": True, "tier": "safe"}),
    ("node x.js", {"allow": False, "tier": "dangerous"}),
    ("rm -rf /", {"allow": False, "tier": "destructive"}),
    ("git status", {"allow": True, "tier": "safe"}),
)
ROUNDS = 12


class Line:
    """A connection over which questions are asked one after the other."""

    def __init__(self, daemon, token):
        self.daemon, self.token = daemon, token
        self.socket = socket.create_connection(("127.0.0.1", daemon.port), timeout=60)
        self.file = self.socket.makefile("rb")

    def send(self, body):
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        head = f"POST /api/hooks/classify HTTP/1.1\r\nHost: 127.0.0.1:{self.daemon.port}\r\n"
        head += f"Authorization: Bearer {self.token}\r\nContent-Type: application/json\r\n"
        self.socket.sendall(f"{head}Content-Length: {len(text)}\r\n\r\n".encode() + text)

    def read(self):
        status = int(self.file.readline().split()[1])
        length = 0
        while line := self.file.readline().strip():
            name, _, value = line.partition(b": ")
            length = int(value) if name == b"content-length" else length
        return status, json.loads(self.file.read(length))

    def close(self):
        self.file.close()
        self.socket.close()


def bash(command):
    return {"toolName": "bash", "toolInput": {"command": command}}


@pytest.fixture
def lines(daemon):
    token = daemon.mint("agent", agent="crowd", remote=True)
    opened = [Line(daemon, token) for _ in range(len(MIXED) * ROUNDS)]
    yield opened
    for line in opened:
        line.close()


def test_each_gets_its_own_answer_and_is_on_record_once(daemon, lines):
    owner = daemon.api(daemon.owner)
    before = owner.get("/api/audit", params={"agent": "crowd", "type": "permission.evaluated", "limit": 200}).json()
    for number, line in enumerate(lines):
        line.send(bash(f"{MIXED[number % len(MIXED)][0]} # {number}"))
    for number, line in enumerate(lines):
        status, answer = line.read()
        expected = MIXED[number % len(MIXED)][1]
        assert (status, {name: answer[name] for name in expected}) == (200, expected)
        assert ("requestId" in answer) == (expected["tier"] == "dangerous")
    after = owner.get("/api/audit", params={"agent": "crowd", "type": "permission.evaluated", "limit": 200}).json()
    assert len(after["events"]) - len(before["events"]) == len(lines)


def test_who_asks_wrongly_is_refused_and_nobody_else(lines):
    wrong = (
        (b"{", 400, {"allow": False, "reason": "Invalid JSON body"}),
        (b"{}", 400, {"allow": False, "reason": "Missing toolName"}),
        ({**bash("ls"), "agentId": "somebody else"}, 403, {"error": "Forbidden"}),
        ({**bash("ls"), "cwd": "x"}, 400, {"allow": False, "reason": "Expected cwd to be an absolute path"}),
    )
    for number, line in enumerate(lines):
        line.send(bash("ls") if number % 2 else wrong[number // 2 % len(wrong)][0])
    for number, line in enumerate(lines):
        status, answer = line.read()
        if number % 2:
            assert (status, answer["allow"]) == (200, True)
        else:
            assert (status, answer) == wrong[number // 2 % len(wrong)][1:]


def test_who_leaves_before_the_answer_keeps_nobody_from_theirs(lines):
    for line in lines:
        line.send(bash("ls"))
    for line in lines[::2]:
        line.close()
    assert [line.read()[1]["allow"] for line in lines[1::2]] == [True] * (len(lines) // 2)
    lines[3].send(bash("pwd"))
    assert lines[3].read()[1]["allow"] is True


def test_who_becomes_a_socket_while_an_answer_is_due_is_hung_up_on_and_others_are_not(daemon, lines):
    upgrade = (
        f"GET /ws/permissions?userId=x HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    ).encode()
    for _ in range(5):
        rude = Line(daemon, lines[0].token)
        rude.send(bash("ls"))
        rude.socket.sendall(upgrade)
        rude.close()
        for line in lines[:8]:
            line.send(bash("ls"))
        assert [line.read()[1]["allow"] for line in lines[:8]] == [True] * 8
