"""A run that is stopped while a file of it is being written, on a disk that takes its time."""

from __future__ import annotations

import asyncio
import threading

import pytest

from assent.audit.search import Query, search
from assent.config.settings import ServerSettings
from assent.model.principal import Principal, Role
from assent.runs.protocol.client_messages import PrepareRun
from assent.runs.tools import files
from assent.server.bootstrap import assemble
from assent.server.operator_log import Journal
from keeping import soon
from runners import write_strategy

SECONDS = 30
PERSON = Principal(role=Role.ADMIN, user="me")


class SlowDisk:
    """Holds one function of the file layer up until it is told to go on."""

    def __init__(self, monkeypatch, where, name, held_up=()) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()
        real = getattr(where, name)

        def held(*arguments, **more):
            if name == "rename" and "dst_dir_fd" not in more:  # somebody else's
                return real(*arguments, **more)
            if isinstance(held_up, list):
                held_up.append(arguments)
            self.begun.set()
            assert self.go_on.wait(SECONDS)
            return real(*arguments, **more)

        monkeypatch.setattr(where, name, held)


async def stop_midway(daemon, strategy, folder, disk):
    """Stop a run once its write has begun; return the run's id."""
    await daemon.start()
    try:
        run = await daemon.runs.prepare(PrepareRun(strategy_path=str(strategy), cwd=str(folder)), PERSON)
        await daemon.runs.start(run.id, None, PERSON)
        assert await asyncio.to_thread(disk.begun.wait, SECONDS)
        stopping = asyncio.create_task(daemon.runs.stop(run.id, PERSON))
        done, _ = await asyncio.wait((stopping,), timeout=0.1)
        assert not done
        assert not run.is_over
        disk.go_on.set()
        await asyncio.wait_for(stopping, SECONDS)
        assert run.is_over
        return run.id
    finally:
        disk.go_on.set()
        await daemon.stop()


@pytest.mark.parametrize(
    ("held", "there", "told"),
    [
        ((files, "_write_new"), False, ("tool.failed", "cancelled: the run was stopped")),
        ((files.os, "rename"), True, ("tool.result", "it was done when the run was stopped")),
    ],
    ids=["before it is replaced", "as it is replaced"],
)
def test_a_write_is_done_and_on_record_as_done_or_is_not_once_the_run_is_over(tmp_path, monkeypatch, held, there, told):
    folder = (tmp_path / "project").resolve()
    folder.mkdir()
    strategy = write_strategy(tmp_path, "- {agent: a, tool: write_file, input: {path: x, content: new}}")
    settings = ServerSettings(notify_desktop=False, socket=False)
    with assemble(settings, str(tmp_path / "home"), port=1, journal=Journal("json", "error"), routes=()) as daemon:
        run = asyncio.run(stop_midway(daemon, strategy, folder, SlowDisk(monkeypatch, *held)))
        daemon.log.close()
        found = asyncio.run(search(daemon.store, Query(session=run), limit=100)).records
    assert [path.name for path in folder.iterdir()] == ["x"] * there
    (event,) = [record.event for record in found if record.event.type in ("tool.failed", "tool.result")]
    assert (event.type, event.payload.get("output", event.payload.get("error"))) == told


def test_what_was_done_is_on_record_also_if_the_run_is_stopped_while_that_is_being_written(tmp_path, monkeypatch):
    folder = (tmp_path / "project").resolve()
    folder.mkdir()
    strategy = write_strategy(tmp_path, "- {agent: a, tool: write_file, input: {path: x, content: new}}")
    settings = ServerSettings(notify_desktop=False, socket=False)
    written, go_on, real = threading.Event(), threading.Event(), files.write_text

    def hold_up(_cursor):
        written.set()
        go_on.wait(SECONDS)

    def write_then_hold_the_store_up(*arguments):
        size = real(*arguments)
        daemon.store.write(hold_up)
        assert written.wait(SECONDS)
        return size

    async def scene():
        await daemon.start()
        try:
            run = await daemon.runs.prepare(PrepareRun(strategy_path=str(strategy), cwd=str(folder)), PERSON)
            await daemon.runs.start(run.id, None, PERSON)
            assert await asyncio.to_thread(written.wait, SECONDS)
            await soon(lambda: daemon.store.queued)  # that it was done waits to be written now
            stopping = asyncio.create_task(daemon.runs.stop(run.id, PERSON))
            await asyncio.wait((stopping,), timeout=0.1)
            go_on.set()
            await asyncio.wait_for(stopping, SECONDS)
            return [record.event.type for record in (await search(daemon.store, Query(session=run.id))).records]
        finally:
            go_on.set()
            await daemon.stop()

    monkeypatch.setattr(files, "write_text", write_then_hold_the_store_up)
    with assemble(settings, str(tmp_path / "home"), port=1, journal=Journal("json", "error"), routes=()) as daemon:
        told = asyncio.run(scene())
    assert (folder / "x").exists()
    assert told.index("run.status") < told.index("tool.result")  # the newest is the first
    assert told.count("tool.result") == 1


def test_a_search_ends_with_its_run(tmp_path, monkeypatch):
    folder = (tmp_path / "project").resolve()
    folder.mkdir()
    for number in range(3):
        (folder / str(number)).write_text("x")
    opened = []
    disk = SlowDisk(monkeypatch, files, "_matches", opened)
    strategy = write_strategy(tmp_path, "- {agent: a, tool: search_files, input: {pattern: x}}")
    settings = ServerSettings(notify_desktop=False, socket=False)
    with assemble(settings, str(tmp_path / "home"), port=1, journal=Journal("json", "error"), routes=()) as daemon:
        asyncio.run(stop_midway(daemon, strategy, folder, disk))
    assert len(opened) == 1
