from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


class World:
    """An emptied home, a project in it, and `assent` as a process of its own."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.project = self.home / "project"
        (self.project / ".git").mkdir(parents=True)
        self.user_file = self.home / ".config" / "assent" / "assent.yaml"
        self.user_file.parent.mkdir(parents=True)
        self.state = root / "state"
        kept = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "PYTHONPATH", "COVERAGE_PROCESS_START")}
        self.environ = {**kept, "HOME": str(self.home), "ASSENT_HOME": str(self.state), "PYTHONDONTWRITEBYTECODE": "1"}

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "assent", *words]

    def run(self, *words: str, stdin: str | bytes = "", cwd: Path | None = None, **environ: str):
        data = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            self.command(*words),
            input=data,
            capture_output=True,
            check=False,
            cwd=cwd or self.project,
            env=self.environ | environ,
            timeout=120,
        )
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


class Ended:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


@pytest.fixture
def here(world, monkeypatch):
    """The same world, for calls within this process."""
    for name in ("NO_COLOR", "FORCE_COLOR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "ASSENT_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", world.environ["HOME"])
    monkeypatch.setenv("ASSENT_HOME", world.environ["ASSENT_HOME"])
    monkeypatch.chdir(world.project)
    return world
