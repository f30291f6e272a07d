from __future__ import annotations

import pytest

from daemons import Running


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    """One daemon for the tests of a file, without a limit on how often it is asked."""
    with Running(tmp_path_factory.mktemp("daemon"), "--rate", "0", "--heartbeat", "0.3") as running:
        yield running


@pytest.fixture
def fresh(tmp_path):
    """A daemon of one's own, to be started, killed and broken."""
    running = Running(tmp_path)
    with_process = running.__exit__
    yield running
    with_process()


@pytest.fixture(scope="module")
def agent(daemon):
    with daemon.api(daemon.mint("agent", agent="agent_123", remote=True)) as client:
        yield client


@pytest.fixture(scope="module")
def person(daemon):
    with daemon.api(daemon.mint("user")) as client:
        yield client
