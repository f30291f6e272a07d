"""Sockets that are slow, because they are kept busy, and sockets that are not there any more."""

from __future__ import annotations

import asyncio

from assent.server.connections import SocketConnection

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
