"""Questions that come at the same time: decided together, and answered each for itself."""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import types

import pytest

from assent.model import Session, ToolCall
from assent.server import turns
from assent.server.errands import Errand
from assent.server.messages import Refusal, Reply
from assent.server.moments import Moment
from assent.server.routes import AtOnce
from assent.server.turns import MOST, Turns
from keeping import soon

MIXED = (
    ("ls -la", {"allow": True, "tier": "safe"}),
    ("node x.js", {"allow": False, "tier": "dangerous"}),
    ("rm -rf /", {"allow": False, "tier": "destructive"}),
    ("git status", {"allow": True, "tier": "safe"}),
)
ROUNDS = 12


class Line:
    """A connection over which questions with the same head are asked: all are padded to one length."""

    def __init__(self, daemon, token):
        self.daemon, self.token = daemon, token
        self.socket = socket.create_connection(("127.0.0.1", daemon.port), timeout=60)
        self.file = self.socket.makefile("rb")

    def send(self, body):
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        text = text.ljust(200)
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
    opened[0].send(bash("pwd"))  # from now on the head is known
    assert opened[0].read()[0] == 200
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


class Wire:
    """As much of a connection as an errand needs, and what became of it."""

    def __init__(self):
        self.sent, self.closed, self.peer = [], False, None
        self.flow = types.SimpleNamespace(write_paused=False)
        self.server_state = types.SimpleNamespace(default_headers=[])
        self.transport = self

    def write(self, data):
        self.sent.append(data)

    def close(self):
        self.closed = True

    def is_closing(self):
        return self.closed

    def rest(self):
        pass

    def spawn(self, work):
        self.work = asyncio.ensure_future(work)


class Desk:
    """An application with a daemon that settles whatever it is asked, but for the fault at one place."""

    def __init__(self, place=""):
        self.place, self.left = place, 1
        self.gate = self.metrics = self
        self.turns = Turns(self, self)

    def reach(self, place):
        if place == self.place and self.left:
            self.left -= 1
            raise RuntimeError(place)

    def admit(self, errand):
        self.reach("admit")
        return errand.body

    def read(self, _daemon, request):
        self.reach("read")
        if request == b"wrong":
            raise Refusal(400, "wrong")
        return ToolCall(tool=request.decode(), input={}), Session()

    def fail(self, _error, _knock):
        self.reach("fail")
        return Reply(400, b"no")

    def weigh(self, asked):
        self.reach("weigh")
        return [types.SimpleNamespace(settled=call.tool != "open") for call, _ in asked]

    async def decide_weighed(self, _weighed, *, prefix):
        self.reach("decide_weighed")
        assert prefix == "hook"
        return types.SimpleNamespace(decision=None)

    async def record_all(self, weighed):
        self.reach("record_all")
        return [types.SimpleNamespace(decision=None)] * len(weighed)

    def count_decision(self, _decision):
        self.reach("count_decision")

    def write(self, _ruling):
        self.reach("write")
        return Reply(200, b"yes")

    def wires(self, *bodies):
        """Have questions asked in one turn; return what became of each: an answer, or a closed connection."""

        async def main():
            asyncio.get_running_loop().set_exception_handler(lambda *_: None)
            return await self.ask(*bodies)

        return asyncio.run(main())

    async def ask(self, *bodies):
        route = types.SimpleNamespace(at_once=AtOnce(self.read, self.write))
        wires = [Wire() for _ in bodies]
        for wire, body in zip(wires, bodies, strict=True):
            wire.rest = lambda: self.reach("rest")
            self.turns.take(Errand(wire, types.SimpleNamespace(route=route), body))
        for _ in range(5):
            await asyncio.sleep(0)
        return wires


def outcome(wire):
    assert len(wire.sent) <= 1
    return wire.sent[0][-3:].strip().decode() if wire.sent else "closed" if wire.closed else "hangs"


def test_each_is_answered_where_nothing_goes_wrong():
    assert [outcome(wire) for wire in Desk().wires(b"ls", b"wrong", b"ls")] == ["yes", "no", "yes"]


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ("admit", ["no", "no", "yes"]),
        ("read", ["no", "no", "yes"]),
        ("fail", ["yes", "closed", "yes"]),
        ("count_decision", ["no", "no", "yes"]),
        ("write", ["no", "no", "yes"]),
        ("rest", ["yes", "no", "yes"]),
        ("weigh", ["closed", "no", "closed"]),
        ("record_all", ["closed", "no", "closed"]),
    ],
)
def test_a_fault_anywhere_leaves_nobody_without_an_answer_or_an_end(place, found):
    assert [outcome(wire) for wire in Desk(place).wires(b"ls", b"wrong", b"ls")] == found


@pytest.mark.parametrize("place", ["decide_weighed", "count_decision", "write"])
def test_a_fault_with_what_a_person_must_say_is_an_answer_too(place):
    assert [outcome(wire) for wire in Desk(place).wires(b"open", b"open")] == ["no", "yes"]


def test_who_can_not_even_be_refused_is_hung_up_on():
    desk = Desk("write")
    desk.fail = lambda *_: 1 // 0
    assert [outcome(wire) for wire in desk.wires(b"open", b"open")] == ["closed", "yes"]


class Slow(Desk):
    """Writes down when it is told to."""

    def __init__(self):
        super().__init__()
        self.written = asyncio.Event()
        self.turns_taken = []

    def weigh(self, asked):
        self.turns_taken.append(len(asked))
        return super().weigh(asked)

    async def record_all(self, weighed):
        await self.written.wait()
        return await super().record_all(weighed)


def answered(*groups):
    return [outcome(wire) for group in groups for wire in group]


def test_who_comes_while_others_are_written_down_is_gathered_until_that_is_done(monkeypatch):
    monkeypatch.setattr(turns, "GATHERING", 60)

    async def main():
        desk = Slow()
        groups = [await desk.ask(b"ls", b"ls")]
        groups += [await desk.ask(*[b"ls"] * more) for more in (1, 2, 3)]
        assert desk.turns_taken == [2]
        desk.written.set()
        for _ in range(5):
            await asyncio.sleep(0)
        assert (answered(*groups), desk.turns_taken) == (["yes"] * 8, [2, 6])
        assert answered(await desk.ask(b"ls")) == ["yes"]  # who asks alone does not wait

    asyncio.run(main())


def test_they_are_gathered_for_a_moment_at_most(monkeypatch):
    monkeypatch.setattr(turns, "GATHERING", 0.05)

    async def main():
        desk = Slow()
        first, later = await desk.ask(b"ls"), await desk.ask(b"ls", b"wrong")
        assert answered(first, later) == ["hangs"] * 3
        await soon(lambda: desk.turns_taken == [1, 1])
        assert answered(first, later) == ["hangs", "hangs", "no"]
        desk.written.set()
        for _ in range(5):
            await asyncio.sleep(0)
        assert answered(first, later) == ["yes", "yes", "no"]

    asyncio.run(main())


def test_they_are_gathered_until_a_turn_is_full(monkeypatch):
    monkeypatch.setattr(turns, "GATHERING", 60)

    async def main():
        desk = Slow()
        await desk.ask(b"ls")
        await desk.ask(*[b"ls"] * (MOST - 1))
        assert desk.turns_taken == [1]
        await desk.ask(b"ls")
        assert desk.turns_taken == [1, MOST]
        desk.written.set()

    asyncio.run(main())


def test_of_very_many_each_is_answered_though_not_in_one_turn():
    found = Desk().wires(*[b"ls", b"wrong", b"ls"] * MOST)
    assert [outcome(wire) for wire in found] == ["yes", "no", "yes"] * MOST


def test_who_comes_after_a_look_at_the_disk_is_not_decided_by_it():
    moment, count, seen = Moment(), itertools.count(), []
    look = moment.once(lambda _path: next(count))

    class Looking(Desk):
        def weigh(self, asked):
            seen.append([look("a") for _ in asked])
            return super().weigh(asked)

    desk = Looking()

    async def main():
        first = asyncio.ensure_future(desk.ask(*[b"ls"] * (MOST + 3)))
        later = asyncio.ensure_future(desk.ask(b"ls"))
        assert [outcome(wire) for wire in (*await first, *await later)] == ["yes"] * (MOST + 4)

    asyncio.run(main())
    assert seen == [[0] * MOST, [1] * 4]


def test_an_answer_that_can_not_be_sent_ends_its_own_connection_alone():
    desk = Desk()
    wire = Wire.write
    try:
        Wire.write = lambda self, data: desk.reach("send") or wire(self, data)
        desk.place = "send"
        found = [outcome(each) for each in desk.wires(b"ls", b"ls", b"ls")]
    finally:
        Wire.write = wire
    assert found == ["closed", "yes", "yes"]


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
