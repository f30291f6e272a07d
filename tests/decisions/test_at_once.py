"""Calls that are decided at the same time: each as if it came alone, or not at all."""

from __future__ import annotations

import asyncio

import msgspec

from assent.model import ALLOW, ASK, DENY, Answer, Scope, Source, StoreError
from keeping import ANN, ASKED, SESSION, YES, line, verdict_of

SAFE, BLOCKED = "ls -la", "rm -rf /"
ALWAYS = Answer(verdict=ALLOW, scope=Scope.ALWAYS, pattern="npm install:*")


def run(coroutine):
    return asyncio.run(coroutine)


async def decide(node, *calls, session=SESSION):
    """Decide calls that come at the same time."""
    return await asyncio.gather(*(node.decisions.decide(call, session) for call in calls))


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
                (alone,) = await decide(node, line(text), session=session)
                assert ruling.decision == alone.decision, text
                assert (ruling.approval is None) == (alone.approval is None)
                assert ruling.position > 0

    run(main())


def test_each_is_on_record_once_and_many_share_a_commit(node):
    async def main():
        before = node.store.figures.batches
        rulings = await decide(node, *[line(f"ls {number}") for number in range(50)])
        assert node.store.figures.batches - before < 10
        assert sorted(ruling.position for ruling in rulings) == list(range(1, 51))

    run(main())
    assert [row[0] for row in node.events()] == list(range(1, 51))
    assert node.verify().ok


def test_what_can_not_be_written_is_denied_whoever_it_came_with(node, monkeypatch):
    async def main():
        async def fail(_work):
            raise StoreError("the disk is full")

        monkeypatch.setattr(node.store, "commit", fail)
        for ruling in await decide(node, line(SAFE), line("pwd")):
            assert (verdict_of(ruling), ruling.position) == (DENY, 0)
            assert ruling.decision.decision_reason == "the decision cannot be recorded: the disk is full"

    run(main())
    assert node.events() == []


def test_a_fault_while_it_is_written_is_a_denial_too(node, monkeypatch):
    async def main():
        commit, failures = node.store.commit, [ValueError("broken")]

        async def fail_once(work):
            if failures:
                raise failures.pop()
            return await commit(work)

        monkeypatch.setattr(node.store, "commit", fail_once)
        (ruling,) = await decide(node, line(SAFE))
        assert (verdict_of(ruling), ruling.decision.decision_source) == (DENY, Source.ERROR)
        assert "broken" in ruling.decision.decision_reason

    run(main())


def test_what_people_said_is_looked_up_where_it_is_relied_on(node):
    async def main():
        (asked,) = await decide(node, line("npm install x"))
        await node.decisions.answer(asked.approval.id, ALWAYS, ANN)
        (granted,) = await decide(node, line("npm install y"))
        assert (verdict_of(granted), granted.decision.decision_source) == (ALLOW, Source.GRANT)
        await node.store.commit(lambda cursor: cursor.execute("UPDATE grants SET revoked_at = 1.0"))
        (revoked,) = await decide(node, line("npm install y"))
        assert verdict_of(revoked) is ASK

    run(main())


def test_a_yes_is_used_once(node):
    async def main():
        (asked,) = await decide(node, line(ASKED))
        assert verdict_of(asked) is ASK
        await node.decisions.answer(asked.approval.id, YES, ANN)
        rulings = await decide(node, line(ASKED), line(ASKED))
        assert {verdict_of(ruling) for ruling in rulings} == {ALLOW, ASK}

    run(main())


def test_what_will_not_be_given_again_and_what_is_large_is_not_kept(node):
    async def main():
        records = node.decisions._recorder._entries
        for _ in range(3):
            await decide(node, line(ASKED), line(SAFE), line(f"ls {'x' * 20_000}"))
        kept = [each.call.input["command"] for each in records._cache.values() if each is not None]
        assert kept == [SAFE]

    run(main())
