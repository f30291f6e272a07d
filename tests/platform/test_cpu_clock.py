"""The processor's time is told often, asked for seldom, and never told too low."""

from __future__ import annotations

import threading
import time

import pytest

from assent.platform import cpu_clock
from assent.platform.cpu_clock import EXACT, processor_time


class World:
    """A wall clock and a kernel that counts how often it is asked."""

    def __init__(self):
        self.wall, self.spent, self.asked = 100.0, 7.0, 0

    def perf_counter(self):
        return self.wall

    def thread_time(self):
        self.asked += 1
        return self.spent

    def go_on(self, wall, spent):
        self.wall += wall
        self.spent += spent


@pytest.fixture
def world(monkeypatch):
    made = World()
    monkeypatch.setattr(cpu_clock, "time", made)
    monkeypatch.setattr(cpu_clock, "_asked", cpu_clock._Asked())
    return made


def test_what_is_told_is_never_too_low_and_off_by_little(world):
    for wall, spent in ((0, 0), (EXACT * 0.4, EXACT * 0.1), (EXACT * 0.4, EXACT * 0.4), (EXACT * 3, 0), (5, EXACT * 2)):
        world.go_on(wall, spent)
        assert world.spent <= processor_time() <= world.spent + EXACT


def test_the_kernel_is_asked_now_and_then(world):
    for _ in range(1000):
        world.go_on(EXACT / 100, EXACT / 100)
        processor_time()
    assert world.asked <= 11


def test_each_thread_has_its_own():
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        pass
    found = []
    other = threading.Thread(target=lambda: found.append((processor_time(), time.thread_time())))
    other.start()
    other.join()
    told, spent = found[0]
    assert told <= spent + EXACT < processor_time()
