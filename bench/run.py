"""What is fast, measured in one run: medians and ratios, no absolute promise about somebody else's machine."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from assent import Engine, Policy, Session, ToolCall, parse_rules
from assent.config.facts import Observer

failures: list[str] = []


def median_us(calls: list[Callable[[], object]], rounds: int = 7) -> float:
    """Return the median time of one call, in microseconds, over all calls of all rounds."""
    times = []
    for _ in range(rounds):
        for call in calls:
            start = time.perf_counter_ns()
            call()
            times.append(time.perf_counter_ns() - start)
    return statistics.median(times) / 1000


def report(what: str, figure: str, *, limit: str = "", ok: bool = True) -> None:
    mark = "  " if ok else "✗ "
    print(f"{mark}{what:<58}{figure:>14}   {limit}")
    if not ok:
        failures.append(what)


def rules(count: int) -> list[str]:
    """Return rules as a large organisation might have them: a third each for commands, reads and writes."""
    kinds = ("Bash(tool{0} run:*)", "Read(/srv/data{0}/**)", "Write(/srv/out{0}/*)")
    return [kinds[i % 3].format(i) for i in range(count)]


def deciding() -> None:
    print("\nDeciding a structured tool call, warm")
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder).resolve()
        (workspace / "src").mkdir()
        for index in range(200):
            (workspace / f"src/m{index}.py").touch()
        session = Session(user="u", agent="a", id="s", workspace=(str(workspace),))
        calls = [
            ToolCall(tool="Write", input={"file_path": f"{workspace}/src/m{i}.py", "content": "x" * 200}, cwd=folder)
            for i in range(200)
        ]
        medians = {}
        for count in (20, 10_000):
            engine = Engine([Policy(deny=parse_rules(rules(count)))], facts=Observer())
            thunks = [lambda c=c, e=engine: e.decide(c, session) for c in calls]
            median_us(thunks, 2)
            medians[count] = median_us(thunks, 15)
        report("20 rules", f"{medians[20]:.1f} µs", limit="at most 40 µs", ok=medians[20] <= 40)
        report("10,000 rules", f"{medians[10_000]:.1f} µs")
        ratio = medians[10_000] / medians[20]
        report("ratio", f"{ratio:.2f} x", limit="at most 1.5 x", ok=ratio <= 1.5)


def process_ms(argv: list[str], rounds: int = 15) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run(argv, capture_output=True, check=True)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


def starting() -> None:
    print("\nFrom process start (each also as a multiple of a bare Python)")
    bare = process_ms([sys.executable, "-c", "pass"])
    report("python -c pass", f"{bare:.0f} ms")
    for what, argv, limit in (
        ("import assent", [sys.executable, "-c", "import assent"], 100),
        ("assent check ls", [str(Path(sys.executable).parent / "assent"), "check", "ls"], 200),
    ):
        took = process_ms(argv)
        report(what, f"{took:.0f} ms {took / bare:.1f} x", limit=f"under {limit} ms", ok=took < limit)


def main() -> None:
    deciding()
    starting()
    print()
    if failures:
        sys.exit(f"over the limit: {', '.join(failures)}")


if __name__ == "__main__":
    main()
