"""On PostgreSQL: one writer among all nodes, the server's clock, and hints that may get lost."""

from __future__ import annotations

import asyncio
import time

import psycopg
import pytest

from assent.model import StoreError
from assent.store.store import open_store
from keeping import soon
from postgres import Postgres

PUT = "INSERT INTO changes (origin, topic, ref) VALUES (?, ?, ?)"


@pytest.fixture
def own_server():
    server = Postgres()
    yield server
    server.close()


@pytest.fixture
def database(postgres):
    return postgres.new_database()


def test_positions_become_visible_in_order(tmp_path, database):
    seen = []
    with open_store(database, home=str(tmp_path / "a")) as a, open_store(database, home=str(tmp_path / "b")) as b:
        futures = [s.write(lambda c: c.announce("t", "x")) for _ in range(200) for s in (a, b)]
        while not all(f.done() for f in futures):
            seen.append([row[0] for row in a.fetch("SELECT id FROM changes ORDER BY id")])
    assert all(ids == list(range(1, len(ids) + 1)) for ids in seen)


def test_time_is_the_server_s(tmp_path, database):
    with open_store(database, home=str(tmp_path), clock=lambda: 0.0) as store:
        assert abs(store.write(lambda c: c.now).result() - time.time()) < 60


@pytest.mark.parametrize("notify", ["on", "off"])
def test_another_node_hears_of_a_change_with_and_without_hints(tmp_path, database, notify):
    url = f"{database}?notify={notify}"
    heard = []

    async def main(a, b):
        await soon(lambda: b._watcher._last is not None)
        b.subscribe(lambda *change: heard.append(change))
        await a.commit(lambda c: c.announce("t", "x", "value"))
        await soon(lambda: heard == [("t", "x", None)])

    with open_store(url, home=str(tmp_path / "a")) as a, open_store(url, home=str(tmp_path / "b")) as b:
        asyncio.run(main(a, b))


def test_a_listener_whose_connection_is_cut_misses_nothing(tmp_path, database):
    heard = []

    async def main(a, b):
        await soon(lambda: b._watcher._last is not None)
        b.subscribe(lambda *change: heard.append(change))
        for i in range(10):
            cut(database, "LISTEN")
            await a.commit(lambda c, i=i: c.announce("t", str(i)))
        await soon(lambda: len(set(heard)) == 10)

    with open_store(database, home=str(tmp_path / "a")) as a, open_store(database, home=str(tmp_path / "b")) as b:
        asyncio.run(main(a, b))
        assert b._watcher.reconnects + a._watcher.reconnects > 0


def cut(database, last_statement):
    """End every connection of the database whose last statement begins like this, ours excepted."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'assent' "
            "AND (query LIKE %s OR query LIKE 'SELECT id, origin%%')",
            (last_statement + "%",),
        )


def test_a_writer_whose_connection_is_cut_says_so_and_then_goes_on(tmp_path, database):
    with open_store(database, home=str(tmp_path)) as store:
        store.write(lambda c: c.execute(PUT, "a", "b", "1")).result()
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        with pytest.raises(StoreError):
            store.write(lambda c: c.execute(PUT, "a", "b", "2")).result()
        assert store.write(lambda c: c.execute(PUT, "a", "b", "3")).result() == 1
        assert store.fetch("SELECT ref FROM changes ORDER BY id") == [("1",), ("3",)]


def test_a_node_that_stops_in_the_middle_does_not_hold_up_the_others_for_good(tmp_path, database, monkeypatch):
    from assent.store import postgres

    quick = postgres._SETTINGS.replace(
        "idle_in_transaction_session_timeout = '10s'", "idle_in_transaction_session_timeout = '1s'"
    )
    monkeypatch.setattr(postgres, "_SETTINGS", quick)
    with open_store(database, home=str(tmp_path / "a")) as a, open_store(database, home=str(tmp_path / "b")) as b:
        stuck = a.write(lambda c: (c.execute(PUT, "a", "b", "stuck"), time.sleep(3)))
        time.sleep(0.3)
        assert b.write(lambda c: c.execute(PUT, "a", "b", "on")).result(60) == 1
        with pytest.raises(StoreError):
            stuck.result(60)
        assert b.fetch("SELECT ref FROM changes") == [("on",)]


def test_no_server_is_an_error_at_the_start(tmp_path):
    with pytest.raises(StoreError, match="cannot be opened"):
        open_store("postgresql://nobody@127.0.0.1:1/none", home=str(tmp_path))


def test_a_server_that_does_not_sync_is_refused(tmp_path):
    server = Postgres(fsync="off")
    try:
        with pytest.raises(StoreError, match="fsync off"):
            open_store(server.new_database(), home=str(tmp_path))
    finally:
        server.close()


def test_a_database_that_does_not_check_text_is_refused_and_the_error_says_how_to_make_one(own_server, tmp_path):
    with psycopg.connect(own_server.url("postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE plain ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(StoreError, match=r"encoding SQL_ASCII.*createdb --encoding UTF8"):
        open_store(own_server.url("plain"), home=str(tmp_path))


def test_after_the_server_crashed_what_was_answered_for_is_there_and_work_goes_on(own_server, tmp_path):
    database = own_server.new_database()
    with open_store(database, home=str(tmp_path)) as store:
        assert [store.write(lambda c, i=i: c.execute(PUT, "a", "b", str(i))).result() for i in range(20)] == [1] * 20
        own_server.kill()
        with pytest.raises(StoreError):
            store.write(lambda c: c.execute(PUT, "a", "b", "lost")).result()
        own_server.start()
        assert store.write(lambda c: c.execute(PUT, "a", "b", "20")).result() == 1
        assert len(store.fetch("SELECT ref FROM changes")) == 21
