"""P8: any change, deletion, doubling, reordering or truncation of the log is found, and the first broken record named.

What was cut off at the end is found up to the last seal: by the head in the database, and by the anchors beside it.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from assent.audit import snapshot
from assent.audit.chain import genesis, hash_row
from assent.audit.log import Log
from assent.audit.seals.anchors import anchor_file, read_anchors
from assent.audit.seals.node_keys import load_node
from assent.audit.seals.seal import COLUMNS as SEAL
from assent.audit.seals.seal import read_seal
from assent.audit.verify import log as verify
from assent.audit.verify import segments
from assent.audit.verify.chain import SegmentResult
from assent.audit.verify.log import verify_log
from assent.model import StoreError
from assent.store.address import read_address
from assent.store.store import open_store
from keeping import ASKED, SESSION, Node, line
from logcopy import ALL, Copy, meet, settle, small, write

EVENTS = 5


@pytest.fixture
def log(tmp_path, url):
    """A closed and sealed log of a few small records."""
    with Node(tmp_path / "home", url) as node:
        write(node, EVENTS)
    return Copy(node)


def test_a_log_that_nobody_touched_is_whole(log):
    report = log.verify()
    assert (report.ok, report.events, report.checkpoints, report.anchors, report.sealed) == (True, 5, 2, 2, 5)


def flips(value):
    """Give every value that differs in one place."""
    if isinstance(value, bytes):
        for i in range(len(value)):
            yield value[:i] + bytes([value[i] ^ 1]) + value[i + 1 :]
        yield value + b"\x00"
    elif isinstance(value, str):
        for i, char in enumerate(value):
            yield value[:i] + chr(ord(char) ^ 1) + value[i + 1 :]
        yield value + "x"
    elif isinstance(value, int):
        yield value + 100
    elif isinstance(value, float):
        yield value + 1e-6
    else:
        yield "x"


@pytest.mark.parametrize("column", ALL)
def test_one_changed_byte_anywhere_in_a_record_is_found(log, column):
    middle = log.rows()[2]
    original = middle[ALL.index(column)]
    for value in flips(original):
        log.run(f"UPDATE events SET {column} = ? WHERE position = ?", value, 3)
        report = log.verify()
        assert not report.ok, (column, value)
        assert report.broken.seq in (3, 4, 103), (column, value, report)
        where = 103 if column == "position" else 3
        log.run(f"UPDATE events SET {column} = ? WHERE position = ?", original, where)
    assert log.verify().ok


@pytest.mark.parametrize("index", range(EVENTS))
def test_a_dropped_record_is_found(log, index):
    rows = log.rows()
    log.replace(rows[:index] + rows[index + 1 :])
    report = log.verify()
    assert not report.ok
    if index < EVENTS - 1:
        assert (report.broken.seq, report.broken.what) == (index + 2, "the record before this one is missing")


@pytest.mark.parametrize("index", range(EVENTS))
def test_a_doubled_record_is_found(log, index):
    rows = log.rows()
    log.replace([*rows, (EVENTS + 1, *rows[index][1:])])
    report = log.verify()
    assert (report.ok, report.broken.position) == (False, EVENTS + 1)


@pytest.mark.parametrize("index", range(EVENTS - 1))
def test_two_records_in_each_other_s_place_are_found(log, index):
    rows = log.rows()
    first, second = rows[index], rows[index + 1]
    rows[index : index + 2] = [(first[0], *second[1:]), (second[0], *first[1:])]
    log.replace(rows)
    report = log.verify()
    assert (report.ok, report.broken.position) == (False, index + 1)


@pytest.mark.parametrize("left", range(EVENTS))
def test_a_log_that_was_cut_off_is_found(log, left):
    log.replace(log.rows()[:left])
    report = log.verify()
    assert not report.ok
    assert "cut off" in report.broken.what


@pytest.mark.parametrize("left", range(EVENTS))
def test_a_log_that_was_cut_off_with_its_seals_and_its_head_is_found_by_the_anchor(log, left):
    rows = log.rows()
    log.replace(rows[:left])
    log.run("DELETE FROM checkpoints")
    writer = rows[0][1]
    head = rows[left - 1][-1] if left else genesis(writer)
    log.run("UPDATE heads SET seq = ?, hash = ?", left, head)
    report = log.verify()
    assert not report.ok
    assert (report.broken.position, "cut off before the last seal" in report.broken.what) == (EVENTS, True)


def test_what_follows_the_last_seal_is_found_missing_by_the_head(tmp_path, url):
    with Node(tmp_path / "home", url) as node:
        write(node, 3)
        node.log.close()
        write(node, 3, start=3)
        log = Copy(node)
        log.replace(log.rows()[:4])
        report = node.verify()
    assert (report.ok, report.broken.what) == (False, "the log does not end where its head says")


def test_a_chain_made_anew_by_whoever_can_write_the_database_is_found_by_its_seals(log):
    rows, rebuilt = log.rows(), []
    head = genesis(rows[0][1])
    for row in rows:
        columns = (*row[: ALL.index("text")], "forged", *row[ALL.index("text") + 1 : -1])
        head = hash_row(head, columns)
        rebuilt.append((*columns, head))
    log.replace(rebuilt)
    log.run("UPDATE heads SET hash = ?", head)
    report = log.verify()
    assert "checkpoint does not fit" in report.broken.what
    log.run("UPDATE checkpoints SET hash = ? WHERE seq > 0", head)
    assert "signature" in log.verify().broken.what
    log.run("DELETE FROM checkpoints")
    assert "cut off before the last seal" in log.verify().broken.what


def test_a_seal_by_another_key_is_found(log, tmp_path):
    other = load_node(str(tmp_path / "other"))
    rows = log.run(f"SELECT {', '.join(SEAL)} FROM checkpoints WHERE seq > 0")
    signature = other.sign(read_seal(rows[0]).message)
    log.run("UPDATE checkpoints SET signature = ? WHERE seq > 0", signature)
    assert "signature" in log.verify().broken.what
    log.run("UPDATE heads SET key = ?", other.public_key)
    assert "key of this installation was replaced" in log.verify().broken.what


@pytest.mark.parametrize("column", SEAL)
@pytest.mark.parametrize("which", [0, EVENTS])
def test_a_changed_seal_is_found(log, column, which):
    value = log.run(f"SELECT {column} FROM checkpoints WHERE seq = {which}")[0][0]
    changed = value + 1 if isinstance(value, int | float) else "x" if isinstance(value, str) else b"x" * len(value)
    log.run(f"UPDATE checkpoints SET {column} = ? WHERE seq = {which}", changed)
    assert not log.verify().ok


def test_a_seal_that_was_taken_away_is_found_by_its_anchor(log):
    log.run("DELETE FROM checkpoints")
    assert "cut off before the last seal" in log.verify().broken.what


def test_a_changed_anchor_is_found(log):
    path = anchor_file(log.home)
    with Path(path).open("r+b") as file:
        data = file.read()
        for old, new in ((b'"seq":5', b'"seq":4'), (b'"hash":"', b'"hash":"0'), (b'"key":"', b'"key":"0')):
            file.seek(0)
            file.truncate()
            file.write(data.replace(old, new, 1))
            file.flush()
            assert not log.verify().ok
        file.seek(0)
        file.truncate()
        file.write(b"garbage\n" + data)
    with pytest.raises(StoreError, match="damaged"):
        log.verify()


def test_anchors_that_are_elsewhere_are_not_followed(log, tmp_path):
    path = Path(anchor_file(log.home))
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="it is a symbolic link"):
        log.verify()


def test_half_an_anchor_left_by_a_crash_spoils_nothing(tmp_path, url):
    with Node(tmp_path / "home", url) as node:
        write(node, 2)
    path = anchor_file(node.home)
    with Path(path).open("ab") as file:
        file.write(b'{"writer":"x","se')
    assert node.verify().ok
    with Node(tmp_path / "home", url) as again:
        write(again, 2)
    assert again.verify().ok
    assert [a.seq for a in read_anchors(path)] == [0, 2, 4]


def test_an_anchor_that_a_crash_kept_from_being_written_is_made_up_for(tmp_path, url):
    with Node(tmp_path / "home", url) as node:
        write(node, 2)
    (tmp_path / "home" / "anchors.jsonl").unlink()
    with Node(tmp_path / "home", url) as again:
        assert [a.seq for a in read_anchors(anchor_file(again.home))] == [0, 2]


def test_a_part_of_another_log_in_the_middle_is_found(tmp_path, url, log):
    other_home = str(tmp_path / "other")
    with open_store(home=other_home) as store:
        other = Log(store, other_home)
        asyncio.run(other.record([small(f"event {i}") for i in range(EVENTS)]))
        foreign = store.fetch(f"SELECT {', '.join(ALL)} FROM events WHERE position = 3")[0]
    rows = log.rows()
    log.replace([*rows[:2], foreign, *rows[3:]])
    report = log.verify()
    assert (report.ok, report.broken.position) == (False, 3)


def test_a_first_record_that_does_not_begin_at_the_writer_s_beginning_is_found(log):
    rows = log.rows()
    forged = rows[0][:-1]
    log.replace([(*forged, hash_row(b"\x00" * 32, forged)), *rows[1:]])
    assert log.verify().broken.position == 1


def test_records_of_a_writer_that_has_no_head_are_found(log):
    log.run("DELETE FROM heads")
    assert not log.verify().ok


@pytest.mark.parametrize("position", [0, -1, -(1 << 63)])
def test_a_record_put_in_before_the_first_is_found(log, position):
    forged = (position, *log.rows()[0][1:])
    log.run(f"INSERT INTO events ({', '.join(ALL)}) VALUES ({', '.join('?' * len(ALL))})", *forged)
    assert log.verify().broken.position == position


def test_a_log_that_somebody_keeps_locked_is_not_taken_for_an_older_one(tmp_path, monkeypatch):
    monkeypatch.setattr(snapshot, "LOCKED_SECONDS", 0.1)
    with Node(tmp_path / "home") as node:
        write(node, 5)
    with contextlib.closing(sqlite3.connect(node.store.address.path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        other.execute("UPDATE heads SET seq = seq")
        with pytest.raises(StoreError, match="database is locked"):
            node.verify()


def test_chains_of_several_writers_in_one_store_are_told_apart(tmp_path, postgres):
    url = postgres.new_database()
    told = meet(url, tmp_path / "a", tmp_path / "b")
    with Node(tmp_path / "a", url) as a, Node(tmp_path / "b", url) as b:
        threads = [threading.Thread(target=write, args=(n, 40)) for n in (a, b, a, b)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        for node in (a, b):
            report = node.verify()
            assert (report.ok, report.events, report.writers) == (True, 160 + told, 2)
    Copy(a).run("UPDATE events SET text = 'x' WHERE position = 77")
    assert a.verify().broken.position == 77
    assert b.verify().broken.position == 77


def test_several_processes_of_one_installation_write_one_chain(tmp_path, url):
    with Node(tmp_path / "home", url) as ours, Node(tmp_path / "home", url) as theirs:
        threads = [threading.Thread(target=write, args=(n, 40)) for n in (ours, theirs, ours, theirs)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        report = ours.verify()
    assert (report.ok, report.events, report.writers) == (True, 160, 1)


def test_a_clock_that_goes_back_breaks_nothing(tmp_path):
    clock = [2000.0]
    with Node(tmp_path / "home", clock=lambda: clock[0]) as node:
        write(node, 2)
        clock[0] = 1000.0
        write(node, 2)
        node.log.close()
        assert node.verify().ok


def test_the_log_can_be_verified_while_it_is_written_to(node):
    stop = threading.Event()

    def work():
        while not stop.is_set():
            write(node, 20)
            node.log.close()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        reports = [node.verify()]
        end = time.monotonic() + 60
        while (len(reports) < 15 or reports[-1].events == reports[0].events) and time.monotonic() < end:
            reports.append(node.verify())
    finally:
        stop.set()
        thread.join()
    assert {r.broken for r in reports} == {None}
    assert reports[-1].events > reports[0].events


def test_a_seal_is_set_after_every_thousand_records(node):
    write(node, 2500)
    settle(node)
    assert [a.seq for a in read_anchors(anchor_file(node.home))] == [0, 1000, 2000]
    for start in range(2500, 4100, 100):
        write(node, 100, start)
    settle(node)
    assert [a.seq for a in read_anchors(anchor_file(node.home))] == [0, 1000, 2000, 3000, 4000]
    assert node.verify().ok


def test_what_is_decided_is_in_the_log_in_order(node):
    async def main():
        return [(await node.decisions.decide(line(text), SESSION)).position for text in ("ls", ASKED, "rm -rf /")]

    assert asyncio.run(main()) == [1, 2, 4]
    kinds = [(row[1], row[2]) for row in node.events()]
    evaluated = "permission.evaluated"
    assert kinds == [(evaluated, "allow"), (evaluated, "ask"), ("permission.requested", ""), (evaluated, "deny")]


def test_a_copy_on_a_disk_that_can_not_be_written_to_can_be_verified(tmp_path):
    with Node(tmp_path / "home") as node:
        write(node, 5)
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", mounted], check=True)
    try:
        shutil.copy(tmp_path / "home" / "assent.db", mounted)
        subprocess.run(["mount", "-o", "remount,ro", mounted], check=True)
        report = verify_log(read_address(f"sqlite://{mounted}/assent.db", home=""), home=node.home)
        assert (report.ok, report.events) == (True, 5)
    finally:
        subprocess.run(["umount", mounted], check=True)


MEMORY = """
import resource, sys
from assent.audit.seals.seal import COLUMNS as SEAL
from assent.audit.seals.seal import read_seal
from assent.audit.verify.log import verify_log
from assent.store.address import read_address
home = sys.argv[1]
verify_log(read_address(None, home=home), home=home)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
report = verify_log(read_address(None, home=sys.argv[2]), home=sys.argv[2])
assert report.ok and report.events == 60000, report
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_long_log_is_verified_in_little_memory(tmp_path):
    for name, count in (("short", 10), ("long", 60_000)):
        with Node(tmp_path / name) as node:
            for start in range(0, count, 5000):
                write(node, min(count, 5000), start)
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(tmp_path / "short"), str(tmp_path / "long")],
        capture_output=True,
        text=True,
        check=True,
    )
    size = (tmp_path / "long" / "assent.db").stat().st_size // 1024
    grown = int(done.stdout)
    # What is mapped from the file counts as resident; what is ours must not grow with the log.
    assert grown < size + 8_000


@pytest.fixture
def long(tmp_path):
    """A log that is followed in parts, once `in_parts` is used."""
    with Node(tmp_path / "home") as node:
        for start in range(0, 3000, 500):
            write(node, 500, start)
    return node


@pytest.fixture
def in_parts(monkeypatch):
    monkeypatch.setattr(verify, "LONG_LOG", 1000)
    monkeypatch.setattr(verify.os, "cpu_count", lambda: 2)


@pytest.mark.usefixtures("in_parts")
def test_a_long_log_is_followed_in_parts_that_find_the_same(long):
    seen = []
    report = verify_log(long.store.address, home=long.home, progress=lambda *p: seen.append(p))
    assert (report.ok, report.events, report.checkpoints, report.anchors) == (True, 3000, 4, 4)
    assert seen[-1] == (3000, 3000)
    log = Copy(long)
    for position in (1, 1500, 1501):
        log.run("UPDATE events SET text = text || 'x' WHERE position = ?", position)
        found = long.verify().broken
        assert (found.position, found.what) == (position, "this record was changed")
        log.run("UPDATE events SET text = substr(text, 1, length(text) - 1) WHERE position = ?", position)
    log.run("DELETE FROM events WHERE position = 1500")
    assert long.verify().broken.position == 1501


@pytest.fixture
def shared(tmp_path, postgres):
    """A long log in which three writers take turns, one of them for a short while only, and long ago."""
    url = postgres.new_database()
    assert meet(url, *(tmp_path / name for name in "abc")) == 6
    with Node(tmp_path / "a", url) as a, Node(tmp_path / "b", url) as b, Node(tmp_path / "c", url) as c:
        write(c, 7)
        for start in range(0, 1200, 100):
            write(a, 100, start)
            write(b, 3, start)
    return a, c


def test_writers_that_take_turns_are_told_apart_in_parts_too(shared, request):
    node, brief = shared
    log, last = Copy(node), 12 * 103 + 7 + 6
    one = node.verify()
    request.getfixturevalue("in_parts")
    assert node.verify() == one
    assert (one.ok, one.events, one.writers) == (True, last, 3)
    kept = log.rows()
    # The border of every part, on both sides of it, and the records of the writer that is seldom there.
    borders = [last * cut // 12 + near for cut in range(12) for near in (0, 1)]
    for position in (*borders[1:], 110, 111, last):
        log.run("DELETE FROM events WHERE position = ?", position)
        found = node.verify().broken
        writer = kept[position - 1][1]
        after = next((row[0] for row in kept[position:] if row[1] == writer), None)
        assert found is not None, position
        assert found.position in (position, position + 1, after), (position, found)
        names = ", ".join(ALL)
        log.run(f"INSERT INTO events ({names}) VALUES ({', '.join('?' * len(ALL))})", *kept[position - 1])
    assert node.verify().ok
    log.run("DELETE FROM checkpoints WHERE writer = ?", brief.log.writer)
    log.run("DELETE FROM heads WHERE writer = ?", brief.log.writer)
    assert node.verify().broken.what == "the writer of this record has no head"


@pytest.mark.usefixtures("in_parts")
def test_a_log_whose_positions_are_far_apart_is_followed_in_parts_that_may_be_empty(long):
    log = Copy(long)
    log.run("UPDATE events SET position = 1000000000000 WHERE position = 2999")
    assert long.verify().broken.position == 3000
    log.run("DELETE FROM events WHERE position > 5")
    assert not long.verify().ok


UNGUARDED = """
import sys
from assent.audit.verify import log as verify
from assent.store.address import read_address
verify.LONG_LOG = 1000
verify.os.cpu_count = lambda: 2
report = verify.verify_log(read_address(None, home=sys.argv[1]), home=sys.argv[1])
assert (report.ok, report.events) == (True, 3000), report
print("whole")
"""


def test_a_program_that_verifies_a_long_log_is_not_run_again_by_the_processes_that_help(tmp_path, long):
    program = tmp_path / "program.py"
    program.write_text(UNGUARDED)
    done = subprocess.run([sys.executable, program, long.home], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("whole\n", "")


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("ending", ["exec true", "exec sleep 0.6", "exec head -c 10"])
def test_a_part_that_nobody_checked_is_not_taken_for_whole(tmp_path, long, monkeypatch, ending):
    wrapper = tmp_path / "python"
    wrapper.write_text(f"#!/bin/sh\n{ending}\n")
    wrapper.chmod(0o755)
    monkeypatch.setattr(segments.sys, "executable", str(wrapper))
    write = segments._have_checked
    monkeypatch.setattr(segments, "_have_checked", lambda process, *more: time.sleep(0.3) or write(process, *more))
    with pytest.raises(StoreError, match="ended early"):
        verify_log(long.store.address, home=long.home)


@pytest.mark.usefixtures("in_parts")
def test_what_stops_a_process_that_helps_is_told(long, monkeypatch):
    Copy(long).run("UPDATE events SET text = CAST(x'ff' AS TEXT) WHERE position = 3000")
    # Slow enough here that the others come to do something.
    monkeypatch.setattr(segments, "check_part", lambda *_: time.sleep(1) or SegmentResult())
    with pytest.raises(StoreError, match=r"cannot be read: .*UTF-8"):
        verify_log(long.store.address, home=long.home)
