"""Benchmark the hook that `assent init` installs against a bare Python, a competitor and no hook."""

from __future__ import annotations

import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from assent.agents.specs import is_ours
from assent.platform.jsonc import parse
from daemons import Running
from realagents import AGENTS, BIN, Workplace

ROUNDS = 41
CALL = {
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "git status && ls -la src", "description": "look"},
    "tool_use_id": "toolu_1",
    "session_id": "bench",
}


def measure(report: Callable[..., None]) -> None:
    """Measure everything and compare with the bounds."""
    print("\nThe hook of Claude Code, from process start to answer")
    with tempfile.TemporaryDirectory() as folder, Running(Path(folder), "--rate", "0") as daemon:
        place = Workplace(AGENTS["claude-code"], daemon.home, daemon.project, daemon.state)
        subprocess.run(
            place.assent("init", "claude-code", "--yes", "--no-start"),
            env=place.environ,
            cwd=place.project,
            check=True,
            capture_output=True,
        )
        settings = parse((place.home / ".claude" / "settings.json").read_text()).value
        entry = next(entry for entry in settings["hooks"]["PreToolUse"] if is_ours(entry))
        _starting(report, entry["hooks"][0]["command"], place)
        _working(report, place)


def _starting(report: Callable[..., None], line: str, place: Workplace) -> None:
    data = json.dumps(CALL | {"cwd": str(place.project)}).encode()
    python = line.split(" assent-hook ")[1].split(maxsplit=1)[0]
    kinds = {
        "python3 -I -S -c pass": [python, "-I", "-S", "-c", "pass"],
        "the line of `assent init`, an allowed call": ["/bin/sh", "-c", line],
        "cc-safety-net, the same call": [str(BIN / "cc-safety-net"), "hook", "--claude-code"],
    }
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    for number in range(ROUNDS):  # in turns, so that other load affects all alike
        for kind, argv in kinds.items():
            if "cc-safety-net" in kind and number % 3:
                continue
            begin = time.perf_counter()
            done = subprocess.run(argv, input=data, capture_output=True, check=True, env=place.environ)
            times[kind].append(time.perf_counter() - begin)
            if "assent" in kind and b'"allow"' not in done.stdout:
                sys.exit(f"the hook did not allow it: {done}")
    bare, ours, theirs = (statistics.median(found) * 1000 for found in times.values())
    report("python3 -I -S -c pass", f"{bare:.1f} ms")
    ratio = ours / bare
    report("the line that `assent init` writes", f"{ours:.1f} ms {ratio:.2f} x", limit="at most 1.8 x", ok=ratio <= 1.8)
    report("cc-safety-net", f"{theirs:.0f} ms")
    report("the hook is faster by", f"{theirs / ours:.1f} x", limit="at least 5 x", ok=theirs >= 5 * ours)


def _working(report: Callable[..., None], place: Workplace) -> None:
    """Let the real Claude Code make safe calls with and without the hook."""
    settings = place.home / ".claude" / "settings.json"
    wired = settings.read_text()
    script = [place.agent.run("cat notes.txt") for _ in range(13)]
    (place.project / "notes.txt").write_text("a line\n")
    found: dict[str, list[float]] = {"with": [], "without": []}
    for turn in range(4):  # in turns, each first as often as the other
        for kind in ("with", "without")[:: 1 if turn % 2 else -1]:
            settings.write_text(wired if kind == "with" else "{}")
            found[kind] += _gaps(place.work(script))
    middle = {kind: statistics.median(gaps) * 1000 for kind, gaps in found.items()}
    for kind, gaps in found.items():
        low, _, high = (cut * 1000 for cut in statistics.quantiles(gaps, n=4))
        report(
            f"a safe call in Claude Code, {kind} the hook", f"{middle[kind]:.0f} ms", limit=f"{low:.0f} to {high:.0f}"
        )
    report("the hook adds", f"{middle['with'] - middle['without']:.0f} ms {middle['with'] / middle['without']:.2f} x")


def _gaps(done: dict[str, Any]) -> list[float]:
    return [after - before for before, after in itertools.pairwise(done["times"][1:])]


if __name__ == "__main__":
    os.environ.setdefault("PYTHONPATH", str(Path(__file__).parents[1] / "src"))
    measure(lambda what, figure, limit="", ok=True: print(f"{'  ' if ok else '✗ '}{what:<58}{figure:>14}   {limit}"))
