"""Benchmark decisions in one run: medians and ratios, not absolute times."""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import hooks
import log

import dashboard
import sandbox
import sdk
from assent import Engine, Facts, Policy, Session, ToolCall, catalog, parse_rules
from assent.analysis.evaluate.script import parse
from assent.analysis.lines.commands import read_line
from assent.analysis.resources.paths import Place
from assent.platform.facts import Observer
from runs import running
from server import serving

sys.path.append(str(Path(__file__).parent.parent / "tests"))
import corpus
import slow

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
        for _ in range(40):  # in turns, so that other load affects both alike
            for count, engine in engines.items():
                rounds[count].append(median_us([lambda c=c, e=engine: e.decide(c, session) for c in calls], 1))
        medians = {count: statistics.median(found) for count, found in rounds.items()}
        report("20 rules, the quietest of 40 rounds (for comparison)", f"{min(rounds[20]):.1f} µs")
        report("20 rules", f"{medians[20]:.1f} µs", limit="at most 40 µs", ok=medians[20] <= 40)
        report("10,000 rules", f"{medians[10_000]:.1f} µs")
        ratio = medians[10_000] / medians[20]
        report("ratio", f"{ratio:.2f} x", limit="at most 1.5 x", ok=ratio <= 1.5)


LINES = (Path(__file__).parent / "lines.txt").read_text("utf-8").splitlines()
"""Typical commands of people and agents: reads, edits, builds, and some that need approval."""
NEW, AGAIN = "parse, read and decide", "a repeated line, from memory"


Call: TypeAlias = Callable[[], object]


def interleaved(kinds: dict[str, Callable[[int], list[Call]]], rounds: int = 15) -> dict[str, list[float]]:
    """Return the median time of each line, in microseconds, for each kind of call.

    Turn by turn: what else the machine does hits all kinds alike, and no line warms up for itself.
    """
    times: dict[str, list[list[int]]] = {kind: [] for kind in kinds}
    for number in range(rounds):
        for kind, make in kinds.items():
            times[kind].append([time_ns(call) for call in make(number)])
    return {
        kind: [statistics.median(line) / 1000 for line in zip(*found, strict=True)] for kind, found in times.items()
    }


def time_ns(call: Call) -> int:
    start = time.perf_counter_ns()
    call()
    return time.perf_counter_ns() - start


def line_call(line: str, cwd: str, note: object = "") -> ToolCall:
    """Return a call that nobody made before, if the note is new."""
    return ToolCall(tool="Bash", input={"command": line, "description": str(note)}, cwd=cwd)


def deciding_lines(engine: Engine, cwd: str) -> dict[str, Callable[[int], list[Call]]]:
    """Return what decides every line: as one that is new in each round, and as the same one each time."""
    session = Session(workspace=(cwd,))

    def calls(note: object) -> list[Call]:
        made = [line_call(line, cwd, note) for line in LINES]
        return [lambda c=c: engine.decide(c, session) for c in made]

    for call in calls("again"):
        call()
    return {NEW: calls, AGAIN: lambda _: calls("again")}


def reading() -> None:
    print(f"\nReading {len(LINES)} everyday shell lines, warm, each by its median")
    import tree_sitter  # noqa: PLC0415 - only for comparison
    import tree_sitter_bash  # noqa: PLC0415 - as above

    grammar = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
    encoded = [line.encode() for line in LINES]
    facts = Facts(home="/home/u", resolve=str)
    place = Place(facts, "/code", ("/code",))
    bare = "the same lines through tree-sitter-bash alone"
    figures = interleaved(
        {
            bare: lambda _: [lambda e=e: grammar.parse(e) for e in encoded],
            "parse": lambda _: [lambda t=t: parse(t, cwd="/code") for t in LINES],
            "parse and read": lambda _: [lambda t=t: read_line(t, place) for t in LINES],
            **deciding_lines(Engine(facts=lambda: facts), "/code"),
        }
    )
    unit = statistics.median(figures[bare])
    for what, found in figures.items():
        middle, limit = statistics.median(found), {NEW: 100, AGAIN: 10}.get(what)
        ok, said = limit is None or middle <= limit, f"at most {limit} µs" if limit else ""
        report(what, f"{middle:.1f} µs {middle / unit:.1f} x", limit=said, ok=ok)
    slowest = statistics.quantiles(figures[NEW], n=100)[98]
    report("the slowest line in a hundred", f"{slowest:.0f} µs", limit="at most 1000 µs", ok=slowest <= 1000)


def reading_once() -> None:
    """Measure lines of which neither they nor their commands were read before: the other half of a corpus."""
    facts = Facts(home="/home/u", resolve=str)
    engine, session = Engine(facts=lambda: facts), Session(workspace=("/code",))
    catalog.load()
    lines = [row.line for row in corpus.load(corpus.FOLDER / "everyday.txt")]
    others = [row.line for file in corpus.files() if file.name != "everyday.txt" for row in corpus.load(file)]
    for line in (*others, *lines[::2]):
        engine.decide(line_call(line, "/code"), session)
    gc.collect()
    calls = [line_call(line, "/code") for line in lines[1::2]]
    times = sorted(time_ns(lambda c=call: engine.decide(c, session)) / 1000 for call in calls)
    print(f"\n{len(times)} other lines of the everyday corpus, each decided once, by a process that is warm")
    usual, slowest = statistics.median(times), statistics.quantiles(times, n=100)[98]
    report("a line that was never read before", f"{usual:.1f} µs", limit="at most 100 µs", ok=usual <= 100)
    report("the slowest line in a hundred", f"{slowest:.0f} µs", limit="at most 1000 µs", ok=slowest <= 1000)


def reading_on_disk() -> None:
    """Measure the same with a real disk, where links, settings and programs are looked up each time."""
    print("\nThe same in a repository on this disk: all looks at it included, a repeated line takes them again")
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder).resolve()
        for name in (".git/objects", "src/server", "tests", "docs", "dist"):
            (workspace / name).mkdir(parents=True)
        (workspace / ".git/HEAD").write_text("ref: refs/heads/main\n")
        (workspace / ".git/config").write_text("[core]\n\tbare = false\n")
        engine = Engine(facts=Observer())
        for what, found in interleaved(deciding_lines(engine, str(workspace))).items():
            report(what, f"{statistics.median(found):.1f} µs")


SHAPES: dict[str, Callable[[int], str]] = {
    "a;a;…": lambda size: "a;" * (size // 2),
    "a|a|…": lambda size: "a|" * (size // 2) + "a",
    "plain words": lambda size: "echo " + "word " * (size // 5),
    "quoted words": lambda size: "echo " + "'a b' " * (size // 6),
    "files": lambda size: "cat " + "f.txt " * (size // 6),
    "nested $( )": lambda size: "echo " + "$(echo $(echo $(ls))) " * (size // 22),
    "a here-document": lambda size: "cat > f <<'E'\n" + "some `text` $here\n" * (size // 18) + "E\n",
    "one that expands": lambda size: "cat > f <<E\n" + "some text $here\n" * (size // 16) + "E\n",
}
SIZES = (1_000, 4_000, 16_000, 64_000)


def thread_ms(engine: Engine, session: Session, call: ToolCall) -> float:
    """Return the processor's time, in milliseconds: how it grows with the text is no matter of what else runs."""
    start = time.thread_time()
    engine.decide(call, session)
    return (time.thread_time() - start) * 1000


def growing() -> None:
    print("\nParsing, reading and deciding long lines (a line of more than 400 commands is not read to its end)")
    facts = Facts(home="/home/u", resolve=str)
    engine, session = Engine(facts=lambda: facts), Session(workspace=("/code",))
    print(f"  {'characters':<24}" + "".join(f"{size:>12,}" for size in SIZES))
    for what, make in SHAPES.items():
        took = [min(thread_ms(engine, session, line_call(make(size), "/code", n)) for n in range(5)) for size in SIZES]
        print(f"  {what:<24}" + "".join(f"{each:>9.1f} ms" for each in took))
        # Four times the text may take four times as long; the rest allows for noise.
        growth = took[-1] / took[-2]
        report(f"{what}: four times the text", f"{growth:.1f} x", limit="at most 6 x", ok=growth <= 6)


def stopping() -> None:
    """Measure calls that would take seconds without the time limit."""
    given = [("Bash", {"command": line}) for line in slow.LINES.values()] + list(slow.CALLS.values())
    print(f"\n{len(given)} calls made to be slow, in a folder of 4,000 names: the processor's time for each")
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder).resolve()
        for index in range(1_000):
            (workspace / f"d{index}").mkdir()
            (workspace / f"d{index}/x").touch()
            (workspace / f"f{index}").touch()
            (workspace / f"s{index}").symlink_to(f"d{index}")
        session = Session(workspace=(str(workspace),))
        for what, rules in (("without rules", []), (f"under {len(slow.RULES)} rules", slow.RULES)):
            engine = Engine([Policy(deny=parse_rules(rules))], facts=Observer())
            engine.decide(line_call(slow.LOADED, folder), session)
            calls = [ToolCall(tool=tool, input=arguments, cwd=str(workspace)) for tool, arguments in given]
            gc.collect()
            gc.freeze()  # as the daemon does with what it has loaded
            took = [thread_ms(engine, session, call) for call in calls]
            worst = max(took)
            report(f"{what}, the slowest", f"{worst:.0f} ms", limit="at most 100 ms", ok=worst <= 100)
            gc.unfreeze()


LOADING = """
import time
begin = time.perf_counter()
import assent
from assent.catalog import lookup, names
from assent.analysis.lines.commands import read_line
lookup("ls")
print((time.perf_counter() - begin) * 1000)
"""
SIZE = """
import tracemalloc
from assent.catalog import lookup, names
def visit(entry):
    entry.table, entry.switches, entry.prompts, entry.unprompted
    for child in {id(child): child for child in entry.children.values()}.values():
        visit(child)
tracemalloc.start()
for name in names():
    visit(lookup(name))
print(tracemalloc.get_traced_memory()[0] / 1e6)
"""


def printed(code: str) -> float:
    """Return the number that a fresh interpreter prints."""
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)


def loading() -> None:
    print("\nThe catalog")
    took, size = statistics.median([printed(LOADING) for _ in range(15)]), printed(SIZE)
    report("import, and load what every line needs", f"{took:.0f} ms", limit="under 120 ms", ok=took < 120)
    report("memory of all entries, parsed and made ready", f"{size:.1f} MB", limit="under 30 MB", ok=size < 30)


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
    reading_once()
    reading_on_disk()
    growing()
    stopping()
    loading()
    starting()
    log.run(report)
    serving(report)
    running(report)
    sandbox.measure(report)
    hooks.measure(report)
    sdk.run(report)
    dashboard.measure(report)
    print()
    if failures:
        sys.exit(f"over the limit: {', '.join(failures)}")


if __name__ == "__main__":
    main()
