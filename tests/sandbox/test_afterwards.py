"""What a sandboxed command wrote is not trusted by what runs later outside: it is asked about, or stays inside.

And it is named, whatever the command did to hide it.
"""

import asyncio
import json
import os
import sys

import pytest

from assent import Engine, Session, ToolCall
from assent.config.facts import observe
from assent.sandbox.programs import find_programs, now

PLANT = """
mkdir -p bin .venv/bin sub tests
printf '#!/bin/sh\\necho planted\\n' > bin/ls
cp bin/ls .venv/bin/pip
cp bin/ls tool
chmod +x bin/ls .venv/bin/pip tool
git init -q sub
git -C sub config core.fsmonitor ../tool
printf 'import os\\n' > tests/conftest.py
printf 'all:\\n\\t./tool\\n' > Makefile
printf '{"scripts": {"test": "./tool"}}\\n' > package.json
ln -s /etc notes
"""

LATER = [
    ("Bash", {"command": "bin/ls"}),
    ("Bash", {"command": "./tool"}),
    ("Bash", {"command": "PATH=bin:$PATH ls"}),
    ("Bash", {"command": ".venv/bin/pip list"}),
    ("Bash", {"command": "git -C sub status"}),
    ("Bash", {"command": "cd sub && git diff"}),
    ("Bash", {"command": "pytest tests"}),
    ("Bash", {"command": "make"}),
    ("Bash", {"command": "npm test"}),
    ("Bash", {"command": "echo x > notes/hosts"}),
    ("Write", {"file_path": "notes/hosts", "content": "x"}),
]


@pytest.fixture(scope="module")
def planted():
    from driver import LAUNCHERS, World

    world = World(LAUNCHERS[0])
    done = world.sh(PLANT)
    assert done.returncode == 0, done.stderr
    yield world
    world.remove()


@pytest.mark.parametrize(("tool", "given"), LATER, ids=lambda v: v if isinstance(v, str) else next(iter(v.values())))
def test_what_was_planted_is_not_run_or_followed_unasked(planted, tool, given):
    root = str(planted.workspace)
    engine = Engine((), facts=lambda: observe(planted.environ))
    call = ToolCall(tool=tool, input=given, cwd=root)
    assert engine.decide(call, Session(workspace=(root,))).decision != "allow"


def test_and_before_it_was_planted_looking_was_safe(own_world):
    engine = Engine((), facts=lambda: observe(own_world.environ))
    root = str(own_world.workspace)
    own_world.sh("git init -q sub")
    call = ToolCall(tool="Bash", input={"command": "git -C sub status"}, cwd=root)
    assert engine.decide(call, Session(workspace=(root,))).decision == "allow"


def left_by(world, script):
    """Run a script inside, and return what is then on record as left behind."""
    done = world.sh(script, options=["--json"])
    events = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    found = events[-1]["payload"].get("programs", {"paths": [], "count": 0, "complete": True})
    return found | {"paths": [os.path.relpath(path, world.workspace) for path in found["paths"]]}


def test_what_was_left_behind_is_on_record_and_told(world):
    world.write("old", "#!/bin/sh", mode=0o755)
    world.write("kept", "#!/bin/sh", mode=0o755)
    world.write("plain")
    found = left_by(world, PLANT + "echo true >> old; echo x > plain; mkdir a; cp old a/b; mv a c")
    assert found["paths"] == [
        *(".venv/bin/pip", "Makefile", "bin/ls", "c/b", "notes", "old", "package.json", "sub/.git/config"),
        *("tests/conftest.py", "tool"),
    ]
    assert (found["count"], found["complete"]) == (len(found["paths"]), True)
    told = world.sh("cp tool other").stderr
    assert "runs later, outside too: other" in told


@pytest.mark.parametrize("script", ["ls -la; cat plain", "echo x > plain; mkdir -p new; echo y > new/file"])
def test_and_where_there_is_nothing_nothing_is_said(own_world, script):
    own_world.write("plain", mode=0o644)
    own_world.write("tool", mode=0o755)
    assert left_by(own_world, script)["count"] == 0
    assert own_world.sh(script).stderr == ""


HIDING = """
import os
file = os.open("plain", os.O_RDONLY)
os.fchmod(file, 0o755)
os.utime("plain", (0, 0))
"""


def test_a_file_made_a_program_without_being_written_is_named_whatever_its_times_say(world):
    world.write("plain", mode=0o644)
    world.write("hide.py", HIDING)
    found = left_by(world, f"{world.inner_python} hide.py")
    assert found["paths"] == ["plain"]


def test_of_very_many_some_are_named_and_a_crowd_is_not_looked_through_silently(tmp_path, monkeypatch):
    began = now()
    for number in range(40):
        (tmp_path / f"p{number:02}").write_text("")
        (tmp_path / f"p{number:02}").chmod(0o755)
    found = asyncio.run(find_programs([str(tmp_path)], frozenset(), began))
    assert (len(found.paths), found.count, found.complete) == (20, 40, True)
    monkeypatch.setattr(sys.modules["assent.sandbox.programs"], "_MOST_ENTRIES", 10)
    found = asyncio.run(find_programs([str(tmp_path)], frozenset(), began))
    assert (found.count, found.complete, bool(found)) == (10, False, True)


NO_TEXT = """
import os
os.close(os.open(b"bad\\xff\\x1b[31mname", os.O_CREAT | os.O_WRONLY, 0o755))
os.close(os.open(b".env\\xff", os.O_CREAT | os.O_WRONLY, 0o600))
try:
    os.open(os.fsencode(os.environ["OUTSIDE"]) + b"/bad\\xff", os.O_CREAT | os.O_WRONLY)
except OSError:
    raise SystemExit(7)
"""


def test_names_that_are_no_text_keep_nothing_off_the_record(own_world):
    own_world.write("make.py", NO_TEXT)
    own_world.configure("profiles: {mine: {environment: [OUTSIDE]}}")
    outside = {"OUTSIDE": str(own_world.outside)}
    words = [own_world.inner_python, "make.py"]
    done = own_world.run(*words, options=["--json", "--profile", "mine"], environ=outside)
    events = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    kinds = ["sandbox.applied", "process.started", "sandbox.violation", "process.completed"]
    assert [event["type"] for event in events] == kinds
    assert events[2]["violation"]["resource"].endswith(r"/bad\udcff")
    assert [name.rpartition("/")[2] for name in events[3]["payload"]["programs"]["paths"]] == [
        "bad\\udcff\x1b[31mname",
    ]
    # With a secret of such a name in the workspace, and without --json, everything works as ever.
    again = own_world.run(*words, options=["--profile", "mine"], environ=outside)
    assert (done.returncode, again.returncode) == (7, 1)
    assert "internal error" not in again.stderr
    assert "\x1b" not in again.stderr


def test_a_folder_that_was_closed_before_anybody_could_look_is_told(world):
    done = world.sh("mkdir closed; cp /bin/true closed/tool; chmod 000 closed; echo x > x")
    assert "runs later" in done.stderr
    (world.workspace / "closed").chmod(0o700)
