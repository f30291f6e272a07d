from __future__ import annotations

import pytest

from daemons import Running


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    """One daemon for the tests of a file."""
    with Running(tmp_path_factory.mktemp("daemon"), "--rate", "0") as running:
        yield running


@pytest.fixture
def fresh(tmp_path):
    """A daemon of one's own, to be started, killed and broken."""
    running = Running(tmp_path)
    yield running
    running.__exit__()
