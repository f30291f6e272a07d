"""A real daemon in a process of its own, with its own home, for tests to talk to."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

import httpx

from ports import free_port

READY_SECONDS = 60
PLAIN = {"trust_env": False, "verify": False}
"""A client that speaks no TLS: to load the certificates of the authorities takes longer than most tests."""

PATIENT = {"proxy": None, "open_timeout": 60, "ping_interval": None}
"""How a WebSocket is opened: a daemon on a busy machine, or one that was put to sleep, is given its time."""


class Running:
    """One daemon. `start` it, ask it, `kill` or `stop` it, and start it again on what it left behind."""

    def __init__(self, root: Path, *flags: str, environ: dict[str, str] | None = None) -> None:
        self.root = root
        self.home = root / "home"
        self.project = self.home / "project"
        (self.project / ".git").mkdir(parents=True, exist_ok=True)
        self.state = root / "state"
        self.user_file = self.home / ".config" / "assent" / "assent.yaml"
        self.user_file.parent.mkdir(parents=True, exist_ok=True)
        self.flags = flags
        kept = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "PYTHONPATH", "COVERAGE_PROCESS_START")}
        self.environ = {**kept, "HOME": str(self.home), "ASSENT_HOME": str(self.state), **(environ or {})}
        self.process: subprocess.Popen | None = None
        self.port = free_port()
        self.said = ""
        self.log_file = root / "daemon.log"
        self._clients: list[httpx.Client] = []

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "assent", *words]

    def start(self, *flags: str) -> Running:
        words = self.command("serve", "--port", str(self.port), *self.flags, *flags)
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                words, stdout=subprocess.PIPE, stderr=log, env=self.environ, cwd=self.project
            )
        self.said = self._read_until(rb"listens on http://[^\n]*:(\d+)\n")
        self.port = int(re.search(r"listens on http://\S*:(\d+)", self.said)[1])
        return self

    def _read_until(self, pattern: bytes) -> str:
        data, end = b"", time.monotonic() + READY_SECONDS
        while not re.search(pattern, data):
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            piece = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            if not piece:
                raise AssertionError(f"the daemon did not start: {data!r}\n{self.log()}")
            data += piece
        return data.decode()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def owner(self) -> str:
        return (self.state / "token").read_text().strip()

    @property
    def user(self) -> str:
        return self.api(self.owner).get("/api/login").json()["userId"]

    def api(self, token: str | None = None, **headers: str) -> httpx.Client:
        given = {"authorization": f"Bearer {token}"} if token else {}
        client = httpx.Client(base_url=self.url, headers={**given, **headers}, timeout=60, **PLAIN)
        self._clients.append(client)
        return client

    def mint(self, role: str, **wish) -> str:
        answer = self.api(self.owner).post("/api/tokens", json={"role": role, **wish})
        assert answer.status_code == 200, answer.text
        return answer.json()["secret"]

    def run(self, *words: str, stdin: str = "", **environ: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            self.command(*words),
            input=stdin,
            text=True,
            capture_output=True,
            check=False,
            env=self.environ | environ,
            cwd=self.project,
            timeout=120,
        )

    def log(self) -> str:
        return self.log_file.read_text() if self.log_file.exists() else ""

    def logged(self, event: str) -> list[dict]:
        lines = [json.loads(line) for line in self.log().splitlines() if line.startswith("{")]
        return [line for line in lines if line["event"] == event]

    def stop(self) -> int:
        """Ask it to end, and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self._wait()

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.kill()
        self._wait()

    def _wait(self) -> int:
        code = self.process.wait(60)
        self.process.stdout.close()
        self.process = None
        return code

    def __enter__(self) -> Self:
        return self if self.process is not None else self.start()

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            self.kill()
        for client in self._clients:
            client.close()


def until(check, seconds: float = 60.0, *, pause: float = 0.02):
    """Wait until something holds, and return it."""
    end = time.monotonic() + seconds
    while True:
        found = check()
        if found:
            return found
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(pause)
