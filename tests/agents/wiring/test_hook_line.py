"""The line by which an agent runs its hook, as a real process: no variable turns it, or it is a no."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assent.agents.specs import is_current
from charsets import plant_character_set
from daemons import Running, until

EVENTS = {"claude-code": "PreToolUse", "codex": "PreToolUse", "gemini": "BeforeTool"}
FILES = {"claude-code": ".claude/settings.json", "codex": ".codex/hooks.json", "gemini": ".gemini/settings.json"}
DENIED = "assent approve nothing"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    with Running(tmp_path_factory.mktemp("line"), "--rate", "0") as running:
        for agent in EVENTS:
            done = running.run("init", agent, "--yes", "--no-start")
            assert "connected" in done.stdout, done
        yield running


def line_of(daemon, agent, event=""):
    hooks = json.loads((daemon.home / FILES[agent]).read_text())["hooks"]
    return hooks[event or EVENTS[agent]][0]["hooks"][0]["command"]


def call(daemon, agent, command, **more):
    tool = "run_shell_command" if agent == "gemini" else "Bash"
    given = {"hook_event_name": EVENTS[agent], "tool_name": tool, "tool_input": {"command": command}}
    return json.dumps(given | {"session_id": "s", "cwd": str(daemon.project)} | more).encode()


def run(daemon, agent, text, *, shell="/bin/bash", line="", **environ):
    return subprocess.run(
        [shell, "-c", line or line_of(daemon, agent)],
        input=text,
        env={"PATH": "/usr/bin:/bin", "HOME": str(daemon.home), **environ},
        cwd=daemon.project,
        capture_output=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def planted(daemon):
    """A project whose files say that every call is allowed, wherever they are run or loaded."""
    folder, mark = daemon.project / "planted", daemon.root / "ran"
    library = folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    (library / "lib-dynload").mkdir(parents=True)
    code = f"open({str(mark)!r}, 'w').close()\nimport posix\nposix._exit(10)\n"
    for name in ("os", "encodings", "sitecustomize", "posixpath", "_socket", "json"):
        (library / f"{name}.py").write_text(code)
        (folder / f"{name}.py").write_text(code)
    for name in ("python", "python3", "sh", "env", "trap", "unset"):
        program = folder / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n: > {mark}\nexit 0\n")
        program.chmod(0o755)
    yield folder
    shutil.rmtree(folder)
    assert not mark.exists()


FUNCTIONS = ("exec", "trap", "exit", "unset", ":", "echo", "case", "if", "set", "eval", "command", "builtin", "/bin/sh")
HOSTILE = [
    {f"BASH_FUNC_{name}%%": "() {{ : > {1}; builtin exit 0; }}" for name in FUNCTIONS},
    {"PYTHONEXECUTABLE": "{0}/bin/python"},
    {"__PYVENV_LAUNCHER__": "{0}/bin/python"},
    {"PYTHONPATH": "{0}", "PYTHONHOME": "{0}", "PYTHONSTARTUP": "{0}/os.py"},
    {"PATH": "{0}/bin"},
    {"ENV": "{0}/bin/sh"},
    {"SHELLOPTS": "noexec"},
    {"SHELLOPTS": "errexit:nounset", "BASHOPTS": "extdebug"},
    {"ASSENT_HOME": "{0}", "ASSENT_URL": "http://127.0.0.1:1", "XDG_DATA_HOME": "{0}"},
]


@pytest.mark.parametrize("inner", ["", "bash"], ids=["sh", "bash as sh"])
@pytest.mark.parametrize("environ", HOSTILE, ids=lambda environ: next(iter(environ)))
@pytest.mark.parametrize("agent", EVENTS)
def test_no_variable_makes_a_yes_of_a_no(daemon, planted, tmp_path, agent, environ, inner):
    line, mark = line_of(daemon, agent), daemon.root / "ran"
    assert is_current(line)
    if inner:
        (tmp_path / "sh").symlink_to("/bin/bash")
        line = line.replace("/bin/sh -c", f"{tmp_path}/sh -c")
    if agent == "codex" and environ.get("SHELLOPTS") == "noexec":
        pytest.skip("Codex runs its hooks by its user's own shell, and takes no variable from a project")
    # Claude Code runs its hooks by `sh`, the others by bash.
    shell = (
        str(tmp_path / "sh")
        if inner and agent == "claude-code"
        else "/bin/sh"
        if agent == "claude-code"
        else "/bin/bash"
    )
    given = {name: value.format(planted, mark) for name, value in environ.items()}
    done = run(daemon, agent, call(daemon, agent, DENIED), shell=shell, line=line, **given)
    assert done.returncode == 2, done


def test_the_library_of_another_python_is_refused_by_name(daemon, planted):
    done = run(daemon, "gemini", call(daemon, "gemini", "ls"), PYTHONEXECUTABLE=f"{planted}/bin/python")
    assert (done.returncode, b"PYTHONEXECUTABLE makes every Python load another library" in done.stderr) == (2, True)


@pytest.mark.parametrize(("decision", "code"), [("approve", 0), ("reject", 2)])
def test_a_character_set_of_the_project_is_not_loaded_and_is_asked_about(daemon, planted, decision, code):
    hostile, person = plant_character_set(planted, daemon.root / "ran"), daemon.api(daemon.owner)
    with ThreadPoolExecutor() as pool:
        text = call(daemon, "claude-code", "ls")
        hook = pool.submit(run, daemon, "claude-code", text, shell="/bin/sh", **hostile)
        (asked,) = until(lambda: person.get("/api/permissions").json()["pending"])
        said = person.post("/api/permissions", json={"requestId": asked["id"], "decision": decision})
        done = hook.result()
    assert (said.status_code, done.returncode) == (200, code), done
    assert f"`GCONV_PATH` in the agent's environment contains `{planted}`" in asked["reason"]
    assert not (daemon.root / "ran").exists()


SETTINGS = {
    "claude-code": (".claude/settings.json", '{\n  "env": {"LD_PRELOAD": "/nowhere.so"}\n}'),
    "codex": (".codex/config.toml", '[shell_environment_policy.set]\nLD_PRELOAD = "/nowhere.so"\n'),
    "gemini": (".gemini/.env", "A=1\nLD_PRELOAD=/nowhere.so\n"),
}


@pytest.mark.parametrize("agent", EVENTS)
def test_a_project_that_turns_programs_is_refused_when_a_session_begins_and_at_every_call(daemon, agent):
    name, text = SETTINGS[agent]
    file = daemon.project / name
    file.parent.mkdir(exist_ok=True)
    started = json.dumps({"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(daemon.project)}).encode()
    fine = run(daemon, agent, started, line=line_of(daemon, agent, "SessionStart"))
    assert (fine.returncode, fine.stdout) == (0, b"")
    file.write_text(text)
    try:
        told = run(daemon, agent, started, line=line_of(daemon, agent, "SessionStart"))
        denied = run(daemon, agent, call(daemon, agent, "ls"))
        doctor = daemon.run("doctor")
        init = daemon.run("init", agent, "--project", "--yes", "--no-start")
    finally:
        file.unlink()
    said = json.loads(told.stdout)
    where = f"{file}:2 sets LD_PRELOAD"
    assert (told.returncode, where in said["systemMessage"]) == (0, True), told
    assert said.get("continue", True) is (agent == "gemini")
    assert (denied.returncode, where in denied.stderr.decode()) == (2, True), denied
    assert (doctor.returncode, where in doctor.stdout) == (1, True), doctor.stdout
    assert (init.returncode, where in init.stderr) == (2, True), init
    assert run(daemon, agent, call(daemon, agent, "ls")).returncode == 0


def test_a_trial_stops_nothing(daemon):
    file = daemon.project / ".claude" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(SETTINGS["claude-code"][1])
    token = (daemon.state / "agents" / "claude-code.token").read_text().strip()
    try:
        answer = daemon.api(token).post(
            "/api/hooks/claude-code?observe=1",
            content=call(daemon, "claude-code", "ls"),
            headers={"content-type": "application/json"},
        )
    finally:
        file.unlink()
    assert (answer.status_code, answer.content) == (200, b"")


def test_a_line_of_an_older_assent_is_found(daemon):
    book = daemon.state / "agents" / "wirings.json"
    before, settings = book.read_bytes(), daemon.home / FILES["gemini"]
    held = settings.read_text()
    try:
        book.write_bytes(
            before.replace(b"POSIXLY_CORRECT=1; ", b"").replace(b"unset PYTHONEXECUTABLE __PYVENV_LAUNCHER__; ", b"")
        )
        assert "the hook's command line is of an older version" in daemon.run("doctor").stdout
    finally:
        book.write_bytes(before)
        settings.write_text(held)
    assert Path(book).stat().st_mode & 0o777 == 0o600
