"""A store in memory: its log waits in a list for whoever reads it, and nobody can tell."""

from __future__ import annotations

import asyncio
import sqlite3
import threading

import pytest

from assent.audit.log import MOST_HELD, SEAL_EVERY, Log
from assent.audit.verify.log import verify_log
from assent.model import Event, StoreError
from assent.store.address import StoreAddress
from assent.store.memory import MemoryStore

PUT = "INSERT INTO changes (origin, topic, ref) VALUES (?, ?, ?)"
LONG = SEAL_EVERY + 2 * MOST_HELD
TEXTS = "SELECT text FROM events ORDER BY position"


@pytest.fixture
def store():
    with MemoryStore() as made:
        yield made


@pytest.fixture
def log(store):
    return Log(store, None)


def event(text):
    payload = {"summary": text}
    return Event(type="runtime.warning", event_id="", timestamp="", session_id="s", sequence=0, payload=payload)


def record(log, *texts):
    return asyncio.run(log.record([event(text) for text in texts]))


def by_reader(store):
    with store.reader() as connection:
        return [text for (text,) in connection.exec_driver_sql(TEXTS)]


LOOKS = {
    "fetch": lambda store: [text for (text,) in store.fetch(TEXTS)],
    "read": lambda store: [text for (text,) in store.read(TEXTS).result()],
    "query": lambda store: [text for (text,) in asyncio.run(store.query(TEXTS))],
    "reader": by_reader,
    "job": lambda store: [text for (text,) in store.write(lambda cursor: cursor.fetch(TEXTS)).result()],
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_whoever_looks_sees_all_that_was_recorded(store, log, look):
    assert record(log, "a", "b") == (1, 2)
    assert look(store) == ["a", "b"]
    assert record(log, "c") == (3,)
    assert look(store) == ["a", "b", "c"]


def test_what_is_done_from_time_to_time_sees_it_too(store, log):
    seen = threading.Event()
    record(log, "a")
    store.every(0.01, lambda cursor: cursor.fetch(TEXTS) == [("a",)] and seen.set(), lambda _: None)
    assert seen.wait(60)


def test_recording_leaves_the_tables_alone_until_somebody_looks_or_much_has_come_together(store, log):
    statements = []
    store._raw.set_trace_callback(statements.append)
    record(log, *"abc")
    assert statements == []
    for number in range(MOST_HELD):
        record(log, str(number))
    assert 0 < len(log._held) < MOST_HELD
    assert any("INSERT INTO events" in statement for statement in statements)
    assert store._raw.execute("SELECT count(*) FROM events").fetchone()[0] >= MOST_HELD


def test_the_chain_and_its_seals_verify(store, log, tmp_path):
    for number in range(LONG):
        record(log, str(number))
    log.close()
    store.fetch("SELECT 1")
    copy = sqlite3.connect(tmp_path / "copy.db")
    store._raw.backup(copy)
    copy.close()
    report = verify_log(StoreAddress(engine="sqlite", path=str(tmp_path / "copy.db")), home=str(tmp_path))
    assert report.broken is None
    assert (report.events, report.checkpoints) == (LONG, 3)


def test_a_transaction_that_fails_takes_no_place_and_nothing_from_those_before(store, log):
    record(log, "a")

    def half(cursor):
        cursor.execute(PUT, "test", "topic", "half")
        log.append(cursor, [log.prepare(event("half"))])
        raise ValueError("no further")

    def silent(cursor):
        log.append(cursor, [log.prepare(event("silent"))])
        raise ValueError("no further")

    for work in (half, silent):
        with pytest.raises(ValueError, match="no further"):
            store.write(work).result()
    assert record(log, "b") == (2,)
    assert store.fetch(TEXTS) == [("a",), ("b",)]
    assert store.fetch("SELECT position, seq FROM events ORDER BY position") == [(1, 1), (2, 2)]
    assert store.fetch("SELECT ref FROM changes") == []


def refuse_commits(action, what, *_):
    return sqlite3.SQLITE_DENY if (action, what) == (sqlite3.SQLITE_TRANSACTION, "COMMIT") else sqlite3.SQLITE_OK


def test_what_can_not_be_written_when_somebody_looks_is_their_error_and_is_kept(store, log):
    record(log, "a")
    store._raw.set_authorizer(refuse_commits)
    with pytest.raises(StoreError):
        store.fetch("SELECT 1")
    with pytest.raises(StoreError):
        store.write(lambda cursor: cursor.fetch("SELECT 1")).result()
    store._raw.set_authorizer(None)
    assert store.fetch(TEXTS) == [("a",)]


def test_what_is_recorded_along_with_something_that_does_not_last_does_not_either(store, log):
    def work(cursor):
        cursor.execute(PUT, "test", "topic", "half")
        log.append(cursor, [log.prepare(event("half"))])

    store._raw.set_authorizer(refuse_commits)
    with pytest.raises(StoreError):
        store.write(work).result()
    store._raw.set_authorizer(None)
    assert record(log, "b") == (1,)
    assert store.fetch(TEXTS) == [("b",)]


def test_what_several_threads_note_and_record_is_written_once_each(store, log):
    def work(name):
        for number in range(200):
            log.note(event(f"note {name} {number}"))
            store.write(lambda cursor, text=f"{name} {number}": log.append(cursor, [log.prepare(event(text))])).result()

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
    written = [text for (text,) in store.fetch(TEXTS)]
    assert sorted(written) == sorted(f"{kind}{n} {i}" for kind in ("", "note ") for n in "abcd" for i in range(200))
    assert store.fetch("SELECT count(*), max(position), max(seq) FROM events") == [(1600, 1600, 1600)]
