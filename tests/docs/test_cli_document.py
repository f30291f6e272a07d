"""The page about the command line has every command, option, exit code and field, and none that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assent.cli import exit_codes, main
from assent.cli.entry_point import COMMANDS
from assent.cli.options.tool_call import BatchLine
from assent.cli.output.decision_json import Answer, Step
from assent.config.settings import SETTINGS

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
ACTIONS = {
    "policy": ("show", "lint", "test"),
    "token": ("create", "list", "revoke", "link"),
    "runs": ("start", "list", "stop"),
    "audit": ("tail", "search", "verify", "export"),
}
COMMAND_LINES = [[name] for name in COMMANDS] + [[name, action] for name in ACTIONS for action in ACTIONS[name]]


def help_of(capsys, *words: str) -> str:
    assert main([*words, "--help"]) == exit_codes.OK
    return capsys.readouterr().out


def options_in(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", text))


def option_rows() -> dict[str, set[str]]:
    """Return which commands the page says an option belongs to."""
    table = PAGE.partition("| option | of | means |\n")[2].partition("\n\n")[0]
    said: dict[str, set[str]] = {}
    for row in table.splitlines()[1:]:
        names, owners = row.split(" | ")[:2]
        for option in options_in(names):
            said.setdefault(option, set()).update(owners.split(", "))
    return said


def first_cells(heading: str) -> set[str]:
    """Return the words in code in the first column of a table."""
    table = PAGE.partition(f"| {heading} | means |\n")[2].partition("\n\n")[0]
    return {name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split(" | ")[0])}


def test_every_command_that_help_lists_is_on_the_page(capsys):
    listed = re.findall(r"^  ([\w-]+)  ", help_of(capsys), re.MULTILINE)
    assert listed == list(COMMANDS)
    shown = set(re.findall(r"^\| `assent ([a-z -]+)` \|", PAGE, re.MULTILINE))
    assert shown == ({*listed} - {*ACTIONS}) | {f"{name} {action}" for name in ACTIONS for action in ACTIONS[name]}


def test_every_option_that_help_lists_is_on_the_page(capsys):
    assert options_in(help_of(capsys)) - {"--force"} <= options_in(PAGE)  # of `git push`, in an example


@pytest.mark.parametrize("words", COMMAND_LINES, ids=" ".join)
def test_every_option_of_a_command_is_on_the_page_and_no_other(capsys, words):
    usage = help_of(capsys, *words).partition("\n\n")[0]
    has = options_in(usage) | {"--help"}
    said = {option for option, owners in option_rows().items() if owners & {words[0], " ".join(words), "all"}}
    if len(words) == 1 and words[0] in ACTIONS:
        assert has <= said
    else:
        assert has == said


@pytest.mark.parametrize(
    ("heading", "record"),
    [("field of a call", BatchLine), ("field of an answer", Answer), ("field of an operation", Step)],
)
def test_every_field_of_a_batch_is_on_the_page_and_no_other(heading, record):
    assert first_cells(heading) == set(record.__struct_fields__)


def test_every_exit_code_is_on_the_page_and_no_other():
    table = PAGE.partition("| code | means |\n")[2].partition("\n\n")[0]
    known = {value for name, value in vars(exit_codes).items() if name.isupper() and isinstance(value, int)}
    assert {int(code) for code in re.findall(r"^\| (\d+) ", table, re.MULTILINE)} == known


SOURCES = Path(main.__code__.co_filename).parents[1]
COMMON = {"HOME", "PATH", "TERM", "COLUMNS"}
"""Variables that mean to Assent what they mean to everybody."""


def test_every_variable_that_is_read_or_set_is_on_the_page():
    named, read = set(), set()
    for source in SOURCES.rglob("*.py"):
        text = source.read_text()
        named |= set(re.findall(r"\"(ASSENT_[A-Z_]*[A-Z])\"", text))
        if source.relative_to(SOURCES).parts[0] in ("agents", "cli", "config", "platform", "sdk"):
            read |= set(re.findall(r"environ(?:\.get\(|\[)b?\"([A-Z_]+)\"", text))
    assert {"ASSENT_HOME", "ASSENT_DEBUG", "EDITOR", "NO_COLOR"} <= named | read
    shown = set(re.findall(r"`([A-Z_]+)`", PAGE.partition("## Environment")[2]))
    assert (named | read) - COMMON <= shown | {setting.variable for setting in SETTINGS}


def test_every_action_of_a_command_is_known_here(capsys):
    for name in COMMANDS:
        said = help_of(capsys, name).partition("positional arguments:\n")[2].partition("\n\n")[0]
        alternatives = re.findall(r"^  (\w+(?:\|\w+)+)$", said, re.MULTILINE)
        listed = alternatives[0].split("|") if alternatives else re.findall(r"^    (\w+)  ", said, re.MULTILINE)
        assert tuple(listed) == ACTIONS.get(name, ()), name
