"""The records of the APIs stand on their own: neither they nor the clients load the server."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys

import msgspec
import pytest

from assent.sdk.client import admin_endpoints, endpoints

NAMED = sorted(
    {
        name
        for module in (endpoints, admin_endpoints)
        for name in re.findall(r'"(\w+:[A-Z]\w+)"', inspect.getsource(module))
    }
)
LOAD_ALL = """
import importlib, pkgutil, sys
import assent.sdk.client.clients, assent.wire
for found in pkgutil.iter_modules(assent.wire.__path__):
    importlib.import_module(f"assent.wire.{found.name}")
print(*(name for name in sys.modules if name.startswith(("assent.server", "starlette"))))
"""


@pytest.mark.parametrize("name", NAMED)
def test_every_record_that_the_clients_name_exists(name: str) -> None:
    module, _, record = name.partition(":")
    assert issubclass(getattr(importlib.import_module(f"assent.wire.{module}"), record), msgspec.Struct)


def test_the_clients_name_the_records_of_most_endpoints() -> None:
    assert len(NAMED) >= 25


def test_records_and_clients_load_neither_the_server_nor_its_framework() -> None:
    done = subprocess.run([sys.executable, "-c", LOAD_ALL], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
