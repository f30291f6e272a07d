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

PURE = ("model", "shell", "catalog", "reading", "policy")
WATCHED = {*PURE, "config", "tests"}
"""Folders whose tests show that every branch of the pure part is run; to watch the others would only make them slow."""
REPEATED = {"test_entries", "test_document"}
"""Modules in them that say the same of a thousand things, or one thing of a very long one."""


def is_watched(item) -> bool:
    """Tell whether a test shows branches. What is looked for at random shows none: another day it may not find them."""
    repeated = item.path.stem in REPEATED or getattr(item.obj, "is_hypothesis_test", False)
    return item.path.parent.name in WATCHED and not repeated


def forget() -> None:
    """Empty the caches of the pure part: what is found in them was done, but not seen to be done."""
    pure = tuple(f"assent.{name}" for name in PURE)
    modules = [module for name, module in sys.modules.items() if name.startswith(pure)]
    for cached in {value for module in modules for value in vars(module).values() if hasattr(value, "cache_clear")}:
        cached.cache_clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    if is_watched(item):
        return (yield)
    watching = sys.gettrace(), threading.gettrace()
    sys.settrace(None)
    threading.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(watching[0])
        threading.settrace(watching[1])
        if nextitem is not None and is_watched(nextitem):
            forget()


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
