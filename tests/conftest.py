from __future__ import annotations

import pytest

from keeping import Node
from postgres import Postgres


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
