"""The SQLite file is its owner's alone, is synced at every commit, and is looked at after a crash."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import subprocess
import sys

import pytest

from assent.model import AssentError, StoreError
from assent.store.store import open_store

PUT = "INSERT INTO changes (origin, topic, ref) VALUES (?, ?, ?)"


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_all_files_are_closed_to_others(home):
    with open_store(home=str(home)) as store:
        store.write(lambda cursor: cursor.execute(PUT, "a", "b", "c")).result()
        assert mode(home) == 0o700
        assert {mode(file) for file in home.iterdir()} == {0o600}


def test_every_commit_is_synced_in_wal_mode(home):
    with open_store(home=str(home)) as store:
        found = store.write(lambda c: [c.fetch(f"PRAGMA {n}")[0][0] for n in ("journal_mode", "synchronous")]).result()
    assert found == ["wal", 2]


@pytest.mark.parametrize("what", ["assent.db", "."])
def test_what_others_could_write_is_refused(home, what):
    open_store(home=str(home)).close()
    other = home.parent / "elsewhere"
    home.rename(other)
    (other / what).chmod(0o722)
    with pytest.raises(AssentError, match="writable by other users"):
        open_store(f"sqlite:///{other}/assent.db", home=str(home))


def test_what_others_could_read_is_closed_to_them(home):
    open_store(home=str(home)).close()
    (home / "assent.db").chmod(0o644)
    home.chmod(0o755)
    open_store(home=str(home)).close()
    assert (mode(home), mode(home / "assent.db")) == (0o700, 0o600)


@pytest.mark.parametrize("plant", ["link", "pipe", "folder"])
def test_what_is_no_file_is_refused(home, plant):
    home.mkdir(mode=0o700)
    path = home / "assent.db"
    {"link": lambda: path.symlink_to("/dev/null"), "pipe": lambda: os.mkfifo(path), "folder": path.mkdir}[plant]()
    with pytest.raises(StoreError, match=r"assent\.db"):
        open_store(home=str(home))


def test_what_is_no_database_is_refused(home):
    home.mkdir(mode=0o700)
    (home / "assent.db").write_bytes(b"not a database, but long enough to look like one" * 100)
    (home / "assent.db").chmod(0o600)
    with pytest.raises(StoreError, match="not a database"):
        open_store(home=str(home))


CRASH = """
import os, sys
from assent.store.store import open_store
store = open_store(home=sys.argv[1])
store.write(lambda c: c.insert("INSERT INTO changes (origin, topic, ref) VALUES (?, ?, ?)",
    [("a", "b", "x" * 100)] * 5000)).result()
os._exit(1)
"""


def test_after_a_crash_a_sound_file_is_opened_with_all_that_was_answered_for(home):
    subprocess.run([sys.executable, "-c", CRASH, str(home)], check=False)
    assert (home / "assent.db-wal").stat().st_size
    with open_store(home=str(home)) as store:
        assert store.fetch("SELECT count(*) FROM changes") == [(5000,)]


def test_after_a_crash_a_damaged_file_is_refused(home):
    subprocess.run([sys.executable, "-c", CRASH, str(home)], check=False)
    with contextlib.closing(sqlite3.connect(home / "assent.db")) as connection, connection:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        os.link(home / "assent.db-wal", home / "kept-wal")
    with (home / "assent.db").open("r+b") as file:
        file.seek(20 * size + 100)
        file.write(os.urandom(size * 10))
    if not (home / "assent.db-wal").exists():
        os.link(home / "kept-wal", home / "assent.db-wal")
    with pytest.raises(StoreError, match="damaged"):
        open_store(home=str(home))


def test_while_another_process_has_it_open_nothing_is_taken_for_a_crash(home, monkeypatch):
    from assent.store import sqlite

    with open_store(home=str(home)) as store:
        store.write(lambda cursor: cursor.execute(PUT, "a", "b", "c")).result()
        monkeypatch.setattr(sqlite, "check_integrity", lambda _: pytest.fail("looked"))
        open_store(home=str(home)).close()


def test_a_file_that_is_replaced_under_an_open_store_takes_nothing_with_it(home):
    with open_store(home=str(home)) as store:
        store.write(lambda cursor: cursor.execute(PUT, "a", "b", "c")).result()
        (home / "assent.db").rename(home / "moved.db")
        (home / "assent.db").write_bytes(b"")
        with pytest.raises(StoreError, match="replaced"):
            store.write(lambda cursor: cursor.execute(PUT, "a", "b", "c")).result()


def test_a_file_that_is_gone_is_an_error_and_not_a_new_file(home):
    with open_store(home=str(home)) as store:
        (home / "assent.db").unlink()
        with pytest.raises(StoreError):
            store.write(lambda cursor: cursor.execute(PUT, "a", "b", "c")).result()
        assert not (home / "assent.db").exists()
