"""One agent cannot fill the disk with questions, and does not keep others from asking theirs."""

from __future__ import annotations

import asyncio
import sqlite3
import time

import msgspec
import pytest

from assent import Engine, Policy, Session, ToolCall, parse_rules
from assent.decisions.approvals import unsaved_denials
from assent.decisions.approvals.limits import PendingLimits
from assent.decisions.errors import AlreadyAnsweredError
from assent.decisions.ticket_rows import forget_unused_calls
from assent.decisions.tickets import TicketError
from assent.model import ALLOW, ASK, DENY, Answer, Facts, NotFoundError, Scope, State, StoreError
from assent.model.enums import Source
from assent.model.principal import PEER
from assent.sandbox.redeem.command_line import find_line
from assent.sandbox.reports import SandboxReport
from keeping import ADMIN, AGENT, ANN, ASKED, NO, SESSION, YES, Node, line, soon

OTHER = Session(id="t", user="ann", agent="other", workspace=("/code",))


@pytest.mark.parametrize("limits", [PendingLimits(questions=3), PendingLimits(size=3 << 20)])
def test_more_than_one_agent_may_have_waiting_is_denied_with_the_reason(tmp_path, url, limits):
    big = "x" * (700_000 if limits.questions > 3 else 10)

    async def ask(node, number, session=SESSION):
        call = ToolCall(tool="Bash", input={"command": f"node {number}.js {big}"}, cwd="/code", call_id=f"c{number}")
        return await node.decisions.decide(call, session)

    async def main(node):
        rulings = [await ask(node, number) for number in range(8)]
        verdicts = [ruling.decision.verdict for ruling in rulings]
        count = verdicts.count(ASK)
        assert verdicts == [ASK] * count + [DENY] * (8 - count)
        assert 1 <= count <= 4
        last = rulings[-1]
        assert last.decision.decision_source is Source.ERROR
        assert "agent `coder`" in last.decision.decision_reason
        assert "answer some, or raise `server.pending" in last.decision.decision_reason
        assert last.position > 0
        # The same call joins its question; others may ask; and who was answered makes room.
        assert (await ask(node, 0)).approval.id == rulings[0].approval.id
        assert (await ask(node, 50, OTHER)).decision.verdict is ASK
        await node.decisions.answer(rulings[0].approval.id, NO, ANN)
        assert (await ask(node, 60)).decision.verdict is ASK

    with Node(tmp_path / "home", url, limits=limits) as node:
        asyncio.run(main(node))
        assert node.verify().ok


def test_the_disk_stays_small_however_much_one_agent_asks(tmp_path):
    async def main(node):
        for number in range(60):
            call = line(f"node {number}.js " + "x" * 1_000_000, f"c{number}")
            await node.decisions.decide(call, SESSION)
            if number % 10 == 9:
                for (approval_id,) in node.store.fetch("SELECT id FROM approvals WHERE state = 'pending'"):
                    await node.decisions.answer(approval_id, NO, ANN)

    with Node(tmp_path / "home", limits=PendingLimits(size=4 << 20)) as node:
        asyncio.run(main(node))
        pending = node.store.fetch("SELECT coalesce(sum(length(call)), 0) FROM approvals")[0][0]
        assert pending <= 4 << 20


def sandboxed(node, *asks):
    """Have a node let everything run in a sandbox, but what is asked about first."""
    facts = lambda: Facts(now=node.clock(), home="/home/ann", resolve=str, sandbox=True)  # noqa: E731
    node._engine = (node.policies, Engine((Policy(mode="auto", ask=parse_rules(asks)),), facts=facts))
    return node


@pytest.mark.parametrize("limits", [PendingLimits(questions=1), PendingLimits(size=10 << 20)])
def test_more_than_one_agent_may_have_waiting_to_be_run_is_denied_with_the_reason(tmp_path, limits):
    big, clock = "x" * (1_000_000 if limits.questions > 1 else 10), [1000.0]

    async def ask(node, number, session=SESSION):
        given = {"command": f"node {number}.js", "description": big}
        return await node.decisions.decide(ToolCall(tool="Bash", input=given, cwd=str(tmp_path)), session)

    async def main(node):
        rulings = [await ask(node, number) for number in range(12)]
        let = [ruling for ruling in rulings if ruling.decision.decision == "sandboxed"]
        assert len(let) == 10
        assert all(r.decision.verdict is DENY and r.ticket is None and r.position for r in rulings[10:])
        assert "too many unused tickets" in rulings[-1].decision.decision_reason
        assert (await ask(node, 0, OTHER)).ticket is not None
        line = find_line(let[0].ticket.call)
        await node.decisions.redeem(let[0].ticket.id, line.words, line.folder, ANN)
        assert (await ask(node, 20)).ticket is not None  # what was run makes room …
        assert (await ask(node, 21)).ticket is None
        clock[0] += 601
        assert (await ask(node, 22)).ticket is not None  # … and so does what ran out
        await node.store.commit(forget_unused_calls)

    with sandboxed(Node(tmp_path / "home", clock=lambda: clock[0], limits=limits)) as node:
        asyncio.run(main(node))
        assert node.store.fetch("SELECT count(*) FROM tickets WHERE call IS NOT NULL") == [(1,)]


def test_a_clock_that_goes_back_gives_a_call_that_waits_to_be_run_no_longer_life(tmp_path):
    clock = [2e9]

    async def main(node):
        call = ToolCall(tool="Bash", input={"command": "node a.js"}, cwd=str(tmp_path))
        ticket = (await node.decisions.decide(call, SESSION)).ticket
        line = find_line(call)
        clock[0] -= 3600
        with pytest.raises(TicketError, match="or expired; make the same call again"):
            await node.decisions.redeem(ticket.id, line.words, line.folder, ANN)
        clock[0] += 3596
        await node.decisions.redeem(ticket.id, line.words, line.folder, ANN)

    with sandboxed(Node(tmp_path / "home", clock=lambda: clock[0])) as node:
        asyncio.run(main(node))


def test_another_agent_of_the_same_person_runs_and_tells_nothing_by_a_decision(tmp_path):
    async def main(node):
        call = ToolCall(tool="Bash", input={"command": "node a.js"}, cwd=str(tmp_path))
        ticket = (await node.decisions.decide(call, SESSION)).ticket
        line, thief = find_line(call), msgspec.structs.replace(AGENT, agent="other")
        with pytest.raises(NotFoundError):
            await node.decisions.redeem(ticket.id, line.words, line.folder, thief)
        launcher = msgspec.structs.replace(thief, token=PEER, agent="local")
        assert (await node.decisions.find_ticket(ticket.id, launcher)).id == ticket.id
        with pytest.raises(NotFoundError):
            await node.decisions.find_ticket(ticket.id, msgspec.structs.replace(launcher, user="bob"))
        await node.decisions.redeem(ticket.id, line.words, line.folder, AGENT)
        with pytest.raises(NotFoundError):
            await node.decisions.report(ticket.id, "r", (SandboxReport(type="process.completed"),), thief)
        with pytest.raises(NotFoundError):
            await node.decisions.find_ticket(ticket.id, thief)

    with sandboxed(Node(tmp_path / "home")) as node:
        asyncio.run(main(node))


def test_what_waits_to_be_run_counts_after_a_restart_too(tmp_path, url):
    async def ask(node, number):
        call = ToolCall(tool="Bash", input={"command": f"node {number}.js"}, cwd=str(tmp_path))
        return await node.decisions.decide(call, SESSION)

    async def fill(node, numbers):
        return [r.ticket for r in [await ask(node, number) for number in numbers] if r.ticket is not None]

    limits = PendingLimits(questions=1)
    with sandboxed(Node(tmp_path / "home", url, limits=limits)) as node:
        first = asyncio.run(fill(node, range(8)))
        assert len(first) == 8
    with sandboxed(Node(tmp_path / "home", url, limits=limits)) as node:
        assert len(asyncio.run(fill(node, range(8, 20)))) == 2
        line = find_line(first[0].call)
        asyncio.run(node.decisions.redeem(first[0].id, line.words, line.folder, ANN))
        assert len(asyncio.run(fill(node, range(20, 30)))) == 1


def test_a_yes_to_more_than_one_agent_may_have_waiting_to_be_run_is_used_up(tmp_path):
    async def ask(node, text):
        return await node.decisions.decide(ToolCall(tool="Bash", input={"command": text}, cwd=str(tmp_path)), SESSION)

    async def main(node):
        for number in range(10):
            assert (await ask(node, f"node {number}.js")).ticket is not None
        asked = (await ask(node, "npm test")).approval
        await node.decisions.answer(asked.id, YES, ANN)
        ruling = await ask(node, "npm test")
        assert (ruling.decision.verdict, ruling.ticket) == (DENY, None)
        assert "too many unused tickets" in ruling.decision.decision_reason

    with sandboxed(Node(tmp_path / "home", limits=PendingLimits(questions=1)), "Bash(npm:*)") as node:
        asyncio.run(main(node))


class Full:
    """A store's connection whose disk is full."""

    def __init__(self, node):
        self._node = node

    def __enter__(self):
        self._real = self._node.store._writer._connect
        self._close()
        self._node.store._writer._connect = self._fail

    def __exit__(self, *_):
        self._node.store._writer._connect = self._real

    def _close(self):
        def close(_cursor):
            raise sqlite3.OperationalError("database or disk is full")

        with pytest.raises(sqlite3.OperationalError):
            self._node.store.write(close).result()
        self._node.store._writer._connection = None

    def _fail(self):
        raise sqlite3.OperationalError("database or disk is full")


def test_a_no_counts_although_it_cannot_be_written_and_is_written_later(tmp_path, monkeypatch):
    monkeypatch.setattr(unsaved_denials, "RETRY_SECONDS", 0.05)

    async def main(node):
        waiting = asyncio.create_task(node.decisions.decide(line(ASKED), SESSION, wait=60))
        await soon(lambda: node.approvals.waiters.count)
        (asked,), _ = await node.approvals.list()
        with Full(node):
            with pytest.raises(StoreError):
                await node.decisions.answer(asked.id, YES, ANN)
            refused = await node.decisions.answer(asked.id, Answer(verdict=DENY, feedback="not now"), ANN)
            assert (refused.state, refused.by) == (State.REJECTED, "ann")
            assert (await waiting).decision.verdict is DENY
            assert (await node.approvals.get(asked.id)).state is State.REJECTED
            assert await node.approvals.list() == ((), None)
            with pytest.raises(AlreadyAnsweredError):
                await node.decisions.answer(asked.id, YES, ANN)
            assert (await node.decisions.decide(line(ASKED), SESSION, wait=5)).decision.verdict is DENY
        state = "SELECT state, resolved_by FROM approvals"
        await soon(lambda: node.store.fetch(state) == [("rejected", "ann")])
        await soon(lambda: node.approvals.unsaved_denials.find(asked.id) is None)
        assert (await node.approvals.get(asked.id)).state is State.REJECTED

    with Node(tmp_path / "home") as node:
        asyncio.run(main(node))
        assert node.verify().ok


def test_the_first_no_that_cannot_be_written_counts(tmp_path):
    async def main(node):
        asked = (await node.decisions.decide(line(ASKED), SESSION)).approval
        with Full(node):
            both = (node.decisions.answer(asked.id, NO, who) for who in (ANN, ADMIN))
            said = await asyncio.gather(*both, return_exceptions=True)
        (late,) = [each for each in said if isinstance(each, AlreadyAnsweredError)]
        assert late.approval in said

    with Node(tmp_path / "home") as node:
        asyncio.run(main(node))


@pytest.mark.parametrize("scope", list(Scope))
def test_a_yes_of_which_nobody_was_told_does_not_outlive_the_no_that_people_were_told(tmp_path, monkeypatch, scope):
    monkeypatch.setattr(unsaved_denials, "RETRY_SECONDS", 0.05)

    async def main(node):
        asked = (await node.decisions.decide(line(ASKED), SESSION)).approval
        await node.decisions.answer(asked.id, Answer(verdict=ALLOW, scope=scope, until=time.time() + 60), ADMIN)
        node.approvals.unsaved_denials.add(asked, NO, "ann", None, 60)
        await soon(lambda: node.approvals.unsaved_denials.find(asked.id) is None)
        assert await node.approvals.grants() == ()
        assert (await node.decisions.decide(line(ASKED), SESSION)).decision.verdict is ASK

    with Node(tmp_path / "home") as node:
        asyncio.run(main(node))
        assert node.verify().ok


@pytest.mark.parametrize("ended", ["refused", "gone"])
def test_a_question_that_ended_meanwhile_is_left_as_it_ended(tmp_path, monkeypatch, ended):
    monkeypatch.setattr(unsaved_denials, "RETRY_SECONDS", 0.05)

    async def main(node):
        asked = (await node.decisions.decide(line(ASKED), SESSION)).approval
        if ended == "refused":
            await node.decisions.answer(asked.id, NO, ADMIN)
        else:
            await node.store.commit(lambda cursor: cursor.execute("DELETE FROM approvals"))
        node.approvals.unsaved_denials.add(asked, NO, "ann", None, 60)
        await soon(lambda: node.approvals.unsaved_denials.find(asked.id) is None)
        found = await node.approvals.get(asked.id)
        assert (found and found.by) == ("root" if ended == "refused" else None)

    with Node(tmp_path / "home") as node:
        asyncio.run(main(node))
