"""Decisions on a real store, as the daemon has it, for tests."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from typing import Self

from assent import Engine, Policy, Session, ToolCall, parse_rules
from assent.audit.log import Log
from assent.audit.verify.log import VerifyReport, verify_log
from assent.decisions.approvals.repository import Approvals
from assent.decisions.service import Decisions
from assent.model import ALLOW, DENY, Answer, Facts, Principal, Role, Verdict
from assent.store.store import Store, open_store

SESSION = Session(id="s", user="ann", agent="coder", workspace=("/code",))
ANN = Principal(role=Role.USER, user="ann")
BOB = Principal(role=Role.USER, user="bob")
ADMIN = Principal(role=Role.ADMIN, user="root")
AGENT = Principal(role=Role.AGENT, user="ann", agent="coder")
YES = Answer(verdict=ALLOW)
NO = Answer(verdict=DENY)


def line(text: str, call_id: str | None = None, **more) -> ToolCall:
    return ToolCall(tool="Bash", input={"command": text}, cwd="/code", call_id=call_id, **more)


ASKED = "node build.js"
"""A line that the default policy asks about."""


class Node:
    """Everything that one process has open."""

    def __init__(self, home: object, url: str | None = None, clock: Callable[[], float] = time.time, **more) -> None:
        self.home = str(home)
        self.clock = clock
        self.store: Store = open_store(url, home=self.home, clock=clock)
        self.log = Log(self.store, self.home)
        self.approvals = Approvals(self.store, self.log)
        self.policies: tuple[Policy, ...] = ()
        self._engine: tuple[tuple[Policy, ...], Engine] | None = None
        self.decisions = Decisions(self.find_engine, self.store, self.log, self.approvals, **more)

    def find_engine(self, call: ToolCall, session: Session) -> Engine:
        return self.engine(call, session)

    def engine(self, _call: ToolCall, _session: Session) -> Engine:
        if self._engine is None or self._engine[0] is not self.policies:
            facts = lambda: Facts(now=self.clock(), home="/home/ann", resolve=str)  # noqa: E731
            self._engine = (self.policies, Engine(self.policies, facts=facts))
        return self._engine[1]

    def deny(self, *rules: str) -> None:
        self.policies = (Policy(deny=parse_rules(rules)),)

    def verify(self) -> VerifyReport:
        return verify_log(self.store.address, home=self.home)

    def events(self, kind: str | None = None) -> list[tuple]:
        rows = self.store.fetch("SELECT position, type, verdict, source, approval, text FROM events ORDER BY position")
        return [row for row in rows if kind is None or row[1] == kind]

    def close(self) -> None:
        self.approvals.close()
        with contextlib.suppress(Exception):
            self.log.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Plug:
    """Work that keeps the writer busy until it is pulled; once begun, nothing else joins its transaction."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self._pulled = threading.Event()

    def __call__(self, _cursor: object) -> None:
        self.begun.set()
        self._pulled.wait(60)

    def pull(self) -> None:
        self._pulled.set()


async def soon(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to pass"
        await asyncio.sleep(0.01)


def verdict_of(ruling) -> Verdict:
    return ruling.decision.verdict
