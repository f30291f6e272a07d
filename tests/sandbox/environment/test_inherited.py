"""A variable that would make a look run project code is held by the sandbox, which does not pass it on."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from assent.catalog.inherited_environment import is_early, matters
from assent.sandbox.environment.variables import pass_on
from daemons import Running


@pytest.fixture(scope="module")
def daemon():
    root = tempfile.mkdtemp(prefix="assent-test-", dir="/srv" if os.geteuid() == 0 else Path.home())
    running = Running(Path(root), "--rate", "0")
    running.user_file.write_text("permissions: {mode: auto}\n")
    (running.project / ".git").rmdir()
    init = "git init -q . && printf 1 > a && git add a && git -c user.name=u -c user.email=u@h commit -qm a; echo 2 >a"
    subprocess.run(["/bin/sh", "-c", init], cwd=running.project, check=True, env={**os.environ, "HOME": root})
    with running:
        yield running
    shutil.rmtree(root)


def ask(daemon, line, environ):
    agent = daemon.api(daemon.mint("agent", agent="coder"))
    call = {"toolName": "Bash", "toolInput": {"command": line}, "cwd": str(daemon.project), "sessionId": "s"}
    told = "&".join(f"{name}={value}" for name, value in environ.items())
    return agent.post("/api/hooks/classify", json=call, headers={"x-assent-environment": told}).json()


def test_what_the_sandbox_scrubs_is_contained_and_does_not_act(daemon):
    evil = daemon.project / "evil"
    evil.write_text("#!/bin/sh\necho EVIL\n")
    evil.chmod(0o755)
    answer = ask(daemon, "git diff", {"GIT_EXTERNAL_DIFF": evil, "HOME": daemon.home})
    assert answer["allow"] is False
    line = answer["reason"].partition("Run this instead: ")[2]
    environ = {**daemon.environ, "GIT_EXTERNAL_DIFF": str(evil)}
    bare = subprocess.run(["git", "diff"], env=environ, cwd=daemon.project, capture_output=True, text=True, check=False)
    assert "EVIL" in bare.stdout
    done = subprocess.run(
        ["bash", "-c", line], env=environ, cwd=daemon.project, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "EVIL" not in done.stdout
    assert "+2" in done.stdout


@pytest.mark.parametrize("name", ["BASH_ENV", "LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "ENV", "HOME", "ZDOTDIR"])
def test_what_acts_before_the_sandbox_is_asked_about(daemon, name):
    answer = ask(daemon, "git diff", {name: daemon.project})
    assert answer["allow"] is False
    assert "Run this instead" not in answer["reason"]
    assert answer["requestId"]


def test_the_sandbox_passes_on_nothing_that_makes_a_shell_or_loader_run_code():
    names = ("BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "BASH_FUNC_ls%%", "LD_PRELOAD", "LD_AUDIT", "ZDOTDIR")
    names += ("LD_LIBRARY_PATH", "GIT_EXTERNAL_DIFF", "GIT_CONFIG_PARAMETERS", "GIT_DIR", "GIT_EXEC_PATH", "LESSOPEN")
    names += ("RIPGREP_CONFIG_PATH", "TAR_OPTIONS", "OPENSSL_CONF", "PROMPT_COMMAND", "GCONV_PATH", "PERL5OPT")
    assert pass_on(dict.fromkeys(names, "/ws/x"), ()) == {}
    assert all(matters(name, "/ws/x") for name in names)
    inside = pass_on({"PYTHONPATH": "/ws", "NODE_OPTIONS": "-r ./x", "XDG_CONFIG_HOME": "/ws"}, ())
    assert not any(map(is_early, inside))  # what of it runs project code does so inside
