"""The store keeps what it is given, on either engine: whole jobs, in order, once they are answered for."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from sqlalchemy import select

from assent.model import StoreError
from assent.store.schema import changes
from assent.store.store import open_store
from keeping import Plug, soon

PUT = "INSERT INTO changes (origin, topic, ref) VALUES (?, ?, ?)"


@pytest.fixture
def store(tmp_path, url):
    with open_store(url, home=str(tmp_path / "home")) as made:
        yield made


def put(ref):
    return lambda cursor: cursor.execute(PUT, "test", "topic", ref)


def kept(store):
    return [row[0] for row in store.fetch("SELECT ref FROM changes WHERE topic = 'topic' ORDER BY id")]


def test_what_a_job_returns_is_what_its_future_has(store):
    assert store.write(lambda cursor: cursor.fetch("SELECT 1 + ?", 2)).result() == [(3,)]


def test_jobs_run_in_the_order_they_came(store):
    futures = [store.write(put(str(i))) for i in range(200)]
    assert [f.result() for f in futures] == [1] * 200
    assert kept(store) == [str(i) for i in range(200)]


def test_a_job_that_fails_fails_alone_and_leaves_nothing(store):
    def half(cursor):
        put("half")(cursor)
        cursor.announce("topic", "never")
        raise ValueError("no further")

    gate = threading.Event()
    blocker = store.write(lambda _: gate.wait(60))
    futures = [store.write(put("a")), store.write(half), store.write(put("b"))]
    gate.set()
    blocker.result()
    assert futures[0].result() == 1
    with pytest.raises(ValueError, match="no further"):
        futures[1].result()
    assert futures[2].result() == 1
    assert kept(store) == ["a", "b"]


def test_a_job_whose_sql_is_wrong_fails_alone(store):
    gate = threading.Event()
    store.write(lambda _: gate.wait(60))

    def wrong(cursor):
        put("x")(cursor)
        cursor.execute("INSERT INTO changes (origin, topic, ref) VALUES (?, ?, NULL)", "a", "b")

    futures = [store.write(put("a")), store.write(wrong), store.write(put("b"))]
    gate.set()
    assert [futures[0].result(), futures[2].result()] == [1, 1]
    with pytest.raises(Exception, match=r"(?i)null"):
        futures[1].result()
    assert kept(store) == ["a", "b"]


def test_waiting_jobs_share_one_commit(store):
    plug = Plug()
    first = store.write(plug)
    plug.begun.wait()
    before = store.figures.batches
    futures = [store.write(put(str(i))) for i in range(50)]
    plug.pull()
    first.result()
    [f.result() for f in futures]
    assert store.figures.batches - before == 2
    assert store.figures.largest_batch == 50


def test_what_is_left_for_the_end_is_written_in_one_go_without_what_failed(store):
    class Collector:
        def finish(self, cursor, items):
            cursor.insert(PUT, [("test", "topic", item) for item in items])

    collector = Collector()

    def leave(item, error=None):
        def work(cursor):
            cursor.defer(collector, item)
            if error:
                raise error

        return work

    gate = threading.Event()
    store.write(lambda _: gate.wait(60))
    futures = [store.write(leave("a")), store.write(leave("b", ValueError())), store.write(leave("c"))]
    gate.set()
    futures[2].result()
    assert isinstance(futures[1].exception(), ValueError)
    assert kept(store) == ["a", "c"]


def test_a_transaction_that_can_not_be_finished_fails_all_its_jobs(store):
    class Stubborn:
        def finish(self, cursor, items):
            cursor.execute("INSERT INTO nowhere VALUES (1)")

    gate = threading.Event()
    store.write(lambda _: gate.wait(60))
    futures = [store.write(put("a")), store.write(lambda cursor: cursor.defer(Stubborn(), 1)), store.write(put("b"))]
    gate.set()
    for future in futures:
        with pytest.raises(StoreError, match="cannot be written"):
            future.result()
    assert kept(store) == []
    assert store.write(put("after")).result() == 1


def test_many_tasks_of_one_loop_get_their_own_results(store):
    async def main():
        return await asyncio.gather(
            *(store.commit(lambda cursor, i=i: (put(str(i))(cursor), i)[1]) for i in range(300))
        )

    assert asyncio.run(main()) == list(range(300))
    assert len(kept(store)) == 300


def test_reading_does_not_wait_for_a_writer_that_is_busy(store):
    gate = threading.Event()
    busy = store.write(lambda cursor: (put("x")(cursor), gate.wait(60)))
    assert store.read(select(changes.c.ref)).result(timeout=60) == []
    gate.set()
    busy.result()
    assert len(store.read(select(changes.c.ref)).result()) == 1


def test_a_reader_can_not_write(store):
    with pytest.raises(StoreError):
        store.fetch("INSERT INTO changes (origin, topic, ref) VALUES ('a', 'b', 'c') RETURNING id")


def test_closing_finishes_what_is_queued(tmp_path, url):
    with open_store(url, home=str(tmp_path / "home")) as store:
        futures = [store.write(put(str(i))) for i in range(500)]
    assert all(f.result() == 1 for f in futures)
    with pytest.raises(StoreError, match="closed"):
        store.write(put("late"))
    with open_store(url, home=str(tmp_path / "home")) as store:
        assert len(kept(store)) == 500


def test_changes_are_told_in_this_process_with_what_they_became(store):
    heard = []
    store.subscribe(lambda *change: heard.append(change))
    store.write(lambda cursor: cursor.announce("news", "id", "value")).result()
    assert ("news", "id", "value") in heard


def test_a_subscriber_that_fails_keeps_nobody_from_being_told(store):
    heard = []

    def fail(*_):
        raise RuntimeError

    store.subscribe(fail)
    store.subscribe(lambda *change: heard.append(change))
    assert store.write(lambda cursor: cursor.announce("news", "id")).result() is None
    assert ("news", "id", None) in heard
    store.unsubscribe(fail)


def test_changes_are_told_to_another_process(tmp_path, url):
    home = str(tmp_path / "home")
    heard = []

    async def main(ours, theirs):
        # Whoever has just begun to watch is told to look at everything.
        await soon(lambda: theirs._watcher._last is not None)
        theirs.subscribe(lambda *change: heard.append(change))
        await ours.commit(lambda cursor: cursor.announce("news", "id", "value"))
        await soon(lambda: ("news", "id", None) in heard)

    with open_store(url, home=home) as ours, open_store(url, home=home) as theirs:
        asyncio.run(main(ours, theirs))
        assert ("news", "id", "value") not in heard


def test_two_writers_of_one_store_take_turns(tmp_path, url):
    home = str(tmp_path / "home")
    with open_store(url, home=home) as ours, open_store(url, home=home) as theirs:
        futures = [side.write(put(f"{i}")) for i in range(100) for side in (ours, theirs)]
        assert all(f.result() == 1 for f in futures)
        assert len(kept(ours)) == 200


def test_what_is_to_be_done_from_time_to_time_is_done_where_it_is_needed(store):
    done = []
    store.every(0.05, lambda _: len(done) < 3, lambda cursor: done.append(cursor.now))
    asyncio.run(soon(lambda: len(done) == 3))
    time.sleep(0.2)
    assert len(done) == 3


def test_a_write_that_takes_too_long_is_told_so_and_those_behind_it_are_not_made(store):
    store.write_seconds = 2.0
    plug = Plug()

    async def main():
        hanging = asyncio.create_task(store.commit(plug))
        await soon(plug.begun.is_set)
        behind = asyncio.create_task(store.commit(put("behind")))
        for task in (hanging, behind):
            with pytest.raises(StoreError, match="took too long"):
                await task
        plug.pull()
        store.write_seconds = 10.0
        await store.commit(put("after"))

    asyncio.run(main())
    assert kept(store) == ["after"]


def test_old_changes_are_cleared_away_and_whoever_was_asleep_looks_at_everything(store):
    from assent.store import store as module

    rows = [("other", "topic", str(i)) for i in range(25_000)]
    assert store.write(lambda cursor: cursor.insert(PUT, rows)).result() is None
    assert store.write(module._has_old_changes).result()
    store.write(module._clear_old_changes).result()
    assert len(kept(store)) == module._MOST_CHANGES
    assert not store.write(module._has_old_changes).result()
