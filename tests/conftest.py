from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from keeping import Node
from postgres import Postgres

# A busy machine and another day find the same: what is looked for at random is looked for by hand.
settings.register_profile("suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

PURE = ("model", "catalog", "analysis", "policy")
WATCHED = {*PURE, "config", "platform", "tests"}
"""Folders whose tests show that every branch of the pure part is run; to watch the others would only make them slow."""
REPEATED = {
    *("test_entries", "test_yaml_document", "test_growth"),
    "test_a_line_is_read_the_same_whatever_was_read_before",
    "test_the_shorter_way_ends_where_the_longer_does",
    "test_so_is_every_line_of_the_corpora_and_most_of_them_need_none",
    "test_a_data_file_is_read_as_the_library_reads_it",
    "test_the_data_is_the_same_to_a_loader_that_is_written_in_python",
    "test_a_hostile_line_takes_few_looks_and_bounded_work",
    "test_the_work_for_rules_grows_as_their_number",
    "test_looking_for_garbage_in_all_that_a_process_holds_is_not_counted",
}
"""Modules and tests in them that say the same of a thousand things, or one thing of a very long one."""


def is_watched(item) -> bool:
    """Tell whether a test shows branches. What is looked for at random shows none: another day it may not find them."""
    repeated = not REPEATED.isdisjoint((item.path.stem, item.originalname))
    random = getattr(item.obj, "is_hypothesis_test", False)
    folders = item.path.relative_to(Path(__file__).parent).parts[:-1] or ("tests",)
    return folders[0] in WATCHED and not repeated and not random


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
