"""What is fast, measured in one run: medians and ratios, no absolute promise about somebody else's machine."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import sandbox
from assent import Engine, Facts, Policy, Session, ToolCall, parse_rules
from assent.config.facts import Observer
from assent.reading.commands import read_line
from assent.reading.paths import Place
from assent.shell import parse

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
        engines = {n: Engine([Policy(deny=parse_rules(rules(n)))], facts=Observer()) for n in (20, 10_000)}
        rounds: dict[int, list[float]] = {20: [], 10_000: []}
        for _ in range(40):  # turn by turn, so that what else the machine does hits both
            for count, engine in engines.items():
                rounds[count].append(median_us([lambda c=c, e=engine: e.decide(c, session) for c in calls], 1))
        medians = {count: statistics.median(found) for count, found in rounds.items()}
        report("20 rules, the quietest of 40 rounds (for comparison)", f"{min(rounds[20]):.1f} µs")
        report("20 rules", f"{medians[20]:.1f} µs", limit="at most 40 µs", ok=medians[20] <= 40)
        report("10,000 rules", f"{medians[10_000]:.1f} µs")
        ratio = medians[10_000] / medians[20]
        report("ratio", f"{ratio:.2f} x", limit="at most 1.5 x", ok=ratio <= 1.5)


LINES = """git status|git diff --stat HEAD~1|git log --oneline -20 -- src|ls -la src|cat README.md | head -40
pwd && ls
grep -rn "TODO" src --include=*.py|rg -n 'def \\w+' src tests|find . -name '*.py' -not -path './.venv/*'|wc -l src/*.py
sed -n '10,40p' src/app.py|head -c 200 x.bin|sort names.txt | uniq -c | sort -rn|cd src && grep -c import app.py
git show HEAD:README.md|docker ps -a|kubectl get pods -n prod|npm view react version|pip show requests
awk -F: '{print $1}' /etc/passwd|jq '.items[].name' data.json|ps aux | grep python|du -sh * | sort -h
echo "done: $(date +%F)"|curl -s https://example.com
for f in *.md; do wc -l "$f"; done|test -f x && echo yes || echo no|python3 --version|which node|tail -n 50 log.txt
npm install|git push origin main|rm -rf build|python3 -m pytest -q|make -j4|git commit -m "fix: a thing"
docker build -t x .""".replace("\n", "|").split("|")


def reading() -> None:
    print("\nReading everyday shell lines, warm")
    import tree_sitter  # noqa: PLC0415 - only for comparison
    import tree_sitter_bash  # noqa: PLC0415 - as above

    grammar = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
    place = Place(Facts(home="/home/u", resolve=str), "/code", ("/code",))
    engine = Engine(facts=lambda: Facts(home="/home/u", resolve=str))
    session = Session(workspace=("/code",))
    calls = [ToolCall(tool="Bash", input={"command": line}, cwd="/code") for line in LINES]
    bare = median_us([lambda b=data: grammar.parse(b) for data in map(str.encode, LINES)], 15)
    figures = {
        "parse": median_us([lambda t=line: parse(t, cwd="/code") for line in LINES], 15),
        "parse and read": median_us([lambda t=line: read_line(t, place) for line in LINES], 15),
        "parse, read and decide": median_us([lambda c=call: engine.decide(c, session) for call in calls], 15),
    }
    report("the same lines through tree-sitter-bash alone", f"{bare:.1f} µs")
    for what, figure in figures.items():
        report(what, f"{figure:.1f} µs {figure / bare:.1f} x")
    for size in (1_000, 4_000, 16_000, 64_000):
        line = "a|" * (size // 2)
        report(f"{size:,} characters of `a|`", f"{median_us([lambda t=line: parse(t)], 3) / 1000:.1f} ms")
    report(
        "1,000 of them through tree-sitter-bash", f"{median_us([lambda: grammar.parse(b'a|' * 500)], 3) / 1000:.1f} ms"
    )
    report("4,000 of them", f"{median_us([lambda: grammar.parse(b'a|' * 2000)], 1) / 1000:.1f} ms")


def process_ms(argv: list[str], rounds: int = 25) -> float:
    """Return how long a process takes, in milliseconds: the median."""
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
    reading()
    starting()
    sandbox.measure(report)
    print()
    if failures:
        sys.exit(f"over the limit: {', '.join(failures)}")


if __name__ == "__main__":
    main()
