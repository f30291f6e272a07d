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
    yield running
    running.__exit__()


@pytest.fixture(scope="module")
def agent(daemon):
    return daemon.api(daemon.mint("agent", agent="agent_123", remote=True))


@pytest.fixture(scope="module")
def person(daemon):
    return daemon.api(daemon.mint("user"))
