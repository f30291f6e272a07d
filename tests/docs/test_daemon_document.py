"""The page about the daemon has every route, setting and close code, and none that is not there."""

from __future__ import annotations

import re
from pathlib import Path

from assent.config.settings import SETTINGS, ServerSettings
from assent.server.routes import ROUTES
from assent.wire.hooks import ClassifyBody
from assent.wire.permissions import DecisionBody

PAGE = (Path(__file__).parents[2] / "docs" / "daemon.md").read_text()


def rows(heading: str) -> list[list[str]]:
    table = PAGE.partition(f"| {heading} |")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[2:]]


def test_every_route_is_on_the_page_with_who_it_is_for_and_what_it_does():
    shown = {row[0].strip("`| "): (row[1], row[2].rstrip(" |")) for row in rows("route")}
    wanted = {f"{r.method} {r.path}": (", ".join(r.roles) or "everyone", r.summary) for r in ROUTES if not r.page}
    assert shown == wanted


def test_every_setting_is_on_the_page_with_its_variable_default_and_meaning():
    shown = {}
    for line in PAGE.partition("| flag | variable | default | means |")[2].partition("\n\n")[0].splitlines()[2:]:
        flag, variable, default, means = (cell.strip() for cell in line.strip("|").split("|"))
        shown[flag.strip("`")] = (variable.strip("`"), default, means)
    assert set(shown) == {setting.flag for setting in SETTINGS}
    for setting in SETTINGS:
        variable, default, means = shown[setting.flag]
        assert variable == setting.variable
        assert means == setting.means
        value = getattr(ServerSettings(), setting.name)
        assert (setting.read(default) if default else type(value)()) == value


def test_every_field_of_a_call_is_on_the_page():
    table = PAGE.partition("| field of the body | means |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", "".join(line.split("|")[1] for line in table.splitlines()[2:]))) == set(
        ClassifyBody.__struct_encode_fields__
    )


def test_every_field_of_an_answer_is_on_the_page():
    text = PAGE.partition("Over HTTP it is")[2].partition("\n\n")[0]
    assert set(DecisionBody.__struct_encode_fields__) <= set(re.findall(r"`(\w+)`", text))


def test_every_close_code_is_on_the_page():
    source = (Path(__file__).parents[2] / "src" / "assent" / "server" / "live" / "websockets.py").read_text()
    codes = set(re.findall(r"CloseError\((\d{4})", source)) | set(re.findall(r'"code": (\d{4})', source))
    assert codes == set(re.findall(r"^\| (\d{4}) \|", PAGE, re.MULTILINE))


def test_every_variable_of_the_container_hook_is_on_the_page():
    script = (Path(__file__).parents[2] / "src" / "assent" / "agents" / "hooks" / "container-hook.sh").read_text()
    for variable in set(re.findall(r"ASSENT_[A-Z_]+", script)):
        assert f"`{variable}" in PAGE or f"{variable}=" in PAGE
