"""Benchmark the audit log and pending questions: append, verify, search, and the cost of a waiting call."""

from __future__ import annotations

import asyncio
import gc
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

import uvloop

from assent import Engine, Facts, Session, ToolCall
from assent.audit.follow import last_position
from assent.audit.log import Log
from assent.audit.search import Query, search
from assent.audit.verify.log import verify_log
from assent.decisions.approvals.repository import Approvals
from assent.decisions.audit_events import evaluated
from assent.decisions.service import Decisions
from assent.model import ALLOW, Answer, Principal, Role
from assent.server.state.hourly_counts import HourlyCounts
from assent.store.store import open_store

SESSION = Session(id="s", user="ann", agent="coder", workspace=("/code",))
ANN = Principal(role=Role.USER, user="ann")
EVENTS = 200_000
WAITERS = 10_000
LINES = ("git status", "ls -la src", "cat README.md | head -40", 'grep -rn "TODO" src --include=*.py')


class Report(Protocol):
    """Prints one figure."""

    def __call__(self, what: str, figure: str, *, limit: str = "", ok: bool = True) -> None:
        """Print a figure, marked if it exceeds its bound."""


def facts() -> Facts:
    return Facts(now=time.time(), home="/home/ann", resolve=str)


def run(report: Report) -> None:
    """Run all measurements."""
    print("\nThe log and the questions")
    with tempfile.TemporaryDirectory(dir=os.environ.get("ASSENT_BENCH_DIR")) as home:
        uvloop.run(append(home, report))
        verify(home, report)
        uvloop.run(look_back(home, report))
    with tempfile.TemporaryDirectory(dir=os.environ.get("ASSENT_BENCH_DIR")) as home:
        uvloop.run(suspend(home, report))


async def append(home: str, report: Report) -> None:
    """Append events of real decisions, first with 64 concurrent callers, then until there are enough to verify."""
    with open_store(home=home) as store:
        log = Log(store, home)
        engine = Engine(facts=facts)
        calls = [ToolCall(tool="Bash", input={"command": text}, cwd="/code") for text in LINES]
        events = [evaluated(c, SESSION, engine.decide(c, SESSION), c.input["command"]) for c in calls]

        async def caller(count: int) -> None:
            for number in range(count):
                await log.record((events[number % len(events)],))

        await asyncio.gather(*(caller(20) for _ in range(64)))
        jobs, batches = store.figures.jobs, store.figures.batches
        start = time.perf_counter()
        await asyncio.gather(*(caller(300) for _ in range(64)))
        took = time.perf_counter() - start
        report("durable events a second, 64 callers", f"{64 * 300 / took:,.0f} /s")
        batch = (store.figures.jobs - jobs) / (store.figures.batches - batches)
        report("events in one commit", f"{batch:.0f}")
        bare = fsync_us(home)
        report("a commit, as a multiple of a bare fdatasync", f"{took / (64 * 300 / batch) * 1e6 / bare:.1f} x")
        for _ in range(EVENTS // 500):
            entries = [log.prepare(events[i % len(events)]) for i in range(500)]
            await store.commit(lambda cursor, entries=entries: log.append(cursor, entries))
        log.close()


def fsync_us(folder: str) -> float:
    """Return the time to sync 4 KB to disk, in microseconds."""
    descriptor = os.open(os.path.join(folder, "probe"), os.O_WRONLY | os.O_CREAT, 0o600)  # noqa: PTH118 - as given
    times = []
    for _ in range(100):
        os.write(descriptor, b"x" * 4096)
        start = time.perf_counter()
        os.fdatasync(descriptor)
        times.append(time.perf_counter() - start)
    os.close(descriptor)
    return statistics.median(times) * 1e6


def verify(home: str, report: Report) -> None:
    """Verify the whole log; the median of three passes."""
    with open_store(home=home) as store:
        address = store.address
    rates = []
    for _ in range(3):
        start = time.perf_counter()
        found = verify_log(address, home=home)
        rates.append(found.events / (time.perf_counter() - start))
        if not found.ok:
            raise SystemExit(f"the log does not verify: {found}")
    rate = statistics.median(rates)
    report("audit verify, events a second", f"{rate:,.0f} /s", limit="at least 150,000", ok=rate >= 150_000)


async def look_back(home: str, report: Report) -> None:
    """Search for a missing text, so that the whole log is scanned, and compute statistics; both must grow linearly."""
    wanted = {
        "the newest page": Query(),
        "by agent, none found": Query(agent="nobody"),
        "by tool, tier, verdict and source, none found": Query(tool="x", tier="safe", verdict="deny", source="hook"),
        "by time, none found": Query(since=1.0, until=2.0),
        "by text, none found": Query(text="nowhere to be found"),
    }
    with open_store(home=home) as store:
        million = 1_000_000 / await last_position(store)
        for name, query in wanted.items():
            took = await _time(lambda query=query: search(store, query, limit=60))
            report(
                f"a million records, {name}",
                f"{took * million * 1000:.0f} ms",
                limit="under 1,000 ms",
                ok=took * million < 1,
            )
        tally = HourlyCounts(store)
        start = time.perf_counter()
        await tally.count(0.0, None)
        report(
            "a million records, summed up the first time", f"{(time.perf_counter() - start) * million * 1000:.0f} ms"
        )
        took = await _time(lambda: tally.count(0.0, None))
        report("and again", f"{took * 1000:.1f} ms", limit="under 50 ms", ok=took < 0.05)


async def _time(work: Callable[[], Awaitable[object]]) -> float:
    times = []
    for _ in range(5):
        start = time.perf_counter()
        await work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def resident_kb() -> float:
    with open("/proc/self/statm") as file:  # noqa: PTH123 - no path to keep
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024


async def suspend(home: str, report: Report) -> None:
    """Let many calls wait, then answer them one by one and measure when each resumes."""
    with open_store(home=home) as store:
        log = Log(store, home)
        approvals = Approvals(store, log)
        engine = Engine(facts=facts)
        decisions = Decisions(lambda _call, _session: engine, store, log, approvals)
        woken: dict[str, float] = {}
        await decisions.decide(_call(-1), SESSION, wait=0.0)
        gc.collect()
        before = resident_kb()

        few = asyncio.Semaphore(256)

        async def waiter(number: int) -> None:
            async with few:
                ruling = await decisions.decide(_call(number), SESSION, waiting=True)
            if ruling.approval is None:
                raise SystemExit(f"nobody was asked: {ruling.decision.decision_reason}")
            found = await approvals.wait(ruling.approval.id, 600, is_pending=True)
            if found is not None:
                woken[found.id] = time.perf_counter()

        tasks = [asyncio.create_task(waiter(number)) for number in range(WAITERS)]
        await _until(lambda: approvals.waiters.count == WAITERS)
        gc.collect()
        each = (resident_kb() - before) / WAITERS
        report(f"{WAITERS:,} suspended calls, each", f"{each:.1f} KB", limit="at most 40 KB", ok=each <= 40)
        delays = await _answer_all(decisions, approvals, woken)
        await asyncio.gather(*tasks)
        late = statistics.quantiles(delays, n=100)[98] * 1000
        report("from the answer to the wake, median", f"{statistics.median(delays) * 1000:.2f} ms")
        report("99th percentile", f"{late:.2f} ms", limit="at most 50 ms", ok=late <= 50)
        approvals.close()
        log.close()


async def _answer_all(decisions: Decisions, approvals: Approvals, woken: dict[str, float]) -> list[float]:
    answered: dict[str, float] = {}
    yes = Answer(verdict=ALLOW)

    async def person(ids: list[str]) -> None:
        for approval_id in ids:
            answered[approval_id] = time.perf_counter()
            await decisions.answer(approval_id, yes, ANN)

    ids = approvals.waiters.ids
    await asyncio.gather(*(person(ids[i::4]) for i in range(4)))
    await _until(lambda: len(woken) == len(ids))
    return [woken[i] - answered[i] for i in ids]


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - what is waited for is counted in another thread
        await asyncio.sleep(0.02)


def _call(number: int) -> ToolCall:
    return ToolCall(tool="Bash", input={"command": f"npm install p{number}"}, cwd="/code", call_id=f"c{number}")
