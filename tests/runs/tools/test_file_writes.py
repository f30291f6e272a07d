"""Changes in threads: who gives one up goes on only when it has come about, or cannot any more."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from assent.runs.tools import file_writes, files
from assent.runs.tools.file_writes import FileTask
from assent.runs.tools.files import ToolError

SECONDS = 30


@pytest.fixture
def threads():
    with ThreadPoolExecutor(1) as made:
        yield made


@pytest.fixture
def slow(monkeypatch):
    """A disk that takes its time over a new file, and says when it began."""
    begun, go_on = threading.Event(), threading.Event()
    real = files._write_new

    def write_new(*arguments):
        begun.set()
        assert go_on.wait(SECONDS)
        real(*arguments)

    monkeypatch.setattr(files, "_write_new", write_new)
    yield begun, go_on
    go_on.set()


def allow():
    return None


async def given_up(deed, threads, work, begun):
    """Cancel a change once it has begun, twice; return the task that did it."""
    task = asyncio.create_task(deed.do(threads, work, SECONDS))
    assert await asyncio.to_thread(begun.wait, SECONDS)
    for _ in range(2):
        task.cancel()
        done, _ = await asyncio.wait((task,), timeout=0.05)
        assert not done
    return task


async def end_of(task):
    done, _ = await asyncio.wait((task,), timeout=SECONDS)
    assert done
    return task


def test_a_write_that_is_given_up_before_its_file_is_replaced_changes_nothing(tmp_path, threads, slow):
    begun, go_on = slow
    path, deed = tmp_path / "a", FileTask(allow)
    path.write_text("old")

    async def main():
        task = await given_up(deed, threads, lambda: files.write_text(str(path), "new", deed.check), begun)
        assert not deed.is_over
        go_on.set()
        assert (await end_of(task)).cancelled()

    asyncio.run(main())
    assert (deed.is_over, deed.is_done, path.read_text()) == (True, False, "old")
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_a_change_that_can_not_be_called_back_any_more_is_waited_for_and_known_to_be_done(threads):
    begun, go_on, deed, done = threading.Event(), threading.Event(), FileTask(allow), []

    def work():
        deed.check()
        begun.set()
        assert go_on.wait(SECONDS)
        done.append(1)

    async def main():
        task = await given_up(deed, threads, work, begun)
        assert not done
        go_on.set()
        assert (await end_of(task)).cancelled()

    asyncio.run(main())
    assert (deed.is_over, deed.is_done, done) == (True, True, [1])


def test_one_whose_turn_has_not_come_never_begins(threads):
    go_on, deed, done = threading.Event(), FileTask(allow), []
    threads.submit(go_on.wait, SECONDS)

    async def main():
        task = asyncio.create_task(deed.do(threads, lambda: done.append(1), SECONDS))
        await asyncio.sleep(0)
        task.cancel()
        assert (await end_of(task)).cancelled()
        with pytest.raises(ToolError, match="its turn did not come"):
            await FileTask(allow).do(threads, lambda: done.append(2), 0.01)
        go_on.set()

    asyncio.run(main())
    threads.shutdown()
    assert (deed.is_done, done) == (False, [])


def test_a_disk_that_does_not_answer_is_said_so_and_nothing_comes_of_it_later(tmp_path, threads, slow, monkeypatch):
    begun, go_on = slow
    monkeypatch.setattr(file_writes, "GIVEN_UP_SECONDS", 0.01)
    path, deed = tmp_path / "a", FileTask(allow)

    class Begun:
        def submit(self, work):
            future = threads.submit(work)
            assert begun.wait(SECONDS)
            return future

    async def main():
        with pytest.raises(ToolError, match="the disk has not answered for 0 seconds; it may yet be done"):
            await deed.do(Begun(), lambda: files.write_text(str(path), "new", deed.check), 0.01)

    asyncio.run(main())
    go_on.set()
    threads.shutdown()
    assert (deed.is_done, path.exists()) == (False, False)


def test_what_may_not_be_any_more_is_not(tmp_path, threads):
    def refuse():
        raise ToolError("the run is over")

    deed = FileTask(refuse)
    (tmp_path / "b").write_text("old")

    async def main():
        for work in (
            lambda: files.write_text(str(tmp_path / "new" / "a"), "x", deed.check),
            lambda: files.edit_text(str(tmp_path / "b"), "old", "new", deed.check),
        ):
            with pytest.raises(ToolError, match="the run is over"):
                await deed.do(threads, work, SECONDS)

    asyncio.run(main())
    assert [p.name for p in tmp_path.iterdir()] == ["b"]
    assert (tmp_path / "b").read_text() == "old"
