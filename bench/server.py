"""Benchmark durable decisions over HTTP against an echo of the same bodies: server and client on one core each."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import itertools
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

CONNECTIONS = 64
SECONDS = 1.0
ROUNDS = 9
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
Following: TypeAlias = Callable[[], bytes]
"""Gives the next request."""


class Measured:
    """Result of a round: requests per second, 99th percentile, server time per request."""

    def __init__(self, delays: list[float], seconds: float, spent: float) -> None:
        self.rate = len(delays) / seconds
        self.spent = spent / len(delays) * 1e6
        self.p99 = sorted(delays)[int(len(delays) * 0.99)] * 1000


class Caller(asyncio.Protocol):
    """One connection that sends the next request after each response."""

    def __init__(self, following: Following, delays: list[float], expected: bytes) -> None:
        self.following, self.delays, self.expected = following, delays, expected
        self.data, self.sent, self.going = b"", 0.0, True
        self.idle = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        """Send the next request."""
        self.sent = time.perf_counter()
        self.transport.write(self.following())  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        """Read a response; an unexpected one ends the measurement."""
        self.data += data
        head, gap, body = self.data.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        if not gap or length is None or len(body) < int(length[1]):
            return
        if self.expected not in body:
            sys.exit(f"an answer is wrong: {self.data[:500]!r}")
        self.delays.append(time.perf_counter() - self.sent)
        self.data = b""
        if self.going:
            self.ask()
        elif not self.idle.done():
            self.idle.set_result(None)


class Server(NamedTuple):
    """A server under test."""

    port: int
    pid: int

    def spent(self) -> float:
        """Return the processor time it took so far, in seconds."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def drive(server: Server, following: Following, expected: bytes) -> Measured:
    loop = asyncio.get_running_loop()
    delays: list[float] = []

    def call() -> Caller:
        return Caller(following, delays, expected)

    made = [await loop.create_connection(call, "127.0.0.1", server.port) for _ in range(CONNECTIONS)]
    delays.clear()
    start, spent = time.perf_counter(), server.spent()
    await asyncio.sleep(SECONDS)
    measured = Measured(list(delays), time.perf_counter() - start, server.spent() - spent)
    for _, caller in made:
        caller.going = False
    await asyncio.gather(*(caller.idle for _, caller in made))
    for transport, _ in made:
        transport.close()
    return measured


def request_bytes(port: int, token: str, command: str, cwd: Path) -> bytes:
    body = json.dumps({"toolName": "bash", "toolInput": {"command": command}, "cwd": str(cwd)}).encode()
    head = (
        f"POST /api/hooks/classify HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


@contextlib.contextmanager
def process(words: list[str], environ: dict[str, str], port: int, *, core: int) -> Iterator[Server]:
    """Run a server on one core."""
    pinned = ["taskset", "-c", str(core), *words]
    with subprocess.Popen(pinned, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environ) as started:
        try:
            wait_for(port)
            yield Server(port, started.pid)
        finally:
            started.kill()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def fetch(port: int, token: str, path: str) -> str:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        return connection.getresponse().read().decode()


def wait_for(port: int) -> None:
    for _ in range(600):
        with contextlib.suppress(OSError):
            fetch(port, "", "/health")
            return
        time.sleep(0.05)
    sys.exit("the server did not start")


def counted(port: int, owner: str) -> tuple[float, float]:
    """Return how many events and commits there were."""
    text = fetch(port, owner, "/metrics")
    names = ("assent_audit_position", "assent_commits_total")
    events, commits = (re.search(rf"^{name} (\S+)$", text, re.MULTILINE) for name in names)
    if events is None or commits is None:
        sys.exit("the daemon does not say what it did")
    return float(events[1]), float(commits[1])


def serving(report: Callable[..., None]) -> None:
    print(f"\nDurable decisions through POST /api/hooks/classify: {CONNECTIONS} connections, one core for the server")
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        with tempfile.TemporaryDirectory() as folder:
            _serve(report, Path(folder).resolve(), min(before))
    finally:
        os.sched_setaffinity(0, before)


def _serve(report: Callable[..., None], root: Path, core: int) -> None:
    project, state = root / "project", root / "state"
    (project / "src").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(project)], check=True)  # noqa: S607 - the one that there is
    environ = {**os.environ, "ASSENT_HOME": str(state), "HOME": str(root), "XDG_CONFIG_HOME": str(root / "config")}
    assent = [sys.executable, "-m", "assent"]
    words = [*assent, "token", "create", "--role", "agent", "--agent", "bench"]
    token = subprocess.run(words, capture_output=True, text=True, check=True, env=environ).stdout.strip()
    port, echo_port = free_port(), free_port()
    with (
        process([*assent, "serve", "--port", str(port), "--rate", "0"], environ, port, core=core) as daemon,
        process([sys.executable, "-c", ECHO, str(echo_port)], environ, echo_port, core=core) as echo,
    ):
        owner = (state / "token").read_text().strip()
        numbers = itertools.count()

        def repeated(to: int) -> Following:
            ready = itertools.cycle([request_bytes(to, token, line, project) for line in LINES])
            return lambda: next(ready)

        def different(to: int) -> Following:
            return lambda: request_bytes(to, token, f"{LINES[(n := next(numbers)) % len(LINES)]} # {n}", project)

        for what, make, least in (("repeated lines", repeated, 0.5), ("all lines different", different, 0.3)):
            _compare(report, what, least, (echo, daemon), owner, make)


def _compare(
    report: Callable[..., None],
    what: str,
    least: float,
    servers: tuple[Server, Server],
    owner: str,
    make: Callable[[int], Following],
) -> None:
    """Drive both in turns, so that other load affects both alike."""
    bare: list[Measured] = []
    durable: list[Measured] = []
    before = counted(servers[1].port, owner)
    for _ in range(ROUNDS):
        for server, found, expected in ((servers[0], bare, b"toolName"), (servers[1], durable, b'"allow":true')):
            found.append(asyncio.run(drive(server, make(server.port), expected)))
    after = counted(servers[1].port, owner)
    batch = (after[0] - before[0]) / max(1.0, after[1] - before[1])
    rates = [statistics.median(m.rate for m in found) for found in (bare, durable)]
    tails = [statistics.median(m.p99 for m in found) for found in (bare, durable)]
    report(f"{what}: bare Starlette echo", f"{rates[0]:,.0f}/s {tails[0]:.1f} ms")
    report(f"{what}: decided and durable", f"{rates[1]:,.0f}/s {tails[1]:.1f} ms")
    spent = [statistics.median(m.spent for m in found) for found in (bare, durable)]
    report(f"{what}: the server's time for one, echo and decision", f"{spent[0]:.0f} and {spent[1]:.0f} µs")
    report(f"{what}: decisions that shared a commit", f"{batch:.1f}")
    # In turns: the machine may be a third faster a moment later.
    pairs = list(zip(durable, bare, strict=True))
    ratio = statistics.median(here.rate / there.rate for here, there in pairs)
    tail = statistics.median(here.p99 / there.p99 for here, there in pairs)
    report(f"{what}: decisions per echo", f"{ratio:.2f}", limit=f"at least {least}", ok=ratio >= least)
    report(f"{what}: 99th percentile", f"{tail:.1f} x", limit="at most 4 x the echo's", ok=tail <= 4)


if __name__ == "__main__":
    serving(lambda what, figure, **more: print(f"{what:<58}{figure:>20}   {more.get('limit', '')}"))
