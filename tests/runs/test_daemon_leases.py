"""Leases: a daemon that is heard of keeps its runs, and one that is not loses them, once, to whoever looks first."""

from __future__ import annotations

import pytest

from assent.audit.log import Log
from assent.decisions.grants.active_grants import check_run
from assent.model import NotFoundError, Session
from assent.runs.context import RunContext
from assent.runs.crash_recovery import MOST_AT_ONCE, SILENT, end_runs
from assent.runs.daemon_leases import Lease
from assent.runs.records import SELECT_RUNS, RunRecord, Status, insert_run, read_run, update_run
from assent.store.store import open_store
from daemons import until

SECONDS = 30.0


class Shared:
    """A store, its clock, and the leases of two daemons on it."""

    def __init__(self, home) -> None:
        self.now = 1000.0
        self.store = open_store(home=str(home), clock=lambda: self.now)
        self.ended = []
        self.log = Log(self.store, None)
        nothing = dict.fromkeys(("decisions", "engines", "facts", "threads", "report", "lend_token"))
        context = RunContext(
            store=self.store, log=self.log, environ={}, end_tokens=lambda _, run: self.ended.append(run), **nothing
        )
        self.context = context
        self.one, self.two = Lease(context, "one", SECONDS), Lease(context, "two", SECONDS)

    def write(self, work):
        return self.store.write(work).result(30)

    def begin(self, lease, node, run="r"):
        record = RunRecord(id=run, user="u", node=node, strategy="s", path="/s", cwd="/", created_at=self.now)

        def work(cursor):
            lease.renew(cursor)
            insert_run(cursor, record)

        self.write(work)
        return record

    def beat(self, lease, *here):
        return self.write(lambda cursor: lease.beat(cursor, here))

    def found(self, run="r"):
        return read_run(self.store.fetch(SELECT_RUNS + " WHERE id = :id", {"id": run})[0])


@pytest.fixture
def shared(tmp_path):
    made = Shared(tmp_path / "home")
    yield made
    made.store.close()


def test_a_run_lives_for_as_long_as_its_daemon_speaks_up(shared):
    shared.begin(shared.one, "one")
    for _ in range(10):
        shared.now += SECONDS - 1
        assert shared.beat(shared.one, "r") == set()
        assert shared.beat(shared.two) == set()
    assert shared.found().status is Status.PENDING


def test_a_run_of_a_silent_daemon_is_ended_once_and_it_finds_that_out(shared):
    shared.begin(shared.one, "one")
    shared.begin(shared.two, "two", "other")
    shared.now += SECONDS
    assert shared.beat(shared.two, "other") == set()
    assert shared.beat(shared.two, "other") == set()
    found = shared.found()
    assert (found.status, found.reason, found.ended_at) == (Status.ERROR, SILENT, shared.now)
    assert shared.ended == ["r"]
    assert shared.found("other").status is Status.PENDING
    assert shared.beat(shared.one, "r") == {"r"}


def test_many_runs_are_ended_a_few_at_a_time_so_that_others_can_write(shared):
    for number in range(2 * MOST_AT_ONCE + 1):
        shared.begin(shared.one, "one", f"r{number}")
    shared.now += SECONDS
    counts = []
    for _ in range(3):
        shared.beat(shared.two)
        counts.append(len(shared.ended))
    assert counts == [MOST_AT_ONCE, 2 * MOST_AT_ONCE, 2 * MOST_AT_ONCE + 1]


def test_all_of_them_are_ended_without_another_beat(shared):
    for number in range(MOST_AT_ONCE + 1):
        shared.begin(shared.one, "one", f"r{number}")
    shared.now += SECONDS
    beats = []
    shared.store.every = lambda _seconds, _needed, work: beats.append(work)
    shared.two.keep(lambda: ((), {}), lambda *_: None)
    shared.write(beats[0])
    until(lambda: len(shared.ended) == MOST_AT_ONCE + 1)


def test_one_that_was_away_and_comes_back_first_keeps_its_runs(shared):
    shared.begin(shared.one, "one")
    shared.now += 10 * SECONDS
    assert shared.beat(shared.one, "r") == set()
    assert shared.beat(shared.two) == set()
    assert shared.found().status is Status.PENDING


def test_nothing_begins_in_a_run_that_was_ended_and_its_end_stays_as_it_is(shared):
    record = shared.begin(shared.one, "one")
    session = Session(id="r", user="u", agent="a", run=True)
    shared.write(lambda cursor: check_run(cursor, session))
    shared.now += SECONDS
    shared.beat(shared.two)
    with pytest.raises(NotFoundError, match="run `r` is over"):
        shared.write(lambda cursor: check_run(cursor, session))
    late = RunRecord(**{f: getattr(record, f) for f in record.__struct_fields__} | {"status": Status.COMPLETED})
    assert shared.write(lambda cursor: update_run(cursor, late)) is False
    shared.write(lambda cursor: end_runs(cursor, shared.context, {"r": late}))
    assert shared.found().status is Status.ERROR


def test_a_daemon_without_runs_writes_nothing(shared):
    shared.beat(shared.one)
    assert shared.store.fetch("SELECT count(*) FROM nodes") == [(0,)]


def test_a_second_run_of_an_id_is_not_written(shared):
    first = shared.begin(shared.one, "one")
    assert shared.write(lambda cursor: insert_run(cursor, first)) is False
