"""What a sandboxed command wrote is not trusted by what runs later outside: it is asked about, or stays inside."""

import pytest

from assent import Engine, Session, ToolCall
from assent.config.facts import observe

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
