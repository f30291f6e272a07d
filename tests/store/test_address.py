"""A store's URL says where it is, or is refused."""

from __future__ import annotations

import pytest

from assent.model import ConfigError
from assent.store.address import StoreAddress, read_address


@pytest.mark.parametrize(
    ("url", "path"),
    [
        (None, "/h/assent.db"),
        ("sqlite:////var/x.db", "/var/x.db"),
        ("sqlite:///var/x.db", "/var/x.db"),
        ("sqlite:////var/a%20b.db", "/var/a b.db"),
    ],
)
def test_a_file_is_named_by_an_absolute_path(url, path):
    assert read_address(url, home="/h") == StoreAddress(engine="sqlite", path=path)


@pytest.mark.parametrize(
    ("url", "conninfo", "notify"),
    [
        ("postgresql://u@h:1/d", "postgresql://u@h:1/d", True),
        ("postgres://u@h/d?notify=off", "postgresql://u@h/d", False),
        ("postgresql:///d?host=/run&notify=on", "postgresql:///d?host=%2Frun", True),
    ],
)
def test_a_server_is_named_as_its_driver_wants_it_with_our_own_option_taken_out(url, conninfo, notify):
    assert read_address(url, home="/h") == StoreAddress(engine="postgresql", conninfo=conninfo, notify=notify)


@pytest.mark.parametrize(
    "url",
    ["", "mysql://h/d", "/var/x.db", "sqlite://host/x", "sqlite:///", "sqlite:x.db", "postgresql://h/d?notify=no"],
)
def test_anything_else_is_refused(url):
    with pytest.raises(ConfigError):
        read_address(url, home="/h")


def test_an_address_is_shown_without_its_password():
    shown = read_address("postgresql://ann:hush@db:5432/x?sslmode=require", home="/h").shown
    assert shown == "postgresql://ann@db:5432/x"
