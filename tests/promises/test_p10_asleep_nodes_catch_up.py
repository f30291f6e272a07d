"""P10: asleep nodes catch up. Nothing that is told depends on a hint arriving: the table is the truth."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import psycopg
import pytest

from assent.model import ALLOW, ASK, DENY, Answer, Scope, StoreError
from keeping import ANN, ASKED, NO, SESSION, YES, Node, line, soon, verdict_of

WIDE = Answer(verdict=ALLOW, scope=Scope.ALWAYS, pattern="npm install:*")


@pytest.fixture(params=["sqlite", "notify=on", "notify=off"])
def pair(request, tmp_path):
    """Two nodes on one store, each with a home of its own where the engine allows it."""
    if request.param == "sqlite":
        homes, url = ["home", "home"], None
    else:
        homes, url = ["a", "b"], f"{request.getfixturevalue('postgres').ready_database()}?{request.param}"
    with Node(tmp_path / homes[0], url) as a, Node(tmp_path / homes[1], url) as b:
        yield a, b


async def suspend(node, text=ASKED):
    waiting = asyncio.create_task(node.decisions.decide(line(text), SESSION, wait=60))
    await soon(lambda: node.approvals.waiters.count)
    (asked,), _ = await node.approvals.list()
    return waiting, asked.id


@pytest.mark.parametrize(("answer", "verdict"), [(YES, ALLOW), (NO, DENY)])
def test_an_answer_on_one_node_wakes_the_call_suspended_on_another(pair, answer, verdict):
    async def main():
        waiting, approval_id = await suspend(pair[0])
        await pair[1].decisions.answer(approval_id, answer, ANN)
        assert verdict_of(await waiting) is verdict

    asyncio.run(main())


def test_a_hundred_calls_suspended_on_one_node_are_all_woken_by_another(pair):
    async def main():
        calls = [line(f"node {i}.js") for i in range(100)]
        waiting = [asyncio.create_task(pair[0].decisions.decide(call, SESSION, wait=60)) for call in calls]
        await soon(lambda: pair[0].approvals.waiters.count == 100)
        found, _ = await pair[1].approvals.list(limit=200)
        await asyncio.gather(*(pair[1].decisions.answer(a.id, YES, ANN) for a in found))
        assert {verdict_of(r) for r in await asyncio.gather(*waiting)} == {ALLOW}

    asyncio.run(main())


def test_a_grant_and_its_end_reach_the_other_node(pair):
    a, b = pair

    async def main():
        asked = await a.decisions.decide(line("npm install x"), SESSION)
        await a.decisions.answer(asked.approval.id, WIDE, ANN)
        await soon(lambda: b.decisions.preview(line("npm install y"), SESSION).verdict is ALLOW)
        assert verdict_of(await b.decisions.decide(line("npm install y"), SESSION)) is ALLOW
        (grant,) = await b.approvals.grants()
        await a.approvals.revoke_grant(grant.id, ANN)
        # However late the news comes, the grant is looked up where the decision is recorded.
        assert verdict_of(await b.decisions.decide(line("npm install y"), SESSION)) is ASK

    asyncio.run(main())


def test_what_is_enabled_reaches_the_other_node(pair):
    a, b = pair

    async def main():
        await a.approvals.enable(ANN, 5, agent="coder")
        await soon(lambda: b.decisions.preview(line("terraform destroy"), SESSION).verdict is ASK)

    asyncio.run(main())


def test_a_node_whose_connections_are_cut_while_it_waits_is_woken_all_the_same(tmp_path, postgres):
    url = postgres.new_database()

    async def main(a, b):
        waiting, approval_id = await suspend(a)
        for _ in range(3):
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            await asyncio.sleep(0.05)
        for _ in range(20):  # a cut connection is an error once, and then made anew
            try:
                await b.decisions.answer(approval_id, YES, ANN)
                break
            except StoreError:
                await asyncio.sleep(0.05)
        ruling = await waiting
        if ruling.decision.decision_source.value == "error":
            ruling = await a.decisions.decide(line(ASKED), SESSION)
        assert verdict_of(ruling) is ALLOW

    with Node(tmp_path / "a", url) as a, Node(tmp_path / "b", url) as b:
        asyncio.run(main(a, b))


def test_an_answer_given_while_a_node_was_asleep_is_found_when_it_wakes(tmp_path, url):
    home = tmp_path / "home"

    async def ask(node):
        return (await node.decisions.decide(line(ASKED, "c1"), SESSION)).approval.id

    with Node(home, url) as node:
        approval_id = asyncio.run(ask(node))
    with Node(home, url) as other:
        asyncio.run(other.decisions.answer(approval_id, YES, ANN))
    with Node(home, url) as node:
        assert verdict_of(asyncio.run(node.decisions.decide(line(ASKED, "c1"), SESSION, wait=1))) is ALLOW


ANSWER = """
import asyncio, sys
from keeping import ANN, YES, Node
with Node(sys.argv[1]) as node:
    asyncio.run(node.decisions.answer(sys.argv[2], YES, ANN))
"""


def test_an_answer_from_another_process_wakes_the_call(tmp_path):
    async def main(node):
        waiting, approval_id = await suspend(node)
        words = [sys.executable, "-c", ANSWER, node.home, approval_id]
        await asyncio.to_thread(subprocess.run, words, check=True, env=environ())
        assert verdict_of(await waiting) is ALLOW

    with Node(tmp_path / "home") as node:
        asyncio.run(main(node))


def environ():
    import os
    from pathlib import Path

    tests = Path(__file__).parent.parent
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(tests), str(tests.parent / "src")])}


def test_a_hint_that_can_not_be_followed_at_once_is_followed_later(node, monkeypatch):
    async def main():
        waiting, approval_id = await suspend(node)
        real, failures = node.store.fetch, [3]

        def flaky(*rest):
            if failures[0]:
                failures[0] -= 1
                raise StoreError("not now")
            return real(*rest)

        monkeypatch.setattr(node.store, "_notify", lambda *_: None)  # nobody here is told what it became
        await node.decisions.answer(approval_id, YES, ANN)
        monkeypatch.undo()
        monkeypatch.setattr(node.store, "fetch", flaky)
        node.approvals._on_change("approvals", approval_id, None)
        assert verdict_of(await waiting) is ALLOW
        assert failures == [0]

    asyncio.run(main())
