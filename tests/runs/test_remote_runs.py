"""A run of another daemon, heard of here by the log: nothing of it is lost, whenever one comes."""

from __future__ import annotations

import asyncio
import json

import msgspec
import pytest

from assent.config.settings import ServerSettings
from assent.model import Session, State, StoreError
from assent.model.principal import Principal, Role
from assent.runs import remote_runs, run_lookup
from assent.runs.protocol.client_messages import PrepareRun
from assent.runs.records import RunRecord, Status, insert_run, status_event, update_run
from assent.runs.remote_runs import find_question
from assent.server.bootstrap import assemble
from assent.server.operator_log import Journal

PERSON = Principal(role=Role.ADMIN, user="me")
RUN = RunRecord(id="r", user="me", node="other", strategy="s", path="/s", cwd="/x", created_at=1.0)


class Listener:
    """Hears what is told."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[dict] = asyncio.Queue()

    def push(self, message: str) -> bool:
        self.heard.put_nowait(json.loads(message))
        return True

    async def room(self) -> None:
        pass

    async def next(self) -> dict:
        return await asyncio.wait_for(self.heard.get(), 60)


@pytest.fixture
def daemon(tmp_path):
    settings = ServerSettings(notify_desktop=False, socket=False)
    with assemble(settings, str(tmp_path / "home"), port=1, journal=Journal("json", "error"), routes=()) as made:
        yield made


def play(daemon, scene):
    """Have a scene played while another daemon does a run."""

    async def whole():
        await daemon.start()
        try:
            await daemon.store.commit(lambda cursor: insert_run(cursor, RUN) and daemon.runs._lease.renew(cursor))
            await scene()
        finally:
            await daemon.stop()

    asyncio.run(whole())


async def begin(daemon, step):
    """Say, as its own daemon would, that a step begins."""
    await daemon.log.record((status_event(RUN, agent="a", step=step, tool="read_file"),))


async def give(daemon):
    """Say that somebody gave its program something."""
    await daemon.log.record((status_event(RUN, agent="a", by="me", given=3),))


async def end(daemon):
    ended = msgspec.structs.replace(RUN, status=Status.CANCELLED, ended_at=2.0, reason="stopped")

    def work(cursor):
        assert update_run(cursor, ended)
        daemon.log.append(cursor, (daemon.log.prepare(status_event(ended)),))

    await daemon.store.commit(work)


def test_one_that_ends_while_it_is_looked_up_is_told_as_over(daemon, monkeypatch):
    async def scene():
        real = run_lookup.read_back

        async def late(store, record):
            if record.is_active:
                await end(daemon)
            return await real(store, record)

        monkeypatch.setattr(run_lookup, "read_back", late)
        listener = Listener()
        await daemon.runs.subscribe("r", PERSON, listener)
        assert (await listener.next())["error"] == {"code": "CANCELLED", "message": "stopped"}

    play(daemon, scene)


def test_what_happens_between_its_story_and_the_listening_is_told(daemon):
    async def scene():
        await begin(daemon, "one")
        wish = PrepareRun(run_id="r", strategy_path="/anything.yaml")  # one that is in flight is attached to
        run = await daemon.runs.prepare(wish, PERSON)
        told = json.loads(msgspec.json.encode(run.introduce(None)))
        assert [record["stepName"] for record in told["conversation"]["messages"]] == ["one"]
        await give(daemon)
        await begin(daemon, "two")
        listener = Listener()
        await daemon.runs.listen(run, listener)
        assert (await listener.next())["stepName"] == "two"

    play(daemon, scene)


def test_a_store_that_fails_for_a_moment_costs_nothing_but_time(daemon, monkeypatch):
    async def scene():
        real, failing = remote_runs.follow, [True]

        async def failing_follow(*arguments):
            async for records in real(*arguments):
                yield records
                if failing:
                    failing.pop()
                    raise StoreError("gone for a moment")

        monkeypatch.setattr(remote_runs, "follow", failing_follow)
        monkeypatch.setattr(remote_runs, "_RETRY_SECONDS", 0.01)
        listener = Listener()
        await daemon.runs.subscribe("r", PERSON, listener)
        for step in ("one", "two"):
            await begin(daemon, step)
            assert (await listener.next())["stepName"] == step
        await end(daemon)
        assert (await listener.next())["type"] == "strategy_error"

    play(daemon, scene)


@pytest.mark.parametrize("is_run", [True, False])
def test_what_an_agent_asks_in_a_session_by_the_runs_name_is_no_question_of_the_run(daemon, monkeypatch, is_run):
    session = Session(id="r", user="me", agent="a", run=is_run)
    found = type("Asked", (), {"state": State.PENDING, "session": session})()

    async def rows(*_):
        return [()]

    async def scene():
        monkeypatch.setattr(remote_runs, "read_approval", lambda _: found)
        monkeypatch.setattr(daemon.store, "query", rows)
        assert (await find_question(daemon.store, "r", "q") is found) == is_run

    play(daemon, scene)
