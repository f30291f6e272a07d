"""P8, against whoever can write the database, or the database and the anchors, and has not the key.

Every manipulation is made as well as it can be without the key: all records are hashed again, the head is moved, the
seals that do not fit are taken away, and the anchors with them. Each is found, also after a daemon went on with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assent.audit.chain import COLUMNS, genesis, hash_row, seal_bytes
from assent.audit.log import Log as Chain
from assent.audit.seals import peer_keys
from assent.audit.seals.anchors import anchor_file
from assent.audit.seals.last_seal import mark_file
from assent.audit.seals.node_keys import load_node
from assent.audit.seals.peer_keys import neighbour_file
from assent.audit.seals.seal import COLUMNS as SEAL
from assent.audit.seals.seal import make_seal, no_seal
from assent.audit.verify import seals as seal_check
from assent.audit.verify.log import verify_log
from assent.model import Event, StoreError
from assent.store.store import open_store
from daemons import until
from keeping import Node
from logcopy import Copy, settle, small, write

TEXT = COLUMNS.index("text")


class State:
    """The log's tables as lists."""

    def __init__(self, copy):
        self.copy = copy
        self.rows = [tuple(row) for row in copy.rows()]
        self.seals = [tuple(row) for row in copy.run(f"SELECT {', '.join(SEAL)} FROM checkpoints ORDER BY seq")]
        self.anchors = Path(anchor_file(copy.home)).read_bytes().splitlines(keepends=True)
        self.key = copy.run("SELECT key FROM heads")[0][0]
        self.writer = self.rows[0][1]

    def rehash(self):
        """Number and chain the records anew, and drop the seals that do not fit any more."""
        head, rows = genesis(self.writer), []
        for number, row in enumerate(self.rows, 1):
            columns = (number, self.writer, number, *row[3:-1])
            head = hash_row(head, columns)
            rows.append((*columns, head))
        self.rows = rows
        ends = {row[2]: row[-1] for row in rows} | {0: genesis(self.writer)}
        self.seals = [seal for seal in self.seals if ends.get(seal[1]) == bytes(seal[3])]

    def fit_anchors(self):
        kept = {bytes(seal[5]).hex() for seal in self.seals}
        self.anchors = [line for line in self.anchors if json.loads(line)["signature"] in kept]

    def put(self, *, anchors):
        self.copy.replace(self.rows)
        self.copy.run("DELETE FROM checkpoints")
        for seal in self.seals:
            names = f"({', '.join(SEAL)}) VALUES ({', '.join('?' * len(SEAL))})"
            self.copy.run(f"INSERT INTO checkpoints {names}", *seal)
        seq, head = (self.rows[-1][2], self.rows[-1][-1]) if self.rows else (0, genesis(self.writer))
        self.copy.run("UPDATE heads SET seq = ?, hash = ?, key = ?", seq, head, self.key)
        if anchors:
            Path(anchor_file(self.copy.home)).write_bytes(b"".join(self.anchors))


def forged(row, text="forged"):
    return (*row[:TEXT], text, *row[TEXT + 1 :])


def drop(state):
    del state.rows[5]


def edit(state):
    state.rows[5] = forged(state.rows[5])


def edit_the_first(state):
    state.rows[0] = forged(state.rows[0])


def reorder(state):
    state.rows[5], state.rows[6] = state.rows[6], state.rows[5]


def double(state):
    state.rows.insert(7, state.rows[5])


def truncate(state):
    del state.rows[6:]


def truncate_to_a_seal(state):
    del state.rows[8:]


def fork(state):
    state.rows[8:] = [forged(row) for row in state.rows[8:]]


def splice(state):
    state.rows[4:6] = [forged(row, "of another log") for row in state.rows[9:11]]


def forget_everything(state):
    state.rows = []


def delete_all_seals(state):
    state.seals = []


def delete_all_seals_and_edit(state):
    edit(state)
    state.seals = []


def delete_the_first_seal(state):
    del state.seals[0]


def delete_a_seal(state):
    del state.seals[2]


def delete_the_last_seal(state):
    del state.seals[-1]


def replay_a_seal(state):
    del state.seals[-1]
    last = state.seals[-1]
    state.seals.append((last[0], 12, 12, state.rows[-1][-1], *last[4:]))


def seal_as_earlier_versions_did(state):
    """Without the key, an old signature is all there is."""
    state.seals = [(*seal[:6], None, None) for seal in state.seals]


def swap_the_key(state):
    """Sign everything with a key pair of one's own."""
    edit(state)
    state.rehash()
    node = load_node(str(Path(state.copy.home).parent / "stranger"))
    node = type(node)(state.writer, node.salt, node.private_key)
    state.key, last, seals = node.public_key, no_seal(state.writer, node.public_key), []
    ends = {row[2]: (row[0], row[-1]) for row in state.rows} | {0: (0, genesis(state.writer))}
    for seq in (0, 4, 8, 12):
        position, head = ends[seq]
        seal = make_seal(node, last, seq=seq, position=position, head=head, at=state.rows[0][3])
        last = last.add(seal)
        seals.append(seal.row)
    state.seals = seals
    anchors = [
        {"writer": s[0], "seq": s[1], "position": s[2], "hash": s[3].hex(), "at": s[4], "signature": s[5].hex()}
        | {"number": s[6], "key": node.public_key.hex()}
        for s in seals
    ]
    state.anchors = [json.dumps(anchor).encode() + b"\n" for anchor in anchors]


RECORDS = (drop, edit, edit_the_first, reorder, double, truncate, truncate_to_a_seal, fork, splice, forget_everything)
SEALS = (
    delete_all_seals,
    delete_all_seals_and_edit,
    delete_the_first_seal,
    delete_a_seal,
    delete_the_last_seal,
    replay_a_seal,
    seal_as_earlier_versions_did,
    swap_the_key,
)


@pytest.fixture
def log(tmp_path, url):
    """A log of twelve records, sealed at the beginning and after each four of them."""
    with Node(tmp_path / "home", url) as node:
        for start in (0, 4, 8):
            write(node, 4, start)
            node.log.close()
    return Copy(node)


def go_on(log, url):
    """Let a daemon open the log, write to it and stop."""
    with contextlib.suppress(StoreError), Node(log.home, url) as node:
        write(node, 3, 100)


@pytest.mark.parametrize("later", ["at once", "after a daemon went on"])
@pytest.mark.parametrize("holds", ["database", "database and anchors"])
@pytest.mark.parametrize("manipulate", [*RECORDS, *SEALS], ids=lambda m: m.__name__)
def test_whoever_has_not_the_key_is_found(log, url, manipulate, holds, later):
    assert log.verify().state == "whole"
    state = State(log)
    manipulate(state)
    if manipulate in RECORDS:
        state.rehash()
    if holds == "database and anchors" and manipulate is not swap_the_key:
        state.fit_anchors()
    state.put(anchors=holds == "database and anchors")
    if later == "after a daemon went on":
        go_on(log, url)
    report = log.verify()
    assert not report.ok
    assert report.state == "broken", report


@pytest.mark.parametrize("with_seals", [False, True])
def test_anchors_that_are_gone_are_found_with_and_without_their_seals(log, with_seals):
    state = State(log)
    state.anchors = []
    state.seals = [] if with_seals else state.seals
    state.put(anchors=True)
    assert log.verify().state == "broken"
    Path(anchor_file(log.home)).unlink()
    assert log.verify().state == "broken"


def test_one_anchor_without_its_seal_and_one_seal_without_its_anchor_are_found(log):
    path = Path(anchor_file(log.home))
    lines = path.read_bytes().splitlines(keepends=True)
    for index in range(len(lines)):
        path.write_bytes(b"".join(lines[:index] + lines[index + 1 :]))
        assert log.verify().broken.what == "the anchor of this seal is missing"
    strange = json.loads(lines[2]) | {"seq": 6, "position": 6}
    path.write_bytes(b"".join([*lines[:2], json.dumps(strange).encode() + b"\n", *lines[2:]]))
    assert log.verify().broken.what == "the seal of this anchor is missing"


def test_an_older_copy_of_the_whole_database_is_found(tmp_path):
    with Node(tmp_path / "home") as node:
        write(node, 4)
    database, anchors = Path(node.store.address.path), Path(anchor_file(node.home))
    older = [path.read_bytes() for path in (database, anchors)]
    with Node(tmp_path / "home") as node:
        write(node, 4)
    database.write_bytes(older[0])
    assert "cut off" in node.verify().broken.what
    anchors.write_bytes(older[1])
    assert "cut off before the last seal that this installation made" in node.verify().broken.what
    go_on(Copy(node), None)
    assert node.verify().state == "broken"


def test_a_database_that_was_replaced_by_a_new_one_is_found(tmp_path):
    with Node(tmp_path / "home") as node:
        write(node, 4)
    Path(node.store.address.path).unlink()
    Path(anchor_file(node.home)).unlink()
    go_on(Copy(node), None)
    assert node.verify().state == "broken"


def test_who_holds_everything_is_found_by_a_copy_of_the_anchors_or_by_the_key_kept_elsewhere(tmp_path):
    """Database, anchors, key and mark: then only what is elsewhere tells."""
    with Node(tmp_path / "home") as node:
        write(node, 4)
        key = node.log.public_key.hex()
    copy = tmp_path / "anchors.copy"
    shutil.copy(anchor_file(node.home), copy)
    name = Path(node.home, "node").read_bytes()
    shutil.rmtree(node.home)
    Path(node.home).mkdir(mode=0o700)
    Path(node.home, "node").write_bytes(name)
    Path(node.home, "node").chmod(0o600)
    with Node(tmp_path / "home") as node:
        write(node, 4)
    assert node.verify().state == "whole"
    assert not verify_log(node.store.address, home=node.home, copies=(str(copy),)).ok
    assert "is none that was given" in verify_log(node.store.address, home=node.home, keys=(key,)).broken.what


def test_elsewhere_a_log_is_proven_by_a_key_that_is_known_and_by_nothing_else(log, tmp_path):
    elsewhere = str(tmp_path / "elsewhere")
    key = log.run("SELECT key FROM heads")[0][0].hex()
    report = verify_log(log.address, home=elsewhere)
    assert (report.ok, report.state, len(report.unknown)) == (False, "unproven", 1)
    assert verify_log(log.address, home=elsewhere, keys=(key,)).state == "whole"
    assert verify_log(log.address, home=elsewhere, copies=(anchor_file(log.home),)).state == "whole"
    broken = verify_log(log.address, home=elsewhere, keys=("00" * 32,)).broken
    assert "is none that was given" in broken.what


def test_elsewhere_missing_seals_are_found_by_their_count(log, tmp_path):
    key = log.run("SELECT key FROM heads")[0][0].hex()
    for seq, what in ((0, "missing"), (4, "missing"), (8, "missing")):
        state = State(log)
        log.run("DELETE FROM checkpoints WHERE seq = ?", seq)
        assert what in verify_log(log.address, home=str(tmp_path / "elsewhere"), keys=(key,)).broken.what
        state.put(anchors=False)
    log.run("DELETE FROM checkpoints")
    assert verify_log(log.address, home=str(tmp_path / "elsewhere"), keys=(key,)).state == "unproven"


def test_records_that_were_never_sealed_though_it_was_time_are_found(tmp_path):
    """Who has neither mark nor anchors finds them too."""
    clock = [1000.0]
    with Node(tmp_path / "home", clock=lambda: clock[0]) as node:
        for _ in range(6):
            write(node, 1)
            clock[0] += 100
        settle(node)
        key = node.log.public_key.hex()
    log = Copy(node)
    elsewhere = {"home": str(tmp_path / "elsewhere"), "keys": (key,)}
    assert verify_log(log.address, **elsewhere).ok
    log.run("DELETE FROM checkpoints WHERE seq > 1")
    assert "seconds after this one have no seal" in verify_log(log.address, **elsewhere).broken.what


def test_too_many_records_without_a_seal_are_found(tmp_path):
    with Node(tmp_path / "home") as node:
        write(node, 2500)
        key = node.log.public_key.hex()
    log = Copy(node)
    log.run("DELETE FROM checkpoints WHERE seq > 0")
    report = verify_log(log.address, home=str(tmp_path / "elsewhere"), keys=(key,))
    assert report.broken.what == "2,500 records after this one have no seal"


def test_a_writer_whose_records_were_all_taken_away_leaves_a_gap(tmp_path, postgres):
    url = postgres.new_database()
    with Node(tmp_path / "a", url) as a, Node(tmp_path / "b", url) as b:
        write(a, 2)
        write(b, 2)
        write(a, 2)
    for table in ("events", "checkpoints", "heads"):
        Copy(a).run(f"DELETE FROM {table} WHERE writer = ?", b.log.writer)
    assert a.verify().broken.what == "records of another writer before this one are missing"
    assert b.verify().state == "broken"


def add_a_writer(log):
    """Begin a chain in the database with a key of one's own, as every new node does, and say something with it."""
    with open_store(log.address.conninfo or None, home=log.home) as store:
        chain = Chain(store, None)
        asyncio.run(chain.record([small("added"), small("added")]))
        chain.close()
        return chain.writer, chain.public_key.hex()


def test_a_writer_that_somebody_added_is_not_proven(log):
    own = log.run("SELECT key FROM heads")[0][0].hex()
    writer, key = add_a_writer(log)
    report = log.verify()
    assert (report.ok, report.state, report.unknown, report.first_seen) == (False, "unproven", (writer,), ())
    assert "is none that was given" in verify_log(log.address, home=log.home, keys=(own,)).broken.what
    assert verify_log(log.address, home=log.home, keys=(own, key)).state == "whole"


def test_a_daemon_that_believes_an_added_writer_says_so_in_its_own_chain(log, url, caplog):
    writer, key = add_a_writer(log)
    for _ in range(2):
        with Node(log.home, url) as node:
            write(node, 1)
            told = node.store.fetch("SELECT writer, text FROM events WHERE type = 'runtime.warning'")
        reason = f"writer {writer} is new in this log: its key {key} is known from the database only"
        assert told == [(node.log.writer, reason)]
    assert [record.getMessage() for record in caplog.records] == [f"{reason}, and is believed from now on"]
    report = log.verify()
    assert (report.state, report.unknown, report.first_seen) == ("whole", (), (writer,))
    Path(neighbour_file(log.home)).unlink()
    assert log.verify().state == "unproven"


def test_a_writer_that_was_added_while_a_daemon_runs_is_told_before_its_key_is_kept(log, url, monkeypatch):
    monkeypatch.setattr("assent.audit.log.LOOK_SECONDS", 0.05)
    kept = []
    monkeypatch.setattr(peer_keys, "write_private", lambda _, data: kept.append((data, node.events("runtime.warning"))))
    with Node(log.home, url) as node:
        writer, key = add_a_writer(log)
        until(lambda: kept)
        ((data, told),) = kept
    assert json.loads(data) == {writer: key}
    assert len(told) == 1


def test_a_key_that_cannot_be_kept_is_told_once_and_stays_unproven(log, url, monkeypatch, caplog):
    monkeypatch.setattr("assent.audit.log.LOOK_SECONDS", 0.05)
    writer, _ = add_a_writer(log)
    Path(neighbour_file(log.home)).unlink(missing_ok=True)

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(peer_keys, "write_private", fail)
    with Node(log.home, url) as node:
        time.sleep(0.3)
        assert len(node.events("runtime.warning")) == 1
    assert "could not be kept" in caplog.text
    assert log.verify().unknown == (writer,)


def test_a_writer_that_wrote_nothing_needs_no_proof(log):
    with open_store(log.address.conninfo or None, home=log.home) as store:
        Chain(store, None)
    assert log.verify().state == "whole"


# What is honest verifies.


def test_a_log_is_whole_just_after_its_start_while_it_runs_and_after_it_stopped(tmp_path, url):
    with Node(tmp_path / "home", url) as node:
        assert node.verify().state == "whole"
        write(node, 3)
        assert node.verify().state == "whole"
        node.log.close()
        assert node.verify().state == "whole"
        write(node, 3)
    assert node.verify().state == "whole"


KILLED = """
import asyncio, os, signal, sys
sys.path.insert(0, {tests!r})
from keeping import Node
from logcopy import write
node = Node({home!r})
for count in {counts!r}:
    write(node, count)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("counts", [[], [1], [999], [1000], [1, 999, 2], [2500]])
def test_a_log_is_whole_after_its_process_was_killed_and_after_the_next_one(tmp_path, counts):
    code = KILLED.format(tests=str(Path(__file__).parents[1]), home=str(tmp_path / "home"), counts=counts)
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert Log(tmp_path).verify().state == "whole"
    with Node(tmp_path / "home") as node:
        assert node.verify().state == "whole"


class Log:
    def __init__(self, folder):
        from assent.store.address import read_address

        self.home = str(folder / "home")
        self.address = read_address(None, home=self.home)

    def verify(self):
        return verify_log(self.address, home=self.home)


@pytest.mark.parametrize("lost", ["mark", "both"])
def test_a_crash_between_a_seal_and_its_anchor_or_mark_is_made_up_for(tmp_path, lost):
    with Node(tmp_path / "home") as node:
        write(node, 3)
        node.log.close()
        kept = Path(mark_file(node.home)).read_bytes(), Path(anchor_file(node.home)).read_bytes()
        write(node, 3)
    Path(mark_file(node.home)).write_bytes(kept[0])
    if lost == "both":
        Path(anchor_file(node.home)).write_bytes(kept[1])
    assert node.verify().ok
    with Node(tmp_path / "home") as again:
        assert again.verify().state == "whole"
        assert again.log.fault is None
    assert again.verify().anchors == again.verify().checkpoints


def make_earlier(node, seals):
    """Make of a log what an earlier version would have left: seals without numbers, and neither mark nor keys."""
    log, own = Copy(node), load_node(node.home)
    ends = {row[2]: (row[0], bytes(row[-1])) for row in log.rows()}
    writer = log.run("SELECT writer FROM heads")[0][0]
    log.run("DELETE FROM checkpoints")
    lines = []
    for seq in seals:
        position, head = ends[seq]
        signature = own.sign(seal_bytes(writer, seq, position, head, 1.5))
        log.run(
            "INSERT INTO checkpoints (writer, seq, position, hash, at, signature) VALUES (?, ?, ?, ?, ?, ?)",
            *(writer, seq, position, head, 1.5, signature),
        )
        told = {"writer": writer, "seq": seq, "position": position, "hash": head.hex()}
        lines.append(json.dumps(told | {"at": 1.5, "signature": signature.hex()}).encode() + b"\n")
    Path(anchor_file(node.home)).write_bytes(b"".join(lines))
    Path(mark_file(node.home)).unlink()
    return log


@pytest.mark.parametrize("seals", [[], [2], [4], [2, 3, 4]])
def test_a_log_of_an_earlier_version_verifies_and_goes_on(tmp_path, url, seals):
    with Node(tmp_path / "home", url) as node:
        write(node, 4)
    log = make_earlier(node, seals)
    before = log.rows()
    assert log.verify().state == ("whole" if seals else "unproven")
    for _ in range(2):
        with Node(tmp_path / "home", url) as node:
            assert node.log.fault is None
            write(node, 2)
        assert log.verify().state == "whole"
    assert log.rows()[:4] == before
    for seq in seals:
        state = State(log)
        state.seals = [seal for seal in state.seals if seal[1] != seq]
        state.fit_anchors()
        state.put(anchors=True)
        assert log.verify().state == "broken"
        log.run("DELETE FROM checkpoints")


def test_a_log_that_no_process_of_this_version_opened_can_be_verified(tmp_path, url):
    with Node(tmp_path / "home", url) as node:
        write(node, 4)
    log = make_earlier(node, [2, 4])
    for column in ("number", "previous"):
        log.run(f"ALTER TABLE checkpoints DROP COLUMN {column}")
    assert log.verify().state == "whole"
    log.run("DELETE FROM checkpoints")
    assert log.verify().state == "broken"
    Path(anchor_file(node.home)).unlink()
    assert log.verify().state == "unproven"


def test_seals_of_an_earlier_version_bind_from_the_first_seal_of_this_one(tmp_path):
    with Node(tmp_path / "home") as node:
        write(node, 4)
    log = make_earlier(node, [2, 4])
    with Node(tmp_path / "home") as node:
        write(node, 2)
    log.run("DELETE FROM checkpoints WHERE seq = 2")
    assert log.verify().state == "broken"


def test_processes_of_one_installation_take_over_from_each_other(tmp_path, url):
    with Node(tmp_path / "home", url) as ours, Node(tmp_path / "home", url) as theirs:
        for _ in range(4):
            write(ours, 2)
            write(theirs, 2)
        assert ours.log.fault is None
        assert theirs.log.fault is None
        assert ours.verify().state == "whole"
    assert ours.verify().state == "whole"


def test_a_daemon_does_not_seal_what_was_changed_under_it_and_says_so(tmp_path, url):
    with Node(tmp_path / "home", url) as node:
        write(node, 4)
        settle(node)
        state = State(Copy(node))
        edit_the_first(state)
        state.rehash()
        state.fit_anchors()
        state.put(anchors=True)
        write(node, 2)
        assert node.log.fault is not None
        node.log.close()
        told = [row[5] for row in node.events("runtime.error")]
    assert told == [f"the log is not sealed any more: {node.log.fault}"]
    assert node.verify().state == "broken"


def test_a_key_that_was_replaced_in_the_home_is_refused(tmp_path, url):
    with Node(tmp_path / "home", url) as node:
        write(node, 2)
    Path(node.home, "keys", "log.ed25519").unlink()
    with pytest.raises(StoreError, match="begun with the key"):
        Node(tmp_path / "home", url)
    load_node(node.home)
    assert "key of this installation was replaced" in node.verify().broken.what


def test_a_mark_that_cannot_be_read_is_an_error(log):
    path = Path(mark_file(log.home))
    path.write_bytes(b"{}")
    with pytest.raises(StoreError, match="the mark in"):
        log.verify()
    path.unlink()
    assert "the mark of the last seal" in log.verify().broken.what
    os.mkfifo(path)
    with pytest.raises(StoreError, match="not a regular file"):
        log.verify()


def test_anchors_that_stay_away_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(seal_check, "LATE_ANCHORS", 2)
    with Node(tmp_path / "home") as node:
        write(node, 1)
        node.log.close()
        settle(node)
        Path(anchor_file(node.home)).rename(tmp_path / "kept")
        Path(anchor_file(node.home)).mkdir()
        for _ in range(3):
            write(node, 1)
            node.log.close()
            settle(node)
        Path(anchor_file(node.home)).rmdir()
        (tmp_path / "kept").rename(anchor_file(node.home))
        assert node.verify().broken.what == "3 seals up to this one have no anchors"
        write(node, 1)
        node.log.close()
        settle(node)
        assert node.verify().state == "whole"


def test_anchors_written_by_several_processes_out_of_order_or_twice_are_fine(log):
    path = Path(anchor_file(log.home))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[1], lines[0], lines[0], lines[3], lines[2], lines[3]]))
    assert log.verify().state == "whole"


def test_a_log_kept_in_memory_seals_itself_too(tmp_path):
    from assent.store.memory import MemoryStore

    store = MemoryStore()
    log = Chain(store, None)
    event = Event(type="daemon.started", event_id="", timestamp="", session_id="s", sequence=0)
    asyncio.run(log.record([event]))
    log.close()
    assert store.fetch("SELECT seq, number FROM checkpoints ORDER BY seq") == [(0, 1), (1, 2)]
    store.close()


def test_a_store_that_another_home_wrote_is_left_in_peace(tmp_path):
    with open_store(home=str(tmp_path / "a")) as store:
        Chain(store, str(tmp_path / "a"))
        Chain(store, str(tmp_path / "b"))
        assert store.fetch("SELECT count(*) FROM heads") == [(2,)]
