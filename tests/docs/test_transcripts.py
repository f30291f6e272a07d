"""What the documents show of a terminal is what a terminal shows: all of it, on any machine."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from documents import every_block


@dataclass
class Turn:
    """One line that was typed, and what came back."""

    file: str
    typed: str
    shown: str

    def __str__(self) -> str:
        return f"{self.file} {self.typed}"


def turns():
    for block in every_block("console"):
        for part in re.split(r"^\$ ", block.body, flags=re.MULTILINE)[1:] if not block.excuse else ():
            typed, _, shown = part.partition("\n")
            yield Turn(block.file, typed, shown.rstrip("\n"))


CHECKS = list(turns())


def run(typed: str, root: Path) -> str:
    """Type a line in an empty project of somebody who has configured nothing."""
    program, *words = shlex.split(typed)
    assert program == "assent"
    project = root / "home" / "project"
    (project / ".git").mkdir(parents=True)
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-m", "assent", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        cwd=project,
        env=kept | {"HOME": str(project.parent), "PYTHONDONTWRITEBYTECODE": "1"},
        timeout=60,
    )
    return done.stdout.decode().rstrip("\n")


@pytest.mark.parametrize("turn", CHECKS, ids=str)
def test_a_documented_line_shows_what_is_written_below_it(turn, tmp_path):
    assert run(turn.typed, tmp_path) == turn.shown


def test_the_readme_shows_an_allow_an_ask_and_a_deny():
    shown = {turn.shown.partition(":")[0] for turn in CHECKS if turn.file == "README.md"}
    assert shown == {"allow", "ask", "deny"}
