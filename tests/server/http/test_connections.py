"""Sockets that are slow, because they are kept busy, sockets that are not there any more, and half a request."""

from __future__ import annotations

import asyncio
import contextlib
import functools

import pytest
import uvicorn
from uvicorn.server import ServerState

from assent.server.http import connections
from assent.server.http.connections import LARGEST_HEAD, MOST_BEHIND, HttpConnection, SocketConnection
from keeping import soon

SECONDS = 20.0


class Transport:
    """What is left of a connection when nothing is sent over it."""

    def __init__(self) -> None:
        self.aborted = False

    def is_closing(self):
        return True

    def abort(self):
        self.aborted = True


class Clock:
    """A loop that only tells the time, and keeps what is to be done later."""

    def __init__(self) -> None:
        self.now = 100.0
        self.later = []

    def time(self):
        return self.now

    def call_later(self, seconds, action):
        self.later.append((self.now + seconds, action))
        return self.later[-1]


def connection(clock, queue):
    made = SocketConnection.__new__(SocketConnection)
    made.loop, made.transport, made.queue = clock, Transport(), queue
    made.ping_timeout, made.close_sent, made.read_paused = SECONDS, False, False
    made._heard_at = clock.now
    return made


def test_who_sent_something_or_waits_to_be_obeyed_is_there_and_who_is_silent_is_given_up():
    clock, queue = Clock(), asyncio.Queue()
    made = connection(clock, queue)
    queue.put_nowait({"type": "websocket.receive", "text": "{}"})
    clock.now += SECONDS - 1
    asyncio.run(made.receive())  # obeyed only now: an answer to a ping may stand behind it
    clock.now += 1
    made.keepalive_timeout()
    assert not made.transport.aborted
    (due, again) = clock.later.pop()
    assert due == clock.now + SECONDS - 1
    clock.now = due
    again()
    assert made.transport.aborted


class Waiting:
    """An application that answers once it is told to, and notes who hung up before."""

    def __init__(self):
        self.answer = asyncio.Event()
        self.begun = []
        self.left = []

    async def __call__(self, scope, receive, send):
        self.begun.append(scope["path"])
        while (await receive()).get("more_body", False):
            pass
        answered = asyncio.ensure_future(self.answer.wait())
        leaving = asyncio.ensure_future(receive())
        await asyncio.wait((answered, leaving), return_when=asyncio.FIRST_COMPLETED)
        if leaving.done():
            self.left.append(scope["path"])
            answered.cancel()
            return
        leaving.cancel()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})


@contextlib.asynccontextmanager
async def dialled(app=None, **more):
    """A connection to such an application: to write to, to read from."""
    app = app or Waiting()
    config = uvicorn.Config(
        app, http=HttpConnection, ws=SocketConnection, lifespan="off", log_config=None, proxy_headers=False, **more
    )
    config.load()
    connect = functools.partial(HttpConnection, config, ServerState(), {})
    server = await asyncio.get_running_loop().create_server(connect, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    try:
        yield app, reader, writer
    finally:
        writer.close()
        server.close()


async def turn():
    """Let the loop do what is due."""
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.fixture
def wait(monkeypatch):
    """Has time go by, which it does by nothing else: a machine that is busy with other things takes none of it."""
    now = 1000.0
    monkeypatch.setattr(asyncio.SelectorEventLoop, "time", lambda _loop: now)

    async def seconds(passed):
        nonlocal now
        now += passed
        await turn()

    return seconds


def request(path="/a", body=b"", more=b""):
    return b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n%b\r\n%b" % (path.encode(), len(body), more, body)


WHOLE = request(body=b"x" * 200_000)


@pytest.mark.parametrize("first", [b"", WHOLE])
@pytest.mark.parametrize("piece", [b"a" * 8192, b"X-A: b\r\n" * 1000])
@pytest.mark.parametrize("start", [b"GET /", b"GET / HTTP/1.1\r\nX-A: b"])
def test_a_head_without_an_end_is_refused(first, start, piece):
    async def main():
        async with dialled() as (app, reader, writer):
            app.answer.set()
            if first:
                writer.write(first)
                assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
            writer.write(start)
            with contextlib.suppress(ConnectionError):
                for _ in range(LARGEST_HEAD // len(piece) + 1):
                    writer.write(piece)
                    await writer.drain()
                answer = await reader.read()
                assert answer.startswith((b"HTTP/1.1 431 ", b"HTTP/1.1 400 "))

    asyncio.run(main())


def test_lines_behind_a_body_without_an_end_are_refused():
    async def main():
        async with dialled() as (_, reader, writer):
            writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n")
            with contextlib.suppress(ConnectionError):
                for _ in range(LARGEST_HEAD // 8 + 2):
                    writer.write(b"X-A: bc\r\n" * 10)
                    await writer.drain()
                assert await reader.read() == b""

    asyncio.run(main())


def test_some_requests_may_wait_behind_another_but_not_ever_more():
    async def main():
        async with dialled() as (app, reader, writer):
            writer.write(request() * (1 + MOST_BEHIND))
            await asyncio.sleep(0.05)
            app.answer.set()
            for _ in range(1 + MOST_BEHIND):
                assert b"200 OK" in await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
            app.answer.clear()
            writer.write(request() * (2 + MOST_BEHIND))
            assert await asyncio.wait_for(reader.read(), 10) == b""

    asyncio.run(main())


def test_garbage_behind_a_question_is_not_answered_in_its_place():
    async def main():
        async with dialled() as (_, reader, writer):
            writer.write(request())
            await asyncio.sleep(0.05)
            writer.write(b"\0\1\2\r\n\r\n")
            assert await asyncio.wait_for(reader.read(), 10) == b""

    asyncio.run(main())


@pytest.mark.parametrize("half", [b"POST /a HT", request(body=b"12")[:-1]])
@pytest.mark.parametrize("first", [b"", WHOLE])
def test_half_a_request_is_not_waited_for_without_end(first, half, monkeypatch):
    monkeypatch.setattr(connections, "SILENCE_SECONDS", 0.2)

    async def main():
        async with dialled(timeout_keep_alive=600) as (app, reader, writer):
            app.answer.set()
            writer.write(first + half)
            answered = await _read(reader)
            assert answered.count(b"200 OK") == bool(first)

    asyncio.run(main())


async def _read(reader):
    data = b""
    with contextlib.suppress(ConnectionError):
        while piece := await reader.read(65536):
            data += piece
    return data


def test_who_waits_for_an_answer_is_not_taken_for_half_a_request(monkeypatch):
    monkeypatch.setattr(connections, "SILENCE_SECONDS", 0.05)

    async def main():
        async with dialled() as (app, reader, writer):
            writer.write(request(body=b"12"))
            await asyncio.sleep(0.4)
            app.answer.set()
            assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")

    asyncio.run(main())


def test_whoever_hangs_up_is_gone_also_with_another_request_behind_the_first():
    async def main():
        async with dialled() as (app, _, writer):
            writer.write(request("/first") + request("/second"))
            await soon(lambda: app.begun)
            writer.close()
            await soon(lambda: app.left)
            assert app.left == ["/first"]

    asyncio.run(main())


async def ask(reader, writer, path="/a"):
    writer.write(request(path, b"12"))
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK")


def test_who_asks_the_same_way_and_then_no_more_is_let_go(monkeypatch, wait):
    monkeypatch.setattr(connections, "SILENCE_SECONDS", 0.1)

    async def main():
        app = Waiting()
        app.answer.set()
        async with dialled(app, timeout_keep_alive=1) as (_, reader, writer):
            await ask(reader, writer)
            for _ in range(8):  # longer than it may rest, but never so long at once
                await ask(reader, writer)
                await wait(0.2)
            await wait(1)
            assert await reader.read() == b""

    asyncio.run(main())


def test_who_is_being_answered_does_not_rest(monkeypatch, wait):
    monkeypatch.setattr(connections, "SILENCE_SECONDS", 0.05)

    async def main():
        app = Waiting()
        app.answer.set()
        async with dialled(app, timeout_keep_alive=1) as (_, reader, writer):
            await ask(reader, writer)
            await ask(reader, writer)
            app.answer.clear()
            asking = asyncio.ensure_future(ask(reader, writer, "/b"))
            while "/b" not in app.begun:
                await turn()
            await wait(1.3)
            app.answer.set()
            await asking

    asyncio.run(main())
