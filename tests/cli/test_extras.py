"""A core without extras decides, explains and hooks; whatever needs an extra says which, in one line."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from assent.cli import exit_codes
from assent.cli.entry_point import COMMANDS
from assent.config.extras import MissingExtraError, explain_missing, find_extra

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
BROUGHT = {re.match(r"[\w-]+", need)[0]: extra for extra in ("server", "postgres") for need in EXTRAS[extra]}
"""Package by package, the extra that brings it. Their modules have the same names."""
WITHOUT = f"import sys; sys.modules |= dict.fromkeys({sorted(BROUGHT)})\n"  # how an import is made to fail


def run_without(world, code, **environ):
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + code],
        capture_output=True,
        text=True,
        env=world.environ | environ,
        cwd=world.project,
        check=False,
    )


def test_without_the_extras_every_command_has_help(world):
    code = f"from assent.cli import main\nfor name in {list(COMMANDS)}: print('code', name, main([name, '--help']))"
    done = run_without(world, code)
    assert done.stderr == ""
    assert re.findall(r"^code (\S+) 0$", done.stdout, re.MULTILINE) == list(COMMANDS)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["check", "ls"], exit_codes.OK),
        (["check", "rm -rf /"], exit_codes.DENY),
        (["explain", "rm -rf /"], exit_codes.DENY),
        (["policy", "show"], exit_codes.OK),
        (["schema", "Decision"], exit_codes.OK),
        (["token", "list"], exit_codes.OK),
        (["demo"], exit_codes.OK),
    ],
)
def test_without_the_extras_a_command_of_the_core_works(world, words, code):
    done = run_without(world, f"from assent.cli import main; sys.exit(main({words}))")
    assert (done.returncode, done.stderr) == (code, "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["serve"], "assent serve needs the server extra: pip install 'assent[server]'"),
        (
            ["token", "list", "--store", "postgresql://127.0.0.1:1/x"],
            "a PostgreSQL store needs the postgres extra: pip install 'assent[postgres]'",
        ),
    ],
)
def test_a_command_that_needs_an_extra_says_which_and_ends_with_2(world, words, said):
    done = run_without(world, f"from assent.cli import main; sys.exit(main({words}))")
    assert (done.returncode, done.stdout, done.stderr) == (exit_codes.USAGE, "", f"assent: {said}\n")


def test_without_the_extras_the_sdk_decides_in_its_process(world):
    code = """
from assent import create_agent_app, parse_rules, define_tool
note = define_tool(name="note", parameters={}, execute=lambda given: "noted")
with create_agent_app(tools=[note], permission_policy={"allow": parse_rules(["note"])}) as app:
    print(app.run_tool("note", {}).content)
"""
    done = run_without(world, code)
    assert (done.stdout, done.stderr) == ("noted\n", "")


def test_a_public_name_that_needs_an_extra_says_which(world):
    code = """
try:
    from assent import create_stream_route
except ImportError as error:
    print(type(error).__name__, error)
"""
    said = "MissingExtraError assent.create_stream_route needs the server extra: pip install 'assent[server]'\n"
    assert run_without(world, code).stdout == said


@pytest.mark.parametrize(("module", "extra"), [*BROUGHT.items(), ("msgspec", None), ("nonsense", None), ("", None)])
def test_the_extra_of_a_module_is_what_the_project_states(module, extra):
    assert find_extra(module) == extra


def test_a_module_that_no_extra_brings_stays_an_error_of_its_own():
    error = ModuleNotFoundError("x", name="nonsense.part")
    assert explain_missing(error, "x") is error
    assert isinstance(explain_missing(ModuleNotFoundError("x", name="uvicorn.config"), "x"), MissingExtraError)


def test_all_is_what_the_daemon_needs_and_nothing_is_stated_twice():
    assert EXTRAS["all"] == ["assent[postgres,server]"]
    stated = [re.match(r"[\w-]+", need)[0] for need in PROJECT["dependencies"]] + list(BROUGHT)
    assert len(stated) == len(set(stated))


def test_the_locks_hold_what_the_project_states():
    requirements = Path(__file__).parents[2] / "requirements"
    core, run = (
        {*re.findall(r"^([\w-]+)==", (requirements / f"{name}.lock").read_text(), re.MULTILINE)}
        for name in ("core", "run")
    )
    assert {re.match(r"[\w-]+", need)[0] for need in PROJECT["dependencies"]} <= core
    assert core | set(BROUGHT) <= run
    assert not core & set(BROUGHT)
