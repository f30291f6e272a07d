"""Worlds to try a sandbox in, and a probe in C that is none of ours."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from driver import LAUNCHERS, World


@pytest.fixture(params=LAUNCHERS)
def world(request):
    made = World(request.param)
    yield made
    made.remove()


@pytest.fixture
def own_world():
    made = World(LAUNCHERS[0])
    yield made
    made.remove()


@pytest.fixture(scope="session")
def probe_binary(tmp_path_factory):
    program = tmp_path_factory.mktemp("probe") / "probe"
    source = Path(__file__).with_name("probe.c")
    subprocess.run(["gcc", "-O1", "-Wall", "-o", program, source], check=True)
    return program.read_bytes()


@pytest.fixture
def probe(world, probe_binary):
    """Put the probe into the workspace, and return what runs it."""
    file = world.workspace / "probe"
    file.write_bytes(probe_binary)
    file.chmod(0o755)
    world.give(world.workspace)

    def run(*words, **more):
        done = world.run("./probe", *map(str, words), **more)
        return done.stdout.strip()

    return run
