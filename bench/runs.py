"""Many runs at once, each with several open questions: how long from a person's answer until its tool has gone on.

What is measured is what one person feels who answers while all the other questions are pending: one answer is sent,
and the clock stops when the client reads that tool's result. The next answer follows only then, so that no answer
waits behind another of the same client; answers are spread over the runs, so that all but the last few meet hundreds
of pending questions. The tool reads a small file outside the workspace: next to nothing of the time is its own. The
time does include three durable records (the answer, its use, the result), each synced to the disk.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from server import Server, free_port, process

RUNS = 200
QUESTIONS = 5
WITHIN_MS = 20.0


def running(report: Callable[..., None]) -> None:
    print(f"\n{RUNS} runs at once with {QUESTIONS} open questions each, one core for the daemon")
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        with tempfile.TemporaryDirectory() as folder:
            _measure(report, Path(folder).resolve(), min(before))
    finally:
        os.sched_setaffinity(0, before)


def _measure(report: Callable[..., None], root: Path, core: int) -> None:
    project, state, port = root / "project", root / "state", free_port()
    (project / ".git").mkdir(parents=True)
    (root / "out").mkdir()
    environ = {**os.environ, "ASSENT_HOME": str(state), "HOME": str(root), "XDG_CONFIG_HOME": str(root / "config")}
    words = [sys.executable, "-m", "assent", "serve", "--port", str(port), "--rate", "0"]
    with process(words, environ, port, core=core) as daemon:
        token = (state / "token").read_text().strip()
        empty = memory(daemon)
        delays, full = asyncio.run(_drive(daemon, token, root, project))
    p50, p99 = (sorted(delays)[int(len(delays) * part)] * 1000 for part in (0.5, 0.99))
    report("memory with no run, and with all of them", f"{empty:.0f} and {full:.0f} MB")
    report("from a decision until its tool has gone on, median", f"{p50:.1f} ms")
    limit = f"under {WITHIN_MS:.0f} ms"
    report("the same, 99th percentile", f"{p99:.1f} ms", limit=limit, ok=p99 < WITHIN_MS)


def memory(server: Server) -> float:
    """Return the memory of a server in megabytes; `taskset` has become the server."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{server.pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


async def _drive(daemon: Server, token: str, root: Path, project: Path) -> tuple[list[float], float]:
    headers = {"Authorization": f"Bearer {token}"}
    async with connect(
        f"ws://127.0.0.1:{daemon.port}/ws", additional_headers=headers, max_size=None, proxy=None
    ) as socket:
        questions: list[dict[str, Any]] = []
        for number in range(RUNS):
            path = root / f"s{number}.yaml"
            path.write_text(_strategy(root / "out", number))
            await _send(socket, type="prepare_run", strategyPath=str(path), cwd=str(project))
            run = (await _hear(socket, questions, "run_prepared"))["runId"]
            await _send(socket, type="start_run", runId=run)
        while len(questions) < RUNS * QUESTIONS:
            await _hear(socket, questions, "request_permission")
        full = memory(daemon)
        # One question of every run, then the next of each: never the five of a run in a row.
        seen: Counter[str] = Counter()
        turns = [(seen.update([q["runId"]]), seen[q["runId"]], q) for q in tuple(questions)]
        order = [question for _, _, question in sorted(turns, key=lambda turn: turn[1])]
        return [await _answer(socket, questions, question) for question in order], full


async def _answer(socket: ClientConnection, questions: list[dict[str, Any]], question: dict[str, Any]) -> float:
    start = time.perf_counter()
    await _send(
        socket,
        type="permission_decision",
        runId=question["runId"],
        permissionRequestId=question["requestId"],
        decision="allow",
    )
    while True:
        event = (await _hear(socket, questions, "agent_streaming"))["event"]
        if event["type"] == "tool-result" and event["toolCallId"] == question["toolCallId"]:
            if event["status"] != "completed":
                sys.exit(f"a tool failed: {event}")
            return time.perf_counter() - start


async def _send(socket: ClientConnection, **message: Any) -> None:
    await socket.send(json.dumps(message))


async def _hear(socket: ClientConnection, questions: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    while True:
        message: dict[str, Any] = json.loads(await socket.recv())
        if message["type"] == "request_permission":
            questions.append(message)
        if message["type"] in ("error", "strategy_error"):
            sys.exit(f"the daemon says: {message}")
        if message["type"] == kind:
            return message


def _strategy(folder: Path, number: int) -> str:
    paths = [folder / f"{number}.{question}" for question in range(QUESTIONS)]
    for path in paths:
        path.write_text("x")
    steps = [{"agent": "reader", "tool": "read_file", "input": {"path": str(path)}} for path in paths]
    return json.dumps({"name": f"bench-{number}", "steps": [{"parallel": steps}]})


if __name__ == "__main__":
    running(lambda what, figure, **more: print(f"{what:<58}{figure:>20}   {more.get('limit', '')}"))
