"""Durable decisions over HTTP against a bare echo of the same bodies: a core for the server, one for the client."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

CONNECTIONS = 64
SECONDS = 3.0
ROUNDS = 3
ECHO = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

async def echo(request):
    return Response(await request.body(), media_type="application/json")

app = Starlette(routes=[Route("/api/hooks/classify", echo, methods=["POST"])])
uvicorn.run(app, port=int(sys.argv[1]), loop="uvloop", http="httptools", access_log=False, log_level="warning")
"""
LINES = (
    "git status",
    "git diff --stat HEAD~1",
    "git log --oneline -20 -- src",
    "ls -la src",
    "cat README.md | head -40",
    "pwd && ls",
    "grep -rn TODO src --include=*.py",
    "find . -name '*.py' -not -path './.venv/*'",
    "wc -l src/app.py",
    "sed -n '10,40p' src/app.py",
    "sort names.txt | uniq -c | sort -rn",
    "cd src && grep -c import app.py",
)


class Measured:
    """What one round of requests gave."""

    def __init__(self, count: int, seconds: float, delays: list[float]) -> None:
        self.rate = count / seconds
        delays.sort()
        self.p99 = delays[int(len(delays) * 0.99)] * 1000


def request_bytes(port: int, token: str, command: str, cwd: str) -> bytes:
    body = json.dumps({"toolName": "bash", "toolInput": {"command": command}, "cwd": cwd}).encode()
    head = (
        f"POST /api/hooks/classify HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Caller(asyncio.Protocol):
    """One connection that asks again as soon as it was answered."""

    def __init__(self, following: Callable[[], bytes], delays: list[float], check: bytes) -> None:
        self.following, self.delays, self.check = following, delays, check
        self.data, self.sent, self.going = b"", 0.0, True
        self.idle = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        self.sent = time.perf_counter()
        self.transport.write(self.following())  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        self.data += data
        head, gap, body = self.data.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        if not gap or length is None or len(body) < int(length[1]):
            return
        if self.check not in body:
            sys.exit(f"an answer is wrong: {self.data[:500]!r}")
        self.delays.append(time.perf_counter() - self.sent)
        self.data = b""
        if self.going:
            self.ask()
        elif not self.idle.done():
            self.idle.set_result(None)


async def drive(port: int, following: Callable[[], bytes], seconds: float, check: bytes) -> Measured:
    loop = asyncio.get_running_loop()
    delays: list[float] = []
    made = [
        await loop.create_connection(lambda: Caller(following, delays, check), "127.0.0.1", port)
        for _ in range(CONNECTIONS)
    ]
    callers = [caller for _, caller in made]
    delays.clear()
    start = time.perf_counter()
    await asyncio.sleep(seconds)
    count, took = len(delays), time.perf_counter() - start
    for caller in callers:
        caller.going = False
    await asyncio.gather(*(caller.idle for caller in callers))
    for transport, _ in made:
        transport.close()
    return Measured(count, took, delays[:count])


@contextlib.contextmanager
def process(words: list[str], ready: str, environ: dict[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Start a server on the first core."""
    pinned = [*(["taskset", "-c", "0"] if (os.cpu_count() or 1) > 1 else []), *words]
    started = subprocess.Popen(pinned, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ)
    try:
        if ready:
            found = b""
            while ready.encode() not in found and started.stdout is not None:
                piece = os.read(started.stdout.fileno(), 4096)
                if not piece:
                    sys.exit(f"{words} did not start")
                found += piece
            started.said = found.decode()  # type: ignore[attr-defined]
        yield started
    finally:
        started.kill()
        started.wait()
        if started.stdout is not None:
            started.stdout.close()


def free_port() -> int:
    import socket  # noqa: PLC0415 - only here

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_for(port: int) -> None:
    for _ in range(400):
        with contextlib.suppress(OSError):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/health")
            connection.getresponse().read()
            connection.close()
            return
        time.sleep(0.05)
    sys.exit("the server did not start")


def fetch(port: int, token: str, path: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
    text = connection.getresponse().read().decode()
    connection.close()
    return text


def counted(metrics: str, name: str) -> float:
    found = re.search(rf"^{name} (\S+)$", metrics, re.MULTILINE)
    return float(found[1]) if found else 0.0


def measure(
    echo_port: int, port: int, make: Callable[[int], Callable[[], bytes]]
) -> tuple[list[Measured], list[Measured]]:
    """Drive both in turn, so that what else the machine does hits both."""
    bare, durable = [], []
    for _ in range(ROUNDS):
        bare.append(asyncio.run(drive(echo_port, make(echo_port), SECONDS, b"toolName")))
        durable.append(asyncio.run(drive(port, make(port), SECONDS, b'"allow":true')))
    return bare, durable


def serving(report: Callable[..., None]) -> None:
    print(f"\nDurable decisions through POST /api/hooks/classify, {CONNECTIONS} connections, one core")
    before = os.sched_getaffinity(0)
    if len(before) > 1:
        os.sched_setaffinity(0, {max(before)})
    try:
        with tempfile.TemporaryDirectory() as folder:
            _serve(report, Path(folder).resolve())
    finally:
        os.sched_setaffinity(0, before)


def _serve(report: Callable[..., None], root: Path) -> None:
    project = root / "project"
    (project / ".git").mkdir(parents=True)
    (project / "src").mkdir()
    environ = {
        **os.environ,
        "ASSENT_HOME": str(root / "state"),
        "HOME": str(root),
        "XDG_CONFIG_HOME": str(root / "config"),
    }
    assent = [sys.executable, "-m", "assent"]
    echo_port = free_port()
    with (
        process([*assent, "serve", "--port", "0", "--rate", "0"], "listens on", environ) as daemon,
        process([sys.executable, "-c", ECHO, str(echo_port)], ""),
    ):
        port = int(re.search(r":(\d+)", daemon.said)[1])  # type: ignore[attr-defined, index]
        words = [*assent, "token", "create", "--role", "agent", "--agent", "bench"]
        token = subprocess.run(words, capture_output=True, text=True, check=True, env=environ).stdout.strip()
        owner = (root / "state" / "token").read_text().strip()
        wait_for(echo_port)
        wait_for(port)
        time.sleep(1)
        numbers = itertools.count()

        def repeated(to: int) -> Callable[[], bytes]:
            ready = itertools.cycle([request_bytes(to, token, line, str(project)) for line in LINES])
            return lambda: next(ready)

        def different(to: int) -> Callable[[], bytes]:
            return lambda: request_bytes(to, token, f"{LINES[(n := next(numbers)) % len(LINES)]} # {n}", str(project))

        for what, make, least in (("repeated lines", repeated, 0.5), ("all lines different", different, 0.3)):
            figures = fetch(port, owner, "/metrics")
            jobs, commits = counted(figures, "assent_audit_position"), counted(figures, "assent_commits_total")
            bare, durable = measure(echo_port, port, make)
            figures = fetch(port, owner, "/metrics")
            batch = (counted(figures, "assent_audit_position") - jobs) / max(
                1.0, counted(figures, "assent_commits_total") - commits
            )
            rates = statistics.median(m.rate for m in bare), statistics.median(m.rate for m in durable)
            tails = statistics.median(m.p99 for m in bare), statistics.median(m.p99 for m in durable)
            report(f"bare Starlette echo, {what}", f"{rates[0]:,.0f}/s {tails[0]:.1f} ms")
            report(f"decided and durable, {what}", f"{rates[1]:,.0f}/s {tails[1]:.1f} ms")
            report("decisions in one commit", f"{batch:.1f}")
            ratio, tail = rates[1] / rates[0], tails[1] / tails[0]
            report("decisions per echo", f"{ratio:.2f}", limit=f"at least {least}", ok=ratio >= least)
            report("99th percentile", f"{tail:.1f} x", limit="at most 4 x", ok=tail <= 4)


if __name__ == "__main__":
    serving(lambda what, figure, **more: print(f"{what:<50} {figure:>24}  {more.get('limit', '')}"))
