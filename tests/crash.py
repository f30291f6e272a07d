"""Decisions under load, killed at random moments again and again; then the books are held against the answers.

`python tests/crash.py --rounds 200` for SQLite, `--postgresql` for PostgreSQL. What the child was told is durable it
writes to a pipe before it goes on; so whatever the parent reads there must be found in the store.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from assent.decisions.errors import AlreadyAnsweredError
from assent.model import ALLOW, ASK, Answer, Scope
from keeping import ADMIN, ANN, NO, SESSION, YES, Node, line

TESTS = Path(__file__).parent
TASKS = 12


def say(*words: object) -> None:
    """Tell the parent, at once."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


async def load(node: Node, seed: int) -> None:
    """Call, ask, answer and release for ever."""
    say("READY")
    await asyncio.gather(*(work(node, random.Random(seed * 1000 + i), i) for i in range(TASKS)))


async def work(node: Node, chance: random.Random, task: int) -> None:
    for number in range(10**9):
        ruling = await node.decisions.decide(line(f"ls {task} {number}"), SESSION)
        say("RULED", ruling.position, ruling.decision.digest, ruling.decision.verdict.value)
        call = line(f"npm install p{chance.randrange(10**9)}", f"c{chance.randrange(10**9)}")
        ruling = await node.decisions.decide(call, SESSION)
        if ruling.decision.verdict is not ASK:
            say("FAULT", repr(ruling.decision.decision_reason))
            continue
        say("ASKED", ruling.approval.id)
        if chance.random() < 0.3:
            continue
        await answer_all(node, ruling.approval.id, chance)
        if chance.random() < 0.8:
            await release(node, call)


async def answer_all(node: Node, approval_id: str, chance: random.Random) -> None:
    """Two people answer at once."""
    wide = Answer(verdict=ALLOW, scope=Scope.SESSION, pattern=f"npm install q{chance.randrange(10**9)}")
    answers = [(chance.choice([YES, NO, wide]), who) for who in (ANN, ADMIN)]
    say("TRIED", approval_id)
    jobs = (node.decisions.answer(approval_id, answer, who) for answer, who in answers)
    for (answer, who), outcome in zip(answers, await asyncio.gather(*jobs, return_exceptions=True), strict=True):
        approval = outcome.approval if isinstance(outcome, AlreadyAnsweredError) else outcome
        if isinstance(approval, Exception):
            say("UNSURE", approval_id, "approved" if answer.verdict is ALLOW else "rejected", who.user)
            say("FAULT", repr(str(approval)))
        else:
            held = node.approvals.unsaved_denials.find(approval_id) is not None
            say("HELD" if held else "ANSWERED", approval_id, approval.state.value, approval.by)


async def release(node: Node, call) -> None:
    """Two callers come for the same answer."""
    for ruling in await asyncio.gather(*(node.decisions.decide(call, SESSION) for _ in range(2))):
        if ruling.decision.verdict is ALLOW:
            say("RELEASED", ruling.approval.id, ruling.position)


class Books:
    """Everything that was ever answered for."""

    def __init__(self) -> None:
        self.ruled: dict[int, tuple[str, str]] = {}
        self.asked: set[str] = set()
        self.tried: set[str] = set()
        self.answered: dict[str, tuple[str, str]] = {}
        self.held: dict[str, tuple[str, str]] = {}
        """Noes that count, and are not written yet."""
        self.unsure: dict[str, set[tuple[str, str]]] = {}
        """Answers of which whoever gave them was told that they failed."""
        self.released: dict[str, int] = {}

    def enter(self, text: str) -> int:
        """Take in what a child said; the last line may be cut off."""
        lines = text.split("\n")[:-1]
        for entry in lines:
            match entry.split(" "):
                case ["RULED", position, digest, verdict]:
                    assert int(position) > 0, entry
                    self.ruled[int(position)] = (digest, verdict)
                case ["ASKED", approval_id]:
                    self.asked.add(approval_id)
                case ["TRIED", approval_id]:
                    self.tried.add(approval_id)
                case ["ANSWERED", approval_id, state, by]:
                    assert self.answered.setdefault(approval_id, (state, by)) == (state, by), entry
                case ["HELD", approval_id, "rejected", by]:
                    assert self.held.setdefault(approval_id, ("rejected", by)) == ("rejected", by), entry
                    assert self.answered.get(approval_id, ("rejected", by)) == ("rejected", by), entry
                case ["UNSURE", approval_id, state, by]:
                    self.unsure.setdefault(approval_id, set()).add((state, by))
                case ["RELEASED", approval_id, position]:
                    assert approval_id not in self.held, f"released in spite of a no: {approval_id}"
                    assert approval_id not in self.released, f"released twice: {approval_id}"
                    self.released[approval_id] = int(position)
                case ["READY"]:
                    pass
                case _:
                    raise AssertionError(entry)
        return len(lines)

    def check(self, node: Node) -> None:
        """Hold the store against everything that was answered for."""
        report = node.verify()
        assert report.ok, report
        events = {
            r[0]: r[1:] for r in node.store.fetch("SELECT position, digest, verdict, approval, source FROM events")
        }
        for position, (digest, verdict) in self.ruled.items():
            assert events[position][:2] == (digest, verdict), f"an answered decision is missing: {position}"
        book = {r[0]: r[1:] for r in node.store.fetch("SELECT id, state, resolved_by, used_at FROM approvals")}
        for approval_id in self.asked:
            assert approval_id in book, f"a question was lost: {approval_id}"
            if approval_id not in self.tried:
                assert book[approval_id][0] == "pending", book[approval_id]
        for approval_id, (state, by) in self.answered.items():
            assert book[approval_id][:2] == (state, by), f"an answer was lost: {approval_id}"
        for approval_id, no in self.held.items():
            ends = {("pending", None), no} | self.unsure.get(approval_id, set())
            assert book[approval_id][:2] in ends, f"a no became something else: {approval_id}"
        used = [e[2] for e in events.values() if e[1] == "allow" and e[3] == "person"]
        assert len(used) == len(set(used)), "an approval was applied twice"
        for approval_id, position in self.released.items():
            assert book[approval_id][2] is not None
            assert events[position][2] == approval_id
        assert {i for i, row in book.items() if row[0] == "approved" and row[2] is not None} == set(used)


def crash(home: Path, url: str | None, rounds: int, *, loud: bool = False, seed: int | None = None) -> Books:
    """Kill a child at a random moment, look at what is left, and begin again with that."""
    chance = random.Random(seed)
    books = Books()
    said = 0
    for number in range(rounds):
        child = spawn(home, url, chance.randrange(10**6))
        assert child.stdout is not None
        first = child.stdout.readline()
        assert first == b"READY\n", first
        reader = Reader(child)
        if chance.random() < 0.8:
            reader.wait()
        time.sleep(chance.uniform(0.0, 0.6))
        child.kill()
        child.wait()
        said += books.enter(reader.text())
        with Node(home, url) as node:
            books.check(node)
        if loud:
            text = f"{number + 1} kills, {said} answers, {len(books.ruled)} decisions, {len(books.asked)} questions"
            sys.stdout.write(f"\r{text}, {len(books.released)} releases")
            sys.stdout.flush()
    sys.stdout.write("\n" * loud)
    return books


def spawn(home: Path, url: str | None, seed: int) -> subprocess.Popen[bytes]:
    words = [sys.executable, str(TESTS / "crash.py"), "--child", str(seed), "--home", str(home)]
    paths = os.pathsep.join([str(TESTS), str(TESTS.parent / "src")])
    return subprocess.Popen(
        words + (["--url", url] if url else []), stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": paths}
    )


class Reader:
    """Reads along, so that the child never waits for its pipe."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._pieces: list[bytes] = []
        self._stream = child.stdout
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._stream is not None
        while piece := self._stream.read1(65536):  # type: ignore[attr-defined]
            self._pieces.append(piece)
        self._stream.close()

    def wait(self) -> None:
        """Wait until the child is at work."""
        end = time.monotonic() + 60
        while not self._pieces and time.monotonic() < end:
            time.sleep(0.01)

    def text(self) -> str:
        """Return all that was said, once the child is gone."""
        self._thread.join()
        return b"".join(self._pieces).decode()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--child", type=int)
    parser.add_argument("--home")
    parser.add_argument("--url")
    given = parser.parse_args()
    if given.child is not None:
        asyncio.run(load(Node(given.home, given.url), given.child))
        return
    from postgres import Postgres

    server = Postgres() if given.postgresql else None
    try:
        with tempfile.TemporaryDirectory() as folder:
            crash(Path(folder) / "home", server and server.new_database(), given.rounds, loud=True)
    finally:
        if server is not None:
            server.close()


if __name__ == "__main__":
    main()
