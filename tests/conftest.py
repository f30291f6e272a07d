from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from keeping import Node
from postgres import Postgres

# A busy machine and another day find the same: what is looked for at random is looked for by hand.
settings.register_profile("suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


@pytest.fixture(scope="session")
def postgres():
    server = Postgres()
    yield server
    server.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request):
    """The address of an empty store, on each engine; None is the file in the home."""
    return None if request.param == "sqlite" else request.getfixturevalue("postgres").new_database()


@pytest.fixture
def node(tmp_path, url):
    with Node(tmp_path / "home", url) as made:
        yield made
