"""`assent launch`: an agent is started with nothing that a project set, or not at all."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest

PROGRAMS = {"claude-code": "claude", "codex": "codex", "gemini": "gemini", "opencode": "opencode"}


@pytest.fixture
def programs(world):
    """Agents that say how they were started. Not in /tmp, which is the sandbox's own."""
    folder = Path(tempfile.mkdtemp(prefix="assent-test-", dir="/srv" if os.geteuid() == 0 else Path.home()))
    for name in PROGRAMS.values():
        (folder / name).write_text('#!/bin/sh\nprintf "%s\\n" "$0" "$@"; echo --; /usr/bin/env\n')
        (folder / name).chmod(0o755)
    folder.chmod(0o755)
    world.environ["PATH"] = f"{folder}:/usr/bin:/bin"
    yield folder
    shutil.rmtree(folder)


def launch(world, *words, **environ):
    done = world.run("launch", *words, **environ)
    argv, _, rest = done.out.partition("\n--\n")
    return done, argv.splitlines(), dict(line.partition("=")[::2] for line in rest.splitlines())


@pytest.mark.parametrize("agent", PROGRAMS)
def test_an_agent_is_started_without_what_turns_programs(world, programs, agent):
    hostile = {
        "BASH_ENV": "./x",
        "NODE_OPTIONS": "--require ./x",
        "ASSENT_URL": "http://x",
        "LD_AUDIT": "",
        "KEPT": "1",
    }
    done, argv, environ = launch(world, agent, "--", "-p", "do it", **hostile)
    assert done.code == 0, done.err
    assert (argv[0], argv[-2:]) == (str(programs / PROGRAMS[agent]), ["-p", "do it"])
    assert not [name for name in hostile if environ.get(name) and name != "KEPT"]
    assert (environ["KEPT"], environ["HOME"]) == ("1", str(world.home))
    assert "dropped variables: ASSENT_HOME, ASSENT_URL, BASH_ENV" in done.err
    assert f"{agent} is not connected" in done.err


def test_what_a_projects_settings_could_set_later_is_overridden(world, programs):
    _, claude, _ = launch(world, "claude-code")
    assert claude[1] == "--settings"
    assert json.loads(claude[2])["env"]["BASH_ENV"] == ""
    _, codex, _ = launch(world, "codex")
    assert codex[1:3] == ["-c", 'shell_environment_policy.set.BASH_ENV=""']
    _, gemini, environ = launch(world, "gemini")  # takes from a project's file what is not set
    assert (gemini[1:], environ["BASH_ENV"], environ["LD_PRELOAD"]) == ([], "", "")


def test_what_is_asked_for_is_handed_on(world, programs):
    _, argv, environ = launch(world, "claude-code", "--keep", "PYTHONPATH", PYTHONPATH="src")
    assert environ["PYTHONPATH"] == "src"
    assert "PYTHONPATH" not in json.loads(argv[2])["env"]


def test_a_project_that_sets_such_a_variable_starts_nothing(world, programs):
    settings = world.project / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{\n "env": {"BASH_ENV": "./x"}\n}')
    done, argv, _ = launch(world, "claude-code")
    assert (done.code, argv) == (4, [])
    assert f"{settings}:2 sets BASH_ENV" in done.err
    assert launch(world, "codex")[0].code == 0


def test_a_program_of_the_project_is_not_the_agent(world, programs):
    (programs / "codex").rename(world.project / "codex")
    done = world.run("launch", "codex", PATH=f"{world.project}:/usr/bin:/bin")
    assert done.code == 2
    assert "`codex` not found on the PATH outside of" in done.err
    assert world.run("launch", "codex", "--keep", "PATH", PATH=f"{world.project}:/usr/bin:/bin").code == 0


def test_it_can_only_be_shown(world, programs):
    done = world.run("launch", "codex", "--dry-run", "--", "exec", "a b")
    assert (done.code, done.out.startswith(f"{programs}/codex -c "), done.out.endswith(" exec 'a b'\n")) == (
        0,
        True,
        True,
    )


def test_what_is_shown_does_not_need_the_program(world, programs):
    (programs / "codex").unlink()
    done = world.run("launch", "codex", "--dry-run")
    assert (done.code, done.out.startswith("codex -c "), "`codex` not found" in done.err) == (0, True, True)


def test_a_second_file_of_settings_is_refused(world, programs):
    done = world.run("launch", "claude-code", "--", "--settings", "x.json")
    assert (done.code, "accepts --settings only once" in done.err) == (2, True)


def test_a_program_that_does_not_start_is_said(world, programs):
    (programs / "codex").write_text("#!/nowhere\n")
    done = world.run("launch", "codex")
    assert (done.code, "cannot start" in done.err) == (2, True)


def test_a_whole_agent_can_be_contained(world, programs):
    done, _, environ = launch(world, "codex", "--contained", BASH_ENV="./x")
    assert done.code == 0, done.err
    assert environ["ASSENT_SANDBOX"] == "agent"
    assert "BASH_ENV" not in environ


def test_words_of_the_agent_stand_apart(world, programs):
    done = world.run("launch", "codex", "exec")
    assert (done.code, "after `--`" in done.err) == (2, True)
