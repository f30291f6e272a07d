"""A client of the run protocol that shares no code with Assent: raw JSON over the `websockets` library."""

from __future__ import annotations

import json
import re
import textwrap
import time
from pathlib import Path

from websockets.sync.client import connect

from daemons import PATIENT

STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


class Runner:
    """One socket. What was heard stays in `heard`, in order."""

    def __init__(self, daemon, token: str | None = None) -> None:
        self.daemon = daemon
        headers = {"Authorization": f"Bearer {token or daemon.owner}"}
        url = f"ws://127.0.0.1:{daemon.port}/ws"
        self.ws = connect(url, additional_headers=headers, max_size=None, **PATIENT)
        self.heard: list[dict] = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ws.close()

    def send(self, kind: str, **fields) -> None:
        self.ws.send(json.dumps({"type": kind, **fields}))

    def hear(self, kind: str, seconds: float = 60.0, **fields) -> dict:
        """Return the next message of a kind with these fields; the others are kept in `heard`."""
        end = time.monotonic() + seconds
        while True:
            try:
                message = json.loads(self.ws.recv(timeout=max(0.01, end - time.monotonic())))
            except TimeoutError:
                raise AssertionError(f"no {kind} in {seconds} s, but {self.heard[-5:]}") from None
            assert STAMP.fullmatch(message["ts"]), message
            self.heard.append(message)
            if message["type"] == kind and all(message.get(k) == v for k, v in fields.items()):
                return message
            if message["type"] == "error" and kind != "error":
                raise AssertionError(message)

    def find(self, kind: str, **fields) -> dict:
        """Return a message of a kind that was heard, or is the next to be."""
        known = (m for m in self.heard if m["type"] == kind and all(m.get(k) == v for k, v in fields.items()))
        return next(known, None) or self.hear(kind, **fields)

    def ask(self, kind: str, reply: str, **fields) -> dict:
        self.send(kind, **fields)
        return self.hear(reply)

    def refused(self, kind: str, **fields) -> tuple[str, str]:
        """Return the code and the text of the error that a message gets, with its id echoed."""
        self.send(kind, requestId="r-1", **fields)
        error = self.hear("error", requestId="r-1")
        assert set(error) == {"type", "code", "message", "ts", "requestId"}
        return error["code"], error["message"]

    def quiet(self) -> list[dict]:
        """Return what came since, up to the answer to a ping."""
        start = len(self.heard)
        self.send("ping", requestId="quiet")
        while not (self.heard[start:] and self.heard[-1].get("requestId") == "quiet"):
            self.heard.append(json.loads(self.ws.recv(timeout=60)))
        return self.heard[start:-1]

    def prepare(self, strategy: Path, cwd: Path | None = None, **fields) -> dict:
        return self.ask(
            "prepare_run", "run_prepared", strategyPath=str(strategy), cwd=str(cwd or self.daemon.project), **fields
        )

    def launch(self, strategy: Path, cwd: Path | None = None, **fields) -> str:
        run = self.prepare(strategy, cwd, **fields)["runId"]
        self.send("start_run", runId=run)
        self.hear("strategy_started", runId=run)
        return run

    def decide(self, run: str, question: dict, decision: str) -> None:
        self.send("permission_decision", runId=run, permissionRequestId=question["requestId"], decision=decision)

    def kinds(self) -> list[str]:
        return [m["type"] for m in self.heard]


def write_strategy(folder: Path, steps: str, name: str = "test", top: str = "") -> Path:
    """Write a strategy of these steps, each a line of `tool {input}` or YAML; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.yaml"
    path.write_text(f"name: {name}\n{textwrap.dedent(top)}steps:\n{textwrap.indent(textwrap.dedent(steps), '  ')}\n")
    return path
