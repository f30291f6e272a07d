"""Requests one after the other over one connection: each is answered as if it were the first."""

from __future__ import annotations

import json
import socket
import threading

import pytest

from daemons import until

PATH = "/api/hooks/classify"
SAFE, ASKED = "ls", "node x.js"


class Wire:
    """A connection, byte by byte."""

    def __init__(self, daemon, token, *, local=False):
        self.daemon, self.token = daemon, token
        self.socket = socket.socket(socket.AF_UNIX if local else socket.AF_INET)
        self.socket.settimeout(60)
        self.socket.connect(str(daemon.state / "assent.sock") if local else ("127.0.0.1", daemon.port))

    def head(self, length, *more, path=PATH, version="1.1"):
        lines = [f"POST {path} HTTP/{version}", f"Host: 127.0.0.1:{self.daemon.port}"]
        lines += [f"Authorization: Bearer {self.token}", "Content-Type: application/json"]
        lines += [f"Content-Length: {length}"] if length is not None else []
        return "\r\n".join([*lines, *more, "", ""]).encode()

    def request(self, command, *more, **form):
        body = json.dumps({"toolName": "bash", "toolInput": {"command": command}}).encode()
        return self.head(len(body), *more, **form) + body

    def read(self):
        """Return an answer's status, its headers in their order, and its body."""
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._more()
        head, _, body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
        while len(body) < int(headers["content-length"]):
            body += self._more()
        length = int(headers["content-length"])
        self.rest = body[length:]
        return int(first.split()[1]), headers, json.loads(body[:length])

    def _more(self):
        piece = self.rest if getattr(self, "rest", b"") else self.socket.recv(65536)
        self.rest = b""
        assert piece, "the connection was closed"
        return piece

    def ask(self, command, *more, **form):
        self.socket.sendall(self.request(command, *more, **form))
        return self.read()


@pytest.fixture
def token(daemon):
    return daemon.mint("agent", agent="agent_123", remote=True)


@pytest.fixture
def dial():
    """Opens connections, and closes them in the end."""
    opened = []

    def connect(daemon, token, **how):
        opened.append(Wire(daemon, token, **how))
        return opened[-1]

    yield connect
    for each in opened:
        each.socket.close()


@pytest.fixture
def line(dial, daemon, token):
    return dial(daemon, token)


def test_who_asks_the_same_way_again_is_answered_the_same_way(line):
    first, second = line.ask(SAFE), line.ask(SAFE)
    assert first[0] == second[0] == 200
    assert first[2] == second[2]
    assert first[2]["allow"] is True
    assert {k: v for k, v in first[1].items() if k != "date"} == {k: v for k, v in second[1].items() if k != "date"}


def test_the_body_is_read_each_time(line):
    assert line.ask("ls -la 1")[2]["allow"] is True
    again = line.ask("node x.js")
    assert line.ask("rm -rf /"[:9])[2]["allow"] is False
    assert again[2]["allow"] is False


def test_whose_token_was_revoked_is_nobody_however_often_they_came(daemon, line):
    line.ask(SAFE)
    owner = daemon.api(daemon.owner)
    mine = max(owner.get("/api/tokens").json()["tokens"], key=lambda token: token["created_at"])
    assert owner.delete(f"/api/tokens/{mine['id']}").status_code == 200
    refused = line.ask(SAFE)
    assert (refused[0], refused[2]) == (401, {"error": "Unauthorized"})
    assert refused[1]["www-authenticate"] == "Bearer"


def test_what_is_wrong_in_the_body_is_told_as_ever(line):
    for text in (b"{" * 20, b"[1, 2, 3, 4, 5, 6]  ", b'{"toolName": 1}     '):
        line.socket.sendall(line.head(len(text)) + text)
        answer = line.read()
        assert (answer[0], answer[2]["allow"]) == (400, False)


@pytest.mark.parametrize("cut", [1, 40, -60, -1])
def test_a_request_that_comes_in_pieces_is_put_together(line, cut):
    line.ask(SAFE)
    whole = line.request(SAFE)
    line.socket.sendall(whole[:cut])
    threading.Event().wait(0.05)
    line.socket.sendall(whole[cut:])
    assert line.read()[2]["allow"] is True
    assert line.ask(SAFE)[2]["allow"] is True


def test_what_stands_behind_a_request_is_a_request_of_its_own(line):
    line.ask(SAFE)
    line.ask(ASKED)
    line.socket.sendall(line.request(SAFE) + line.request(ASKED) + line.request(SAFE))
    assert [line.read()[2]["allow"] for _ in range(3)] == [True, False, True]
    line.socket.sendall(line.request(SAFE))
    line.socket.sendall(line.request(ASKED))
    assert [line.read()[2]["allow"] for _ in range(2)] == [True, False]


def test_a_question_waits_and_is_given_up_with_its_caller(daemon, person, token, dial):
    path = f"{PATH}?wait=30"
    asked = "node waits.js"
    for _ in range(2):
        line = dial(daemon, token)
        line.socket.sendall(line.request(asked, path=path))
        until(lambda: is_asked(person, asked, gone=False))
        line.socket.close()
        until(lambda: is_asked(person, asked, gone=True))
    line = dial(daemon, token)
    line.socket.sendall(line.request(asked, path=path))
    until(lambda: is_asked(person, asked, gone=False))
    (question,) = [q for q in pending(person) if q["command"] == asked]
    person.post("/api/permissions", json={"requestId": question["id"], "decision": "approve"})
    answer = line.read()
    assert answer[2]["allow"] is True


def is_asked(person, command, *, gone):
    return [q for q in pending(person) if q["command"] == command and q.get("callerGone", False) is gone]


def pending(person):
    return person.get("/api/permissions").json()["pending"]


@pytest.mark.parametrize(
    ("more", "form"),
    [
        (("Connection: close",), {}),
        (("Connection: keep-alive",), {}),
        (("Expect: 100-continue",), {}),
        (("TE: trailers",), {}),
        (("X-Long: " + "x" * 4096,), {}),
        ((), {"version": "1.0"}),
    ],
)
def test_heads_that_say_how_to_talk_are_obeyed_each_time(daemon, token, dial, more, form):
    for _ in range(2):
        line = dial(daemon, token)
        line.socket.sendall(line.request(SAFE, *more, **form))
        if "Expect" in str(more):
            assert line.socket.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        answer = line.read()
        assert answer[2]["allow"] is True


def test_a_body_in_chunks_is_read_each_time(line):
    body = line.request(SAFE).partition(b"\r\n\r\n")[2]
    chunked = line.head(None, "Transfer-Encoding: chunked") + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    for _ in range(3):
        line.socket.sendall(chunked)
        answer = line.read()
        assert answer[2]["allow"] is True


def test_what_contradicts_itself_is_refused_each_time(daemon, token, dial):
    for more in (("Content-Length: 1",), ("Transfer-Encoding: chunked",), ("Host: evil.example",)):
        for _ in range(2):
            line = dial(daemon, token)
            line.socket.sendall(line.request(SAFE, *more))
            assert line.socket.recv(65536).startswith(b"HTTP/1.1 400 ")


def test_a_daemon_that_stops_answers_who_waits_and_closes_what_is_open(fresh, dial):
    with fresh as daemon:
        token = daemon.mint("agent", agent="a", remote=True)
        line, waiting = dial(daemon, token), dial(daemon, token)
        for _ in range(2):
            line.ask(SAFE)
        waiting.ask(ASKED, path=f"{PATH}?wait=1")
        person = daemon.api(daemon.owner)
        until(lambda: is_asked(person, ASKED, gone=True))
        waiting.socket.sendall(waiting.request(ASKED, path=f"{PATH}?wait=60"))
        until(lambda: is_asked(person, ASKED, gone=False))
        assert daemon.stop() == 0
        assert waiting.read()[2]["allow"] is False
        assert line.socket.recv(1) == b""
