"""P9: nothing is lost or doubled by a crash. `make crash` is the long version of this."""

from __future__ import annotations

import asyncio
import random
import time

import pytest

from assent.model import ALLOW, ASK, State
from crash import Reader, crash, spawn
from keeping import ANN, ASKED, NO, SESSION, YES, Node, line, verdict_of
from postgres import Postgres


def test_killed_at_random_moments_under_load_it_keeps_its_books(tmp_path, url):
    rounds = 5 if url is None else 3
    books = crash(tmp_path / "home", url, rounds)
    assert books.ruled


def test_the_database_server_killed_under_load_loses_nothing(tmp_path):
    from crash import Books

    server = Postgres()
    try:
        url = server.new_database()
        child = spawn(tmp_path / "home", url, 1)
        assert child.stdout.readline() == b"READY\n"
        reader = Reader(child)
        time.sleep(random.uniform(0.2, 1.0))
        server.kill()
        time.sleep(random.uniform(0.0, 0.5))  # what is answered without the server counts too
        child.kill()
        child.wait()
        server.start()
        books = Books()
        books.enter("".join(x + "\n" for x in reader.text().split("\n")[:-1] if not x.startswith(("FAULT", "RULED 0"))))
        with Node(tmp_path / "home", url) as node:
            books.check(node)
    finally:
        server.close()


@pytest.mark.parametrize("answer", [YES, NO])
def test_a_question_asked_before_a_crash_is_answered_after_it_and_the_caller_that_comes_back_hears_it(
    tmp_path, url, answer
):
    async def before(node):
        return (await node.decisions.decide(line(ASKED, "c1"), SESSION)).approval.id

    async def after(node, approval_id):
        assert (await node.approvals.get(approval_id)).state is State.PENDING
        joined = await node.decisions.decide(line(ASKED, "c1"), SESSION)
        assert (verdict_of(joined), joined.approval.id) == (ASK, approval_id)
        waiting = asyncio.create_task(node.decisions.decide(line(ASKED, "c1"), SESSION, wait=30))
        await asyncio.sleep(0.1)
        await node.decisions.answer(approval_id, answer, ANN)
        ruling = await waiting
        assert (verdict_of(ruling) is ALLOW) is (answer is YES)

    node = Node(tmp_path / "home", url)
    approval_id = asyncio.run(before(node))
    node.store._writer._queue.put(None)  # the process ends without a word; only what is durable is left
    node.store._writer.join()
    with Node(tmp_path / "home", url) as again:
        asyncio.run(after(again, approval_id))
    node.store._watcher.stop()
    node.store._readers.shutdown()
    node.store._engine.dispose()
