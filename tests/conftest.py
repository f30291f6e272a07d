from __future__ import annotations

import sys
import threading

import pytest
from hypothesis import HealthCheck, settings

from keeping import Node
from postgres import Postgres

# A busy machine and another day find the same: what is looked for at random is looked for by hand.
settings.register_profile("suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

THE_PURE_PART = {"model", "shell", "catalog", "reading", "policy", "config", "cli", "tests"}
"""Folders whose tests show that every branch is run; to watch the others would make them thrice as slow."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    if item.path.parent.name in THE_PURE_PART:
        return (yield)
    watching = sys.gettrace(), threading.gettrace()
    sys.settrace(None)
    threading.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(watching[0])
        threading.settrace(watching[1])


@pytest.fixture(scope="session")
def postgres():
    server = Postgres()
    yield server
    server.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request):
    """The address of an empty store, on each engine; None is the file in the home."""
    return None if request.param == "sqlite" else request.getfixturevalue("postgres").ready_database()


@pytest.fixture
def node(tmp_path, url):
    with Node(tmp_path / "home", url) as made:
        yield made
