"""The page about the dashboard has every key and every page, and none that is not there."""

from __future__ import annotations

import json
import re
from pathlib import Path

from assent.analysis.read import COMMAND_FIELDS
from assent.dashboard import PAGES, find_asset

TEXT = (Path(__file__).parents[2] / "docs" / "dashboard.md").read_text()


def script(name: str) -> str:
    return find_asset(name).body.decode()


def test_every_key_is_on_the_page():
    known = set(re.findall(r'^ {6}"?([\w?]+)"?: \(\) => ', script("inbox.js"), re.MULTILINE))
    table = TEXT.partition("| key | does |")[2].partition("\n\n")[0]
    shown = {key for line in table.splitlines()[2:] for key in re.findall(r"`([^`]+)`", line.split("|")[1])}
    assert shown - {"1", "6"} == known
    told = {
        word.removeprefix("Shift+")
        for row in re.findall(r'^  \["([^"]+)",', script("keys.js"), re.MULTILINE)
        for word in row.split()
    }
    assert known - {"ArrowDown", "ArrowUp", "u", "?"} == told - {"1", "…", "6", "Esc"}


def test_a_command_is_looked_for_where_the_daemon_looks_for_it():
    """What the daemon reads as the command and the card does not show as one would be asked about unseen."""
    (listed,) = re.findall(r"^const COMMANDS = (\[.*\]);$", script("card.js"), re.MULTILINE)
    assert tuple(json.loads(listed)) == COMMAND_FIELDS


def test_every_page_is_on_the_page_and_is_served():
    named = dict(re.findall(r'path: "(/\w*)", name: "(\w+)"', script("app.js")))
    assert set(named) == set(PAGES) - {"/login"}
    for name in named.values():
        assert f"**{name}**" in TEXT or f"The {name.lower()}" in TEXT


def test_every_module_that_is_imported_is_there():
    names = [file.name for file in (Path(find_asset.__code__.co_filename).parent).glob("*.js")]
    for name in names:
        for imported in re.findall(r'(?:from|import\() ?"\./([\w.]+)"', script(name)):
            assert find_asset(imported) is not None, (name, imported)
    preloaded = re.findall(r'href="/assets/([\w.]+)"', find_asset("index.html").body.decode())
    assert all(find_asset(name) is not None for name in preloaded)
