"""An interrupt is heard whenever it comes."""

from __future__ import annotations

import asyncio
import signal
import threading

import pytest

from assent.cli.interrupts import run_until_done

SECONDS = 30


@pytest.fixture(autouse=True)
def heeded():
    """Interrupts are heeded, as in a program that a person starts: who runs the tests may ignore them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def elsewhere():
    """Signals come to other threads, so that no call of this one is broken off by them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def test_an_interrupt_that_comes_as_the_loop_goes_to_sleep_is_heard_at_once(elsewhere):
    over, late, ended = threading.Event(), [], []

    def interrupt(loop):
        over.wait(0.2)  # asleep, most likely; and if not, it is no harder to be heard
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        if not over.wait(SECONDS):
            late.append(True)
            loop.call_soon_threadsafe(over.set)  # wakes it

    async def sleep():
        other = threading.Thread(target=interrupt, args=(asyncio.get_running_loop(),))
        other.start()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)
            over.set()
            other.join()

    with pytest.raises(KeyboardInterrupt):
        run_until_done(sleep())
    assert (ended, late) == ([True], [])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_who_ignores_interrupts_goes_on_ignoring_them():
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    async def go_on():
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(0)
        return "done"

    assert run_until_done(go_on()) == "done"
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
