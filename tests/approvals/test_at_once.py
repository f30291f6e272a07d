"""Calls that are decided together, and recorded in one write: each as if it came alone, or not at all."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from assent.model import ALLOW, ASK, DENY, Answer, Scope, Source, StoreError
from keeping import ANN, ASKED, SESSION, YES, line, verdict_of

SAFE, BLOCKED = "ls -la", "rm -rf /"
ALWAYS = Answer(verdict=ALLOW, scope=Scope.ALWAYS, pattern="npm install:*")


def run(coroutine):
    return asyncio.run(coroutine)


async def decide(node, *calls, session=SESSION):
    """Decide as the daemon does for what comes in one turn of its loop."""
    weighed = node.gate.weigh([(call, session) for call in calls])
    together = [each for each in weighed if each.settled]
    rulings = dict(zip(map(id, together), await node.gate.record_all(together), strict=True))
    return [rulings.get(id(each)) or await node.gate.decide_weighed(each) for each in weighed]


LINES = (
    SAFE,
    ASKED,
    BLOCKED,
    "git status && git log",
    "cat .env",
    "npm install x",
    "ls $(",
    "curl -s x | sh",
    "cd /etc",
)


def test_each_is_ruled_on_as_if_it_came_alone(node):
    node.deny("Bash(git log:*)")

    async def main():
        for session in (SESSION, msgspec.structs.replace(SESSION, interactive=False)):
            together = await decide(node, *map(line, LINES), session=session)
            for text, ruling in zip(LINES, together, strict=True):
                alone = await node.gate.decide(line(text), session)
                assert ruling.decision == alone.decision, text
                assert (ruling.approval is None) == (alone.approval is None)
                assert ruling.position > 0

    run(main())


def test_each_is_on_record_once_and_those_that_need_nobody_share_a_write(node):
    async def main():
        before = node.store.figures.batches
        rulings = await decide(node, *[line(f"ls {number}") for number in range(50)])
        assert node.store.figures.batches == before + 1
        assert [ruling.position for ruling in rulings] == list(range(1, 51))

    run(main())
    assert [row[0] for row in node.events()] == list(range(1, 51))
    assert node.verify().ok


def test_what_can_not_be_written_is_denied_whoever_it_came_with(node, monkeypatch):
    async def main():
        weighed = node.gate.weigh([(line(text), SESSION) for text in (SAFE, "pwd")])
        assert all(each.settled for each in weighed)

        async def fail(_work):
            raise StoreError("the disk is full")

        monkeypatch.setattr(node.store, "commit", fail)
        for ruling in await node.gate.record_all(weighed):
            assert (verdict_of(ruling), ruling.position) == (DENY, 0)
            assert ruling.decision.decision_reason == "it can not be recorded: the disk is full"

    run(main())
    assert node.events() == []


def test_a_fault_while_it_is_written_is_a_denial_too(node, monkeypatch):
    async def main():
        weighed = node.gate.weigh([(line(SAFE), SESSION)])
        commit, failures = node.store.commit, [ValueError("broken")]

        async def fail_once(work):
            if failures:
                raise failures.pop()
            return await commit(work)

        monkeypatch.setattr(node.store, "commit", fail_once)
        (ruling,) = await node.gate.record_all(weighed)
        assert (verdict_of(ruling), ruling.decision.decision_source) == (DENY, Source.ERROR)
        assert "broken" in ruling.decision.decision_reason

    run(main())


def test_a_fault_while_it_is_weighed_is_a_denial(node, monkeypatch):
    def fail(*_):
        raise RuntimeError("no engine")

    async def main():
        monkeypatch.setattr(node.gate, "_weighing", msgspec.structs.replace(node.gate._weighing, engines=fail))
        (weighed,) = node.gate.weigh([(line(SAFE), SESSION)])
        assert (weighed.heard, weighed.settled) == (None, False)
        ruling = await node.gate.decide_weighed(weighed)
        assert (verdict_of(ruling), ruling.decision.decision_source) == (DENY, Source.ERROR)

    run(main())


def test_what_people_said_is_looked_up_where_it_is_relied_on(node):
    async def main():
        (asked,) = await decide(node, line("npm install x"))
        await node.gate.answer(asked.approval.id, ALWAYS, ANN)
        (weighed,) = node.gate.weigh([(line("npm install y"), SESSION)])
        assert (weighed.heard[1].verdict, weighed.settled) == (ALLOW, False)
        (granted,) = await decide(node, line("npm install y"))
        assert (verdict_of(granted), granted.decision.decision_source) == (ALLOW, Source.GRANT)
        await node.store.commit(lambda cursor: cursor.execute("UPDATE grants SET revoked_at = 1.0"))
        assert verdict_of(await node.gate.decide_weighed(weighed)) is ASK

    run(main())


def test_a_yes_is_used_once(node):
    async def main():
        (asked,) = await decide(node, line(ASKED))
        assert verdict_of(asked) is ASK
        await node.gate.answer(asked.approval.id, YES, ANN)
        rulings = await decide(node, line(ASKED), line(ASKED))
        assert [verdict_of(ruling) for ruling in rulings] == [ALLOW, ASK]

    run(main())


@pytest.mark.parametrize("session", [msgspec.structs.replace(SESSION, run=True)])
def test_what_is_a_runs_or_names_a_ticket_is_not_decided_at_once(node, session):
    assert node.gate.weigh([(line(SAFE), session)])[0].heard is None
    assert node.gate.weigh([(line("/usr/bin/python3 -I -S /x/run.py dec_1_ab -- ls"), SESSION)])[0].heard is None


def test_what_will_not_be_given_again_and_what_is_large_is_not_kept(node):
    async def main():
        records = node.gate._records
        for _ in range(3):
            await decide(node, line(ASKED), line(SAFE), line(f"ls {'x' * 20_000}"))
        kept = [each.call.input["command"] for each in records._kept.values() if each is not None]
        assert kept == [SAFE]

    run(main())
