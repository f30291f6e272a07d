"""What became of calls reaches the daemon, also if it was away; what does not is said aloud."""

from __future__ import annotations

import asyncio
import logging
import sqlite3

import pytest

from assent import create_agent_app, define_tool
from assent.sdk.client.clients import ApiError, AsyncClient, Client, UnreachableError
from assent.sdk.client.outbox import Outbox
from assent.sdk.client.unsent_reports import Backlog
from daemons import Running, until
from keeping import soon


class Daemon:
    """Takes reports as it is told to, and remembers them."""

    def __init__(self) -> None:
        self.taken: list = []
        self.fault: Exception | None = None
        self.bad: bytes | None = None

    def report_events(self, session, events, cwd=None, again=None):
        if self.fault is not None:
            raise self.fault
        if self.bad is not None and any(self.bad in bytes(e) for e in events if not isinstance(e, dict)):
            raise ApiError(400, "no")
        self.taken += [(session, e["summary"] if isinstance(e, dict) else bytes(e)) for e in events]


def test_what_a_daemon_that_is_away_did_not_take_is_told_by_the_next_program_once(tmp_path, monkeypatch):
    with Running(tmp_path) as daemon:
        token = daemon.mint("agent", agent="coder")
        url = daemon.url
        daemon.stop()
        monkeypatch.setenv("ASSENT_HOME", str(tmp_path / "program"))
        with create_agent_app(url=url, token=token) as app:
            assert app.run_tool("nothing", {}, session_id="late").is_error
        backlog = Backlog(url, token)
        assert backlog.names()
        daemon.start()
        with create_agent_app(url=url, token=token):
            until(lambda: not backlog.names())
        events = daemon.api(daemon.owner).get("/api/audit?session=late").json()["events"]
        assert [e["type"] for e in events] == ["tool.failed"]
        assert events[0]["body"]["payload"]["happenedAt"]


def test_what_is_told_again_because_the_answer_was_lost_is_written_down_once(tmp_path, monkeypatch):
    def lose_the_answer(self, ask):
        given = send(self, ask)
        if ask.path.endswith("report_events"):
            asked.append(ask.body)
            if len(asked) <= 2:
                raise UnreachableError("cut off")
        return given

    send, asked = Client.send, []
    with Running(tmp_path) as daemon:
        monkeypatch.setenv("ASSENT_HOME", str(tmp_path / "program"))
        monkeypatch.setattr(Client, "send", lose_the_answer)
        with create_agent_app(url=daemon.url, token=daemon.mint("agent", agent="coder")) as app:
            assert app.run_tool("nothing", {}, session_id="twice").is_error
            until(lambda: len(asked) == 3)
            assert app.run_tool("nothing", {}, session_id="twice").is_error
        events = daemon.api(daemon.owner).get("/api/audit?session=twice").json()["events"]
        assert [e["type"] for e in events] == ["tool.failed"] * 2


@pytest.mark.parametrize("lost", [True, False], ids=["its answer was lost", "its asker went away"])
def test_a_call_that_was_let_run_and_did_not_is_on_record_as_just_that(tmp_path, monkeypatch, lost):
    async def lose_the_answer(self, ask):
        given = await send(self, ask)
        if lost:
            raise UnreachableError("cut off")
        answered.append(given)
        await asyncio.sleep(60)
        return given

    async def call(app):
        calling = asyncio.create_task(app.call_tool("look", {}, session_id="lost"))
        await soon(lambda: calling.done() if lost else answered)
        calling.cancel()
        return await asyncio.gather(calling, return_exceptions=True)

    send, ran, answered = AsyncClient.send, [], []
    look = define_tool(name="look", parameters={}, execute=ran.append)
    running = Running(tmp_path)
    running.user_file.write_text("permissions: {allow: [look]}")
    with running as daemon:
        monkeypatch.setenv("ASSENT_HOME", str(tmp_path / "program"))
        monkeypatch.setattr(AsyncClient, "send", lose_the_answer)
        with create_agent_app(url=daemon.url, token=daemon.mint("agent", agent="coder"), tools=[look]) as app:
            asyncio.run(call(app))
        events = daemon.api(daemon.owner).get("/api/audit?session=lost").json()["events"]
    kinds = [e["type"] for e in reversed(events)]
    assert (kinds, ran) == (["permission.evaluated", "sandbox.applied", "tool.started", "tool.failed"], [])


def test_a_report_is_known_by_its_name_to_its_own_teller_and_whichever_comes_first(tmp_path):
    def tell(token, *names, again):
        events = [{"type": "runtime.warning", "summary": name, "reportId": name} for name in names]
        assert Client(url=daemon.url, token=token).report_events("s", events, again=again).recorded == len(names)

    def told():
        return [
            e["body"]["payload"]["summary"]
            for e in daemon.api(daemon.owner).get("/api/audit?session=s").json()["events"]
        ]

    with Running(tmp_path) as daemon:
        one, other = (daemon.mint("agent", agent=name) for name in ("one", "other"))
        tell(one, "report-1", "report-2", again=True)
        tell(one, "report-1", again=False)
        tell(one, "report-2", "report-3", "report-3", again=True)
        tell(other, "report-1", again=True)
        daemon.stop()
        daemon.start()
        tell(one, "report-3", again=True)
        assert sorted(told()) == ["report-1", "report-1", "report-2", "report-3"]


def test_a_report_that_is_told_again_after_its_name_was_forgotten_is_written_down_once(tmp_path):
    with Running(tmp_path) as daemon:
        token, other = (daemon.mint("agent", agent=name) for name in ("one", "other"))

        def tell(by, *names, session="s"):
            events = [{"type": "runtime.warning", "summary": name, "reportId": name} for name in names]
            Client(url=daemon.url, token=by).report_events(session, events, again=True)

        tell(token, "report-1")
        tell(token, "report-2", session="other")
        daemon.stop()
        with sqlite3.connect(next(daemon.state.glob("*.db"))) as store:
            store.execute("INSERT INTO changes (origin, topic, ref) VALUES ('', 'nothing', '')")
            store.execute("DELETE FROM changes WHERE id < (SELECT max(id) FROM changes)")
        daemon.start()
        tell(token, "report-1", "report-2", "report-3")
        tell(other, "report-1")
        events = daemon.api(daemon.owner).get("/api/audit?session=s").json()["events"]
        told = sorted((e["body"]["payload"]["agent"], e["body"]["payload"]["summary"]) for e in events)
        assert told == [("one", "report-1"), ("one", "report-2"), ("one", "report-3"), ("other", "report-1")]


def test_what_is_refused_for_good_is_lost_aloud_and_takes_nothing_with_it(tmp_path, caplog):
    daemon = Daemon()
    daemon.bad = b"bad"
    outbox = Outbox(daemon, Backlog("u", "t", str(tmp_path)))
    with caplog.at_level(logging.ERROR):
        for name in ("one", "bad", "two"):
            outbox.put("s", None, {"type": name})
        until(lambda: any(b"two" in bytes(what) for _, what in daemon.taken if not isinstance(what, str)))
    assert "LOST: 1" in caplog.text
    outbox.put("s", None, {"type": "three"})
    until(lambda: len(daemon.taken) == 4)
    outbox.close()
    assert "1 reports of this program were lost" in [what for _, what in daemon.taken]


def test_without_a_place_to_keep_them_reports_wait_in_memory_and_are_lost_aloud_at_the_end(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    daemon = Daemon()
    daemon.fault = UnreachableError("away")
    outbox = Outbox(daemon, Backlog("u", "t", str(tmp_path / "file")))
    with caplog.at_level(logging.WARNING):
        outbox.put("s", None, {"type": "one"})
        until(lambda: "did not take" in caplog.text)
        outbox.close()
    assert daemon.taken == []
    assert "LOST: 1" in caplog.text
