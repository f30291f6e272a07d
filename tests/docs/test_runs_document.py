"""The page about runs has every message, field, error, key and tool, and none that is not there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from assent.policy.guard import RUN_FORBIDDEN
from assent.runs.protocol.client_messages import CLIENT_MESSAGES
from assent.runs.protocol.messages import DAEMON_MESSAGES, ErrorCode, Status
from assent.runs.strategies import strategy
from assent.runs.strategies.strategy import parse_strategy
from assent.runs.tools.inputs import TOOLS

PAGE = (Path(__file__).parents[2] / "docs" / "runs.md").read_text()


def table(heading: str) -> list[list[str]]:
    lines = PAGE.partition(f"| {heading} |")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def words(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize(
    ("heading", "records"), [("client → daemon", CLIENT_MESSAGES), ("daemon → client", DAEMON_MESSAGES)]
)
def test_every_message_is_on_the_page_with_its_fields_and_no_other(heading, records):
    shown = {words(row[0])[0]: words(row[1]) for row in table(heading)}
    common = {"requestId", "ts"}
    wanted = {str(r.__struct_config__.tag): [n for n in r.__struct_encode_fields__ if n not in common] for r in records}
    assert shown == wanted


def test_every_error_and_status_is_on_the_page():
    assert [words(row[0])[0] for row in table("error")] == list(get_args(ErrorCode))
    listed = PAGE.partition("The status of a run is ")[2].partition(".")[0]
    assert words(listed) == list(get_args(Status))


def test_every_tool_is_on_the_page_with_its_input():
    shown = {words(row[0])[0]: words(row[1]) for row in table("tool")}
    assert shown == {name: list(record.__struct_fields__) for name, record in TOOLS.items()}


@pytest.mark.parametrize(
    ("heading", "keys"),
    [("key of a strategy", strategy._TOP), ("key of a step", strategy._STEP), ("key of a process", strategy._PROCESS)],
)
def test_every_key_of_a_strategy_is_on_the_page(heading, keys):
    assert sorted(w for row in table(heading) for w in words(row[0])) == sorted(keys)


def test_every_forbidden_glob_is_on_the_page():
    assert all(f"`{glob}`" in PAGE for glob in RUN_FORBIDDEN)


def test_the_example_is_a_strategy():
    text = PAGE.partition("```strategy\n")[2].partition("```")[0]
    assert parse_strategy(text.encode(), "example.yaml").name == "release-notes"
