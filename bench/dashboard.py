"""Benchmark the dashboard in Chromium: first paint, bytes sent, response time to a key."""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from browsing import Visitor, open_browser
from daemons import Running

PENDING = 1000
PAINT = "performance.getEntriesByType('paint').find((each) => each.name === 'first-contentful-paint')?.startTime"
SENT = "[performance.getEntriesByType('navigation'), performance.getEntriesByType('resource')].flat()"
SENT = f"{SENT}.filter((each) => !each.name.includes('/api/')).reduce((sum, each) => sum + each.transferSize, 0)"
PAGES = ("/sessions", "/audit", "/policy", "/overview", "/people")
KEY = """() => new Promise((done) => {
    const start = performance.now();
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "j", bubbles: true }));
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
})"""
"""Time from the key to the frame that shows its effect."""


def measure(report: Callable[..., None]) -> None:
    """Measure the inbox, empty and with a thousand questions."""
    print("\nThe dashboard, in Chromium on this machine")
    with (
        tempfile.TemporaryDirectory() as folder,
        Running(Path(folder), "--rate", "0") as daemon,
        open_browser() as chrome,
    ):
        visitor = Visitor(chrome, daemon)
        page = visitor.log_in()
        paints = []
        for _ in range(9):
            page.goto("/")
            page.wait_for_load_state("networkidle")
            paints.append(page.evaluate(PAINT))
        middle = statistics.median(paints)
        report("first paint, the middle of 9 loads", f"{middle:.0f} ms", limit="under 200 ms", ok=middle < 200)
        for path in PAGES:
            page.get_by_role("navigation", name="Pages").locator(f"a[href='{path}']").click()
            page.wait_for_load_state("networkidle")
        sent = page.evaluate(SENT) / 1000
        report("all files of all pages, as sent", f"{sent:.0f} KB", limit="under 150 KB", ok=sent < 150)
        _fill(daemon)
        page.goto("/")
        page.get_by_text(f"{PENDING:,} questions waiting").wait_for()
        keys = [page.evaluate(KEY) for _ in range(60)]
        slow = statistics.quantiles(keys, n=20)[-1]
        report(f"a key with {PENDING:,} questions: the middle", f"{statistics.median(keys):.0f} ms")
        report("one in twenty", f"{slow:.0f} ms", limit="under 100 ms", ok=slow < 100)
        visitor.close()


def _fill(daemon: Running) -> None:
    agent = daemon.api(daemon.mint("agent", agent="busy", remote=True))

    def ask(number: int) -> None:
        agent.post("/api/hooks/classify", json={"toolName": "bash", "toolInput": {"command": f"node job-{number}.js"}})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, range(PENDING)))


if __name__ == "__main__":
    measure(lambda what, figure, limit="", ok=True: print(f"{'  ' if ok else '✗ '}{what:<50}{figure:>10}  {limit}"))
