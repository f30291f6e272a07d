"""Benchmark the sandbox against bubblewrap alone and the same work without a supervisor."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from assent.analysis.resources.paths import Place
from assent.model import Facts, SandboxProfile
from assent.policy.sandbox_profiles import profile
from assent.sandbox import Sandbox
from realagents import BIN

Report = Callable[..., None]

FILES = 5000
SOURCES = 40


def make_profile(workspace: Path) -> SandboxProfile:
    made = profile("workspace-write", Place(Facts(), str(workspace), (str(workspace),)))
    if made is None:
        sys.exit("there is no such profile")
    return made


class Times(NamedTuple):
    """Times of a command in its own sandbox, in milliseconds."""

    opening: float
    """Time to find hidden and protected files and to create placeholders."""
    running: float
    """Time from the start of bubblewrap to the end of the command."""
    closing: float

    @property
    def entering(self) -> float:
        return self.opening + self.running


async def enter(profile: SandboxProfile, argv: list[str], *, supervised: bool) -> Times:
    """Run a command in a sandbox of its own."""
    marks = [time.perf_counter()]
    async with Sandbox(profile, supervised=supervised) as box:
        marks.append(time.perf_counter())
        process = await box.start(argv, stdout=2, stderr=2)
        ended = await process.wait()
        marks.append(time.perf_counter())
    marks.append(time.perf_counter())
    if ended.code:
        sys.exit(f"{argv} failed in the sandbox")
    return Times(*((after - before) * 1000 for before, after in itertools.pairwise(marks)))


BARE = ["bwrap", "--ro-bind", "/", "/", "--unshare-all", "--die-with-parent", "true"]


def entering(report: Report, workspace: Path) -> None:
    print("\nEntering the sandbox from a warm process: everything from the wish to the end of `true`")
    full = make_profile(workspace)
    steps = {
        "namespaces, Landlock, seccomp, rlimits": (msgspec.structs.replace(full, masked=(), protected=()), False),
        "and protected names": (full, False),
        "and the supervisor": (full, True),
    }
    alone: list[float] = []
    times: dict[str, list[Times]] = {what: [] for what in steps}
    for _ in range(25):  # in turns, so that other load affects all alike
        alone.append(process_time(BARE, workspace, 1))
        for what, (wanted, supervised) in steps.items():
            times[what].append(asyncio.run(enter(wanted, ["true"], supervised=supervised)))
    lone = statistics.median(alone)
    report("bwrap … true", f"{lone:.1f} ms")
    for what, found in times.items():
        took = statistics.median(t.running for t in found)
        report(what, f"{took:.1f} ms {took / lone:.1f} x")
    last = times[what]
    for part in ("opening", "closing"):
        report(f"and {part} it", f"{statistics.median(getattr(t, part) for t in last):.1f} ms")
    ratio = statistics.median(t.entering for t in last) / lone
    report("all of it, up to the end of the command", f"{ratio:.1f} x", limit="at most 6 x bwrap", ok=ratio <= 6)


def starting(report: Report, workspace: Path) -> None:
    """Compare with the sandbox from the npm package, both including process start."""
    print("\n`assent run -- true`, from the start of the process")
    ours = [str(Path(sys.executable).with_name("assent")), "run", "--", "true"]
    theirs = find_peer()
    missing = [name for name in ("rg", "socat") if shutil.which(name) is None]
    if theirs is None or missing:
        lacking = ", ".join((*(() if theirs else ("@anthropic-ai/sandbox-runtime in .venv/agents",)), *missing))
        report("assent run -- true", f"{process_time(ours, workspace):.0f} ms")
        report("not compared with `srt true`", "", limit=f"missing: {lacking}")
        return
    times: dict[str, list[float]] = {"assent": [], "srt": []}
    for _ in range(9):  # in turns, so that other load affects both alike
        times["assent"].append(process_time(ours, workspace, 1))
        times["srt"].append(process_time([theirs, "true"], workspace, 1))
    run, peer = (statistics.median(times[name]) for name in ("assent", "srt"))
    report("srt true", f"{peer:.0f} ms")
    ratio = run / peer
    report("assent run -- true", f"{run:.0f} ms {ratio:.2f} x", limit="at most 0.5 x srt", ok=ratio <= 0.5)


def find_peer() -> str | None:
    """Return the program of the other sandbox, which is installed with the agents."""
    program = BIN / "srt"
    return str(program) if program.exists() else None


def process_time(argv: list[str], folder: Path, rounds: int = 7) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run(argv, cwd=folder, check=True)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


def unpacking(report: Report, workspace: Path) -> None:
    print(f"\nUnpacking {FILES:,} files")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "many"
        for index in range(FILES):
            file = source / f"d{index % 50}" / f"f{index}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("x" * 200)
        with tarfile.open(workspace / "many.tar", "w") as archive:
            archive.add(source, "many")
    compare(report, workspace, ["sh", "-c", "tar -xf many.tar -C $(mktemp -d -p .)"], 2.5)


def compiling(report: Report, workspace: Path) -> None:
    print(f"\nCompiling {SOURCES} C files")
    for index in range(SOURCES):
        body = "".join(f'int f{index}_{i}(int a) {{ return printf("%d", a * {i}); }}\n' for i in range(60))
        (workspace / f"m{index}.c").write_text(f"#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n{body}")
    compare(report, workspace, ["sh", "-c", "rm -f *.o; for f in m*.c; do gcc -O2 -c $f || exit 1; done"], 1.15)


def compare(report: Report, workspace: Path, argv: list[str], limit: float) -> None:
    wanted = make_profile(workspace)
    times: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(5):  # in turns, so that other load affects both alike
        for supervised, found in times.items():
            found.append(asyncio.run(enter(wanted, argv, supervised=supervised)).running)
    without, watched = (statistics.median(times[s]) for s in (False, True))
    report("without the supervisor", f"{without:.0f} ms")
    report(
        "with it",
        f"{watched:.0f} ms {watched / without:.2f} x",
        limit=f"at most {limit} x",
        ok=watched <= limit * without,
    )


def measure(report: Report) -> None:
    """Measure everything about the sandbox."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        workspace = Path(folder) / "ws"
        workspace.mkdir()
        os.environ["ASSENT_HOME"] = f"{folder}/assent"
        try:
            entering(report, workspace)
            starting(report, workspace)
            unpacking(report, workspace)
            compiling(report, workspace)
        finally:
            shutil.rmtree(workspace, ignore_errors=True)
