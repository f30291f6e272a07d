"""What is mounted in a workspace is not the workspace: it is read, and not written unless a profile names it."""

import json
import os
import shlex
import shutil

import pytest

#: Root of a user namespace, who may mount, and whose mounts appear in every namespace below.
APART = ("unshare", "--user", "--map-root-user", "--mount", "--propagation", "shared")

SECRET = "the-secret-text"


@pytest.fixture
def mounted(own_world):
    """A command that mounts what lies outside in the workspace, and then does something."""
    own_world.write(own_world.outside / "file", "old")
    own_world.write(own_world.outside / ".env", SECRET)
    for name in ("data", "late", "odd name"):
        (own_world.workspace / name).mkdir()
    # In an ordinary user's namespace the system's own belongs to nobody, and is not used.
    wrap, own = shutil.which("bwrap"), own_world.base / "bwrap"
    shutil.copy(wrap, own)

    def argv(script, *places):
        lines = [f"mount --bind {own} {wrap}"]
        lines += [f"mount --bind {shlex.quote(str(own_world.outside))} {shlex.quote(place)}" for place in places]
        return [*APART, "sh", "-c", "\n".join(("set -e", *lines, script))]

    return argv


def command(world, script, options=()):
    return "exec " + shlex.join(world.argv("sh", "-c", script, options=options))


@pytest.mark.parametrize("place", ["data", "odd name"])
def test_a_mount_in_the_workspace_is_read_and_not_written(own_world, mounted, place):
    attempts = "cat file; echo evil > file; echo evil > new; rm file; ln file ../linked; mv file ../moved; cat .env"
    script = f"cd {shlex.quote(place)}; {attempts}; echo mine > ../made"
    done = own_world.run(argv=mounted(command(own_world, script, ["--json"]), place))
    assert done.stdout == "old"
    assert sorted(os.listdir(own_world.outside)) == [".env", "file"]
    assert (own_world.outside / "file").read_text() == "old"
    assert (own_world.workspace / "made").read_text() == "mine\n"
    events = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    assert str(own_world.workspace / place) in events[0]["sandboxProfile"]["protected"]
    stopped = [e["violation"]["resource"] for e in events if e["type"] == "sandbox.violation"]
    assert str(own_world.workspace / place / "file") in stopped


def test_a_mount_that_a_profile_names_is_written(own_world, mounted):
    own_world.configure("profiles: {mine: {write: [., data]}}")
    done = own_world.run(argv=mounted(command(own_world, "echo new > data/file", ["--profile", "mine"]), "data"))
    assert done.returncode == 0, done.stderr
    assert (own_world.outside / "file").read_text() == "new\n"


WAITING = """
echo up
while ! [ -e late/file ]; do sleep 0.02; done
i=0
while [ $i -lt 500 ]; do
    i=$((i+1))
    (: > late/new) 2>&- || { echo held; exit 0; }
    sleep 0.02
done
echo open
"""


def test_what_is_mounted_while_a_command_runs_is_not_written_for_long(own_world, mounted):
    inner = shlex.join(own_world.argv("sh", "-c", WAITING))
    outer = shlex.quote(str(own_world.outside))
    argv = mounted(f"{inner} & read line; mount --bind {outer} late; wait")
    with own_world.waiting(argv=argv) as running:
        assert running.communicate("go\n", timeout=60)[0] == "held\n"


def test_and_without_us_it_would_be_so_that_the_probe_can_be_trusted(own_world, mounted):
    wrap = ["bwrap", "--unshare-user", "--ro-bind", "/", "/", "--bind", str(own_world.workspace)]
    inner = shlex.join([*wrap, str(own_world.workspace), "sh", "-c", WAITING.replace("500", "5")])
    argv = mounted(f"{inner} & read line; mount --bind {shlex.quote(str(own_world.outside))} late; wait")
    with own_world.waiting(argv=argv) as running:
        assert running.communicate("go\n", timeout=60)[0] == "open\n"
