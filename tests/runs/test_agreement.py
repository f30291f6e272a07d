"""Whatever clients do, and in whatever order: the guard, the store and what everyone was told agree."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from daemons import until
from runners import Runner, write_strategy

DECISIONS = ("allow", "deny", "allow-session", "deny-session")
NAMES = ("a", "b")
PICK = st.integers(0, 20)
"""Which of those there are: what is drawn must not depend on what the daemon did."""
OVER = ("strategy_completed", "strategy_error")


class Watcher(Runner):
    """A client that keeps a picture of every run from what it is told."""

    def __init__(self, daemon) -> None:
        super().__init__(daemon)
        self.open: dict[str, dict[str, dict]] = {}
        self.chains: dict[str, list[str]] = {}
        self.ended: dict[str, str] = {}
        self.asked: list[tuple[str, str]] = []

    def catch_up(self) -> None:
        for message in self.quiet():
            self.take(message)

    def take(self, message: dict) -> None:
        run = message.get("runId", "")
        match message["type"]:
            case "request_permission":
                self.open.setdefault(run, {})[message["requestId"]] = message
                self.asked.append((run, message["resource"]))
            case "permission_resolved":
                self.open.get(run, {}).pop(message["requestId"], None)
            case "policy_updated":
                self.chains[run] = [p["name"] for p in message["policies"]]
            case kind if kind in OVER:
                self.ended[run] = kind


class Agreement(RuleBasedStateMachine):
    daemon = None

    @initialize()
    def begin(self):
        self.folder = Path(tempfile.mkdtemp(dir=self.daemon.root)).resolve()
        self.observer = Watcher(self.daemon)
        self.clients: list[Watcher] = []
        self.runs: list[str] = []
        self.said: dict[str, dict[str, str]] = {}
        self.answered: list[dict] = []
        self.settled_at: dict[tuple[str, str], int] = {}

    def pending(self) -> set[str]:
        return {p["id"] for p in self.daemon.api(self.daemon.owner).get("/api/permissions").json()["pending"]}

    def open_questions(self) -> list[tuple[str, dict]]:
        found = [(run, q) for run, held in self.observer.open.items() for q in held.values()]
        return sorted(found, key=lambda pair: (self.runs.index(pair[0]), pair[1]["resource"]))

    @precondition(lambda self: len(self.runs) < 4)
    @rule()
    def launch(self):
        folder = self.folder / str(len(self.runs))
        steps = [
            f"{{agent: w, tool: write_file, input: {{path: {folder / n}, content: x}}, on_error: continue}}"
            for n in NAMES
        ]
        both = "".join(f"    - {step}\n" for step in steps)
        again = "".join(f"- {step}\n" for step in steps)
        path = write_strategy(self.folder, f"- name: both\n  parallel:\n{both}{again}", f"s{len(self.runs)}")
        start = len(self.observer.heard)
        run = self.observer.prepare(path)["runId"]
        for message in self.observer.heard[start:]:
            self.observer.take(message)
        self.observer.send("start_run", runId=run)
        self.runs.append(run)
        self.said[run] = {}

    @precondition(lambda self: len(self.clients) < 2)
    @rule()
    def connect(self):
        self.clients.append(Watcher(self.daemon))

    @precondition(lambda self: self.clients)
    @rule(which=PICK)
    def disconnect(self, which):
        client = self.clients.pop(which % len(self.clients))
        client.ws.close()

    @precondition(lambda self: self.clients and self.runs)
    @rule(which=PICK, wanted=PICK)
    def subscribe(self, which, wanted):
        client, run = self.clients[which % len(self.clients)], self.runs[wanted % len(self.runs)]
        client.open.setdefault(run, {})
        client.send("subscribe", runId=run)

    @precondition(lambda self: self.runs)
    @rule(which=PICK, who=PICK, decision=st.sampled_from(DECISIONS), twice=st.booleans())
    def decide(self, which, who, decision, twice):
        questions = self.open_questions()
        if not questions:
            return
        run, question = questions[which % len(questions)]
        speaker = [self.observer, *self.clients][who % (len(self.clients) + 1)]
        body = {"runId": run, "permissionRequestId": question["requestId"], "decision": decision}
        speaker.send("permission_decision", **body)
        speaker.catch_up()
        speaker.open.get(run, {}).pop(question["requestId"], None)
        if decision.endswith("-session"):
            path = question["resource"]
            self.said[run].pop(path, None)
            self.said[run][path] = decision.partition("-")[0]
            self.observer.catch_up()
            self.settled_at[run, path] = self.observer.asked.count((run, path))
        if twice:
            start = len(speaker.heard)
            assert speaker.refused("permission_decision", **body)[0] == "NO_PENDING_PERMISSION"
            for message in speaker.heard[start:]:
                speaker.take(message)

    @precondition(lambda self: self.runs)
    @rule(which=PICK)
    def stop(self, which):
        run = self.runs[which % len(self.runs)]
        self.observer.send("stop_run", requestId="stop", runId=run)
        for message in self.observer.quiet():
            self.observer.take(message)
            if message["type"] == "error":
                assert message["code"] == "RUN_NOT_FOUND"

    @precondition(lambda self: self.runs)
    @rule(which=PICK)
    def update(self, which):
        run = self.runs[which % len(self.runs)]
        self.observer.send("update_policy", runId=run, tool="write_file", mode="write", deny=["never/**"])
        for message in self.observer.quiet():
            self.observer.take(message)
            if message["type"] == "error":
                assert message["code"] == "RUN_NOT_FOUND"

    @invariant()
    def everyone_agrees(self):
        until(self.agree, seconds=20)

    def agree(self) -> bool:
        for client in (self.observer, *self.clients):
            client.catch_up()
        everything = {q for found in self.observer.open.values() for q in found}
        if everything != self.pending():
            return False
        if any(set(found) != set(self.observer.open.get(r, {})) for c in self.clients for r, found in c.open.items()):
            return False
        listed = {r["runId"]: r["status"] for r in self.listing()}
        over = {run for run in self.runs if listed[run] not in ("pending", "running")}
        return over == set(self.observer.ended) and self.chains_agree() and self.nothing_asked_again()

    def listing(self) -> list[dict]:
        start = len(self.observer.heard)
        self.observer.send("list_runs")
        found = self.observer.hear("run_list")
        for message in self.observer.heard[start:]:
            self.observer.take(message)
        return found["runs"]

    def chains_agree(self) -> bool:
        for run, said in self.said.items():
            names = [n for n in self.observer.chains.get(run, []) if n.startswith("session-")]
            wanted = [f"session-{verdict}-write-" for verdict in said.values()]
            if [n[: len(w)] for n, w in zip(names, wanted, strict=False)] != wanted or len(names) != len(wanted):
                return False
        return True

    def nothing_asked_again(self) -> bool:
        return all(self.observer.asked.count(key) == count for key, count in self.settled_at.items())

    def teardown(self):
        for run in self.runs:
            self.observer.send("stop_run", runId=run)
        self.observer.quiet()
        for client in (self.observer, *self.clients):
            client.ws.close()


@pytest.mark.usefixtures("daemon")
def test_guard_store_and_clients_agree(daemon):
    Agreement.daemon = daemon
    machine = Agreement.TestCase
    machine.settings = settings(
        max_examples=6, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
    )
    machine("runTest").runTest()
