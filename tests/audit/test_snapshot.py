"""A snapshot goes through a large table page by page, and says what stopped it."""

from __future__ import annotations

import sqlite3

import pytest

from assent.audit import snapshot as module
from assent.audit.snapshot import open_snapshot
from assent.model import StoreError
from assent.store.address import read_address

_ALL = "SELECT position, at, text, body FROM events WHERE position > ? ORDER BY position"
_TAKER = module._Taker
_ROWS = [(n, float(n), f"é{n}" if n % 7 else None, bytes([n % 256])) for n in range(1, 1001)]


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE heads (writer TEXT)")
        connection.execute("CREATE TABLE events (position INTEGER PRIMARY KEY, at DOUBLE, text TEXT, body BLOB)")
        connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?)", reversed(_ROWS))
    connection.close()
    return read_address(f"sqlite:///{path}", home=str(tmp_path))


def _change(log, sql):
    with sqlite3.connect(log.path) as connection:
        connection.execute(sql)
    connection.close()


@pytest.mark.parametrize("after", [0, 1, 500, 1000 - 128, 1000 - 256, 999, 1000])
def test_the_pages_hold_every_row_once_and_in_order(log, after):
    with open_snapshot(log) as snapshot:
        rows = [row for page in snapshot.pages("events", _ALL, after) for row in page]
    assert rows == _ROWS[after:]
    assert [[type(value) for value in row] for row in rows] == [[type(value) for value in row] for row in _ROWS[after:]]


def test_two_tables_are_gone_through_side_by_side(log):
    with open_snapshot(log) as snapshot:
        pairs = zip(snapshot.pages("one", _ALL, 0), snapshot.pages("two", _ALL, 0), strict=True)
        assert [row for one, two in pairs if one == two for row in one] == _ROWS


def test_no_more_than_two_pages_are_held_at_a_time(log, monkeypatch):
    held = []
    monkeypatch.setattr(module, "_Taker", lambda: held.append(_TAKER()) or held[0])
    with open_snapshot(log) as snapshot:
        read = 0
        for page in snapshot.pages("events", _ALL, 0):
            read += len(page)
            assert held[0].taken - read <= len(page)
    assert read == len(_ROWS)


def test_text_that_is_none_is_named(log):
    _change(log, "UPDATE events SET text = CAST(x'ff' AS TEXT) WHERE position = 700")
    with pytest.raises(StoreError, match=r"cannot be read: .*column 'text'"), open_snapshot(log) as snapshot:
        list(snapshot.pages("events", _ALL, 0))


def test_an_interrupt_is_an_interrupt(log, monkeypatch):
    def interrupted(self, *row):
        if row[0] == 300:
            raise KeyboardInterrupt
        return _TAKER.take(self, *row)

    monkeypatch.setattr(module, "_Taker", type("Taker", (_TAKER,), {"take": interrupted}))
    with pytest.raises(KeyboardInterrupt), open_snapshot(log) as snapshot:
        list(snapshot.pages("events", _ALL, 0))


def test_a_table_that_is_not_there_is_an_error_of_the_log(log):
    with pytest.raises(StoreError, match="no such table"), open_snapshot(log) as snapshot:
        list(snapshot.pages("events", "SELECT position FROM missing"))
