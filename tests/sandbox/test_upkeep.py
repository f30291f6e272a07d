"""What is replaced outside while a command runs is covered again, or the command ends, and the record says why."""

import asyncio
import json
import os
from pathlib import Path

import pytest
from driver import make_repository
from msgspec.structs import replace

from assent.analysis.resources.paths import Place
from assent.model import Facts
from assent.policy.sandbox_profiles import profile
from assent.sandbox import Sandbox, Unavailable
from assent.sandbox import sandbox as box

SECRET = "the-secret-text"


def test_stand_ins_stay_while_another_sandbox_needs_them(world):
    script = "echo up; read line; mkdir -p .vscode; echo evil > .vscode/tasks.json; echo done"
    with world.waiting("sh", "-c", script) as first:
        world.sh("true")
        assert (world.workspace / ".vscode").is_dir()
        assert first.communicate("go\n", timeout=60)[0] == "done\n"
    assert world.left_over() == []


WAITING = """
echo up; read line; i=0
while [ $i -lt 500 ]; do
    i=$((i+1))
    (: >> .git/config) 2>&- || cat .env 2>&- || mkdir -p .vscode/$i 2>&- || mv .git .git2 2>&- || { echo held; exit 0; }
    sleep 0.05
done
echo open
"""


def test_what_is_replaced_outside_while_it_runs_is_covered_again(world):
    make_repository(world)
    world.write(".env", SECRET)
    with world.waiting("sh", "-c", WAITING) as running:
        for name in (".git/config", ".env"):
            world.write("new", SECRET)
            os.replace(world.workspace / "new", world.workspace / name)
        os.rmdir(world.workspace / ".vscode")
        out, _ = running.communicate("go\n", timeout=100)
    assert out.endswith("held\n")
    assert (world.workspace / ".git/config").read_text() == SECRET


AGENT = """#!/bin/sh
echo up; read line; i=0
while [ $i -lt 500 ] && (: >> .git/config) 2>&-; do i=$((i+1)); sleep 0.05; done
cat ~/.claude/.credentials.json
"""


def test_an_agent_keeps_its_own_login_when_that_is_renewed_outside(own_world):
    make_repository(own_world)
    own_world.write("claude", AGENT, mode=0o755)
    login = own_world.write(own_world.home / ".claude/.credentials.json", "first")
    with own_world.waiting("./claude", options=["--profile", "agent"]) as running:
        for name, path in (("login", login), ("config", own_world.workspace / ".git/config")):
            os.replace(own_world.write(own_world.outside / name, "second"), path)
        assert running.communicate("go\n", timeout=100)[0] in ("first", "second")


#: What goes wrong: what is run in place of what puts mounts back, and what is then said.
FAULTS = {
    "refused": ("import sys; sys.exit('/x/y: Operation not permitted')", "/x/y: Operation not permitted"),
    "silent": ("import sys; sys.exit(3)", "it ended with 3"),
    "hanging": ("import time; time.sleep(60)", "it took more than 0.5 seconds"),
    "looking": ("", "Input/output error"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_where_mounts_can_not_be_put_back_the_command_ends_and_the_fault_is_named(own_world, fault):
    make_repository(own_world)
    code, said = FAULTS[fault]
    script = own_world.write(own_world.base / "renew.py", code)
    words = ["run", "--json", "--", "sh", "-c", "echo up; sleep 100; echo went on"]
    argv = [own_world.python, str(Path(__file__).with_name("faulty.py")), fault, str(script), *words]
    with own_world.waiting(argv=argv) as running:
        os.replace(own_world.write("new", SECRET), own_world.workspace / ".git/config")
        out, err = running.communicate(timeout=60)
    assert (out, running.returncode) == ("", 137)
    told = [line for line in err.splitlines() if line.startswith("assent: the sandbox ended the command: ")]
    assert [said in line for line in told] == [True]
    last = json.loads([line for line in err.splitlines() if line.startswith("{")][-1])
    assert (last["type"], last["payload"]["stopped"]) == ("process.terminated", "boundary")
    assert said in last["payload"]["reason"]
    assert said in last["payload"]["summary"]


def wanted(world):
    root = str(world.workspace)
    return profile("workspace-write", Place(Facts(), root, (root,)))


@pytest.mark.parametrize("times", [1, 3, 9])
def test_what_is_hidden_and_goes_away_while_it_is_set_up_keeps_nobody_from_running(own_world, monkeypatch, times):
    monkeypatch.setenv("ASSENT_HOME", str(own_world.assent_home))
    hidden = [own_world.write(own_world.outside / str(number), SECRET) for number in range(10)]
    real, left = box.launch, hidden[:times]

    def launch(*words):
        if left:
            left.pop().unlink()
        return real(*words)

    monkeypatch.setattr(box, "launch", launch)

    async def main():
        async with Sandbox(replace(wanted(own_world), masked=tuple(map(str, hidden)))) as sandbox:
            process = await sandbox.start(["cat", *map(str, hidden)])
            return await process.stdout.read_all(), (await process.wait()).code

    if times < 5:
        assert asyncio.run(main()) == (b"", 1)
    else:
        with pytest.raises(Unavailable, match="comes and goes"):
            asyncio.run(main())
