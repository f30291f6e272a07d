"""P4: no audit, no allow. An allow leaves only after its event is durable; what cannot be written is denied."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from assent.audit.verify.log import verify_log
from assent.model import ALLOW, ASK, DENY, Source, StoreError
from assent.store.address import read_address
from keeping import ANN, ASKED, NO, SESSION, YES, Node, Plug, line, soon, verdict_of

TESTS = Path(__file__).parent.parent
CHILD = """
import asyncio, os, sys
from keeping import ASKED, SESSION, Node, line
async def main(node, count):
    for i in range(count):
        ruling = await node.decisions.decide(line(f"ls {i}"), SESSION)
        os.write(1, f"ANSWER {ruling.decision.verdict.value} {ruling.position}\\n".encode())
node = Node(sys.argv[1], clock=__import__("time").time)
os.write(1, b"READY\\n")
asyncio.run(main(node, int(sys.argv[2])))
os._exit(0)
"""


def environ():
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent / "src")])}


def child(home, count, *before):
    return subprocess.run(
        [*before, sys.executable, "-c", CHILD, str(home), str(count)],
        capture_output=True,
        text=True,
        env=environ(),
        timeout=300,
        check=False,
    )


def refused(ruling):
    assert verdict_of(ruling) is DENY, ruling
    assert (ruling.decision.decision_source, ruling.position) == (Source.ERROR, 0)
    assert "cannot be recorded" in ruling.decision.decision_reason
    return True


@pytest.fixture
def small_disk(tmp_path):
    """A disk of two megabytes."""
    path = tmp_path / "disk"
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m,mode=0700", "tmpfs", path], check=True)
    yield path
    subprocess.run(["umount", "-l", path], check=True)


def fill(disk):
    """Leave no room at all."""
    with (disk / "filler").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            return


def test_on_a_full_disk_everything_is_denied_and_with_room_again_all_is_well(small_disk):
    async def main(node):
        assert verdict_of(await node.decisions.decide(line("ls"), SESSION)) is ALLOW
        asked = await node.decisions.decide(line(ASKED), SESSION)
        fill(small_disk)
        # Pages that the log has already may be written over; sooner or later none is left.
        rulings = [await node.decisions.decide(line(f"ls {i}"), SESSION) for i in range(400)]
        assert refused(rulings[-1])
        assert refused(await node.decisions.decide(line("node other.js"), SESSION))
        allowed = [r.position for r in rulings if verdict_of(r) is ALLOW]
        assert 0 not in allowed
        (small_disk / "filler").unlink()
        assert verdict_of(await node.decisions.decide(line("ls"), SESSION)) is ALLOW
        await node.decisions.answer(asked.approval.id, YES, ANN)
        assert verdict_of(await node.decisions.decide(line(ASKED), SESSION)) is ALLOW
        recorded = {row[0] for row in node.events()}
        assert recorded.issuperset(allowed)

    with Node(small_disk / "home") as node:
        asyncio.run(main(node))
        assert node.verify().ok


def test_on_a_full_disk_a_person_can_still_say_no(small_disk):
    """A no makes nothing run: it holds at once, and is on record when there is room again."""

    async def main(node):
        waiting = asyncio.create_task(node.decisions.decide(line(ASKED), SESSION, wait=120))
        await soon(lambda: node.approvals.waiters.count)
        (asked,), _ = await node.approvals.list()
        fill(small_disk)
        for i in range(400):
            await node.decisions.decide(line(f"ls {i}"), SESSION)
        with pytest.raises(StoreError):
            await node.decisions.answer(asked.id, YES, ANN)
        await node.decisions.answer(asked.id, NO, ANN)
        assert verdict_of(await waiting) is DENY
        (small_disk / "filler").unlink()
        await soon(lambda: node.store.fetch("SELECT state FROM approvals") == [("rejected",)])
        assert node.events("permission.resolved")

    with Node(small_disk / "home") as node:
        asyncio.run(main(node))
        assert node.verify().ok


def test_a_database_that_became_read_only_denies_everything(small_disk):
    async def main(node):
        assert verdict_of(await node.decisions.decide(line("ls"), SESSION)) is ALLOW
        node.store._writer._connection.execute("PRAGMA query_only = ON", ())
        assert refused(await node.decisions.decide(line("ls"), SESSION))
        assert verdict_of(await node.decisions.decide(line("ls"), SESSION)) is ALLOW  # on a connection made anew

    with Node(small_disk / "home") as node:
        asyncio.run(main(node))


def test_a_database_that_is_read_only_from_the_start_keeps_the_daemon_from_starting(small_disk):
    Node(small_disk / "home").close()
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(Exception, match=r"(?i)read-?only|cannot be"):
        Node(small_disk / "home")


@pytest.mark.parametrize("call", ["fdatasync", "pwrite64"])
def test_a_disk_that_fails_to_take_the_event_denies_it(tmp_path, call):
    home = tmp_path / "home"
    Node(home).close()
    # Every such call of the writer's fails from the start of the decisions on.
    done = child(home, 3, "strace", "-f", "-qq", "-e", f"trace={call}", "-e", f"inject={call}:error=EIO:when=1+")
    assert "ANSWER allow" not in done.stdout, done.stdout
    assert done.stdout.count("ANSWER deny 0") == 3 or "READY" not in done.stdout


def test_a_sink_that_hangs_is_a_denial_in_time_and_nothing_is_allowed_meanwhile(node):
    plug = Plug()

    async def main():
        node.store.write_seconds = 1.0
        hanging = node.store.write(plug)
        await soon(plug.begun.is_set)
        rulings = await asyncio.gather(*(node.decisions.decide(line(f"ls {i}"), SESSION) for i in range(20)))
        assert all(refused(r) for r in rulings)
        plug.pull()
        hanging.result()
        node.store.write_seconds = 10.0
        assert verdict_of(await node.decisions.decide(line("ls"), SESSION)) is ALLOW
        assert len(node.events()) == 1  # whoever was refused is not in the log as allowed

    asyncio.run(main())


def test_a_queue_that_is_too_long_is_a_denial_at_once(node, monkeypatch):
    from assent.store import writer

    plug = Plug()

    async def main():
        node.store.write(plug)
        await soon(plug.begun.is_set)
        monkeypatch.setattr(writer, "MOST_QUEUED", 5)
        waiting = [asyncio.create_task(node.decisions.decide(line(f"ls {i}"), SESSION)) for i in range(5)]
        await soon(lambda: node.store.queued == 5)
        assert refused(await node.decisions.decide(line("ls x"), SESSION))
        plug.pull()
        assert {verdict_of(r) for r in await asyncio.gather(*waiting)} == {ALLOW}

    asyncio.run(main())


def test_a_closed_store_denies(tmp_path):
    node = Node(tmp_path / "home")
    node.close()
    assert refused(asyncio.run(node.decisions.decide(line("ls"), SESSION)))


def test_a_database_server_that_is_gone_denies(tmp_path):
    from postgres import Postgres

    server = Postgres()

    async def main(node):
        assert verdict_of(await node.decisions.decide(line("ls"), SESSION)) is ALLOW
        server.kill()
        assert refused(await node.decisions.decide(line("ls"), SESSION))
        assert refused(await node.decisions.decide(line(ASKED), SESSION))
        server.start()
        assert verdict_of(await node.decisions.decide(line("ls"), SESSION)) is ALLOW

    try:
        with Node(tmp_path / "home", server.new_database()) as node:
            asyncio.run(main(node))
            assert node.verify().ok
    finally:
        server.close()


@pytest.mark.parametrize("fault", ["prepare", "append", "announce"])
def test_a_fault_anywhere_on_the_way_is_a_denial(node, monkeypatch, fault):
    def fail(*_, **__):
        raise RuntimeError("a fault")

    target, name, text = {
        "prepare": (node.log, "prepare", "ls"),
        "append": (node.log, "finish", "ls"),
        "announce": (node.log, "append", ASKED),
    }[fault]
    monkeypatch.setattr(target, name, fail)
    ruling = asyncio.run(node.decisions.decide(line(text), SESSION))
    assert verdict_of(ruling) is DENY
    monkeypatch.undo()
    assert {row[2] for row in node.events()} <= {"deny"}
    assert len(node.events()) == (ruling.position > 0)
    assert asyncio.run(node.approvals.list()) == ((), None)


def test_an_engine_that_can_not_be_found_is_a_denial_on_record(node):
    def fail(_call, _session):
        raise RuntimeError("no engine")

    node.engine = fail
    ruling = asyncio.run(node.decisions.decide(line(ASKED), SESSION, wait=1))
    assert (verdict_of(ruling), ruling.position) == (DENY, 1)
    assert "no engine" in ruling.decision.decision_reason


def test_the_event_is_synced_to_the_disk_before_the_answer_is_given(tmp_path):
    home = tmp_path / "home"
    done = child(home, 5, "strace", "-f", "-qq", "-e", "trace=fdatasync,fsync,write", "-s", "40")
    calls = re.findall(r"(fdatasync|fsync|write)\((\d+)(?:, \"(READY|ANSWER)?)?.*= (\S+)", done.stderr)
    seen = [text or kind for kind, _, text, _ in calls]
    seen = seen[seen.index("READY") + 1 :]
    answers = [i for i, what in enumerate(seen) if what == "ANSWER"]
    assert len(answers) == 5
    for start, end in zip([0, *[a + 1 for a in answers]], answers, strict=False):
        assert "fdatasync" in seen[start:end], seen
    assert done.stdout.count("ANSWER allow") == 5


def test_killed_between_the_write_and_the_answer_leaves_the_event_and_no_answer(tmp_path):
    code = CHILD.replace(
        "asyncio.run(main(",
        "import signal\nimport assent.store.writer as w\nreal = w._deliver\n"
        "def die(jobs):\n    if any(job.loop for job in jobs):\n        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    real(jobs)\nw._deliver = die\nasyncio.run(main(",
    )
    home = tmp_path / "home"
    done = subprocess.run(
        [sys.executable, "-c", code, str(home), "1"], capture_output=True, text=True, env=environ(), check=False
    )
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, "READY\n")
    with Node(home) as node:
        assert [row[2] for row in node.events()] == ["allow"]
        assert node.verify().ok


def test_killed_before_the_commit_leaves_neither(tmp_path):
    code = CHILD.replace(
        "asyncio.run(main(",
        "import signal\nimport assent.store.sqlite as q\n"
        "node.store.write(lambda _: None).result()\n"
        "q.SqliteConnection.commit = lambda self: os.kill(os.getpid(), signal.SIGKILL)\nasyncio.run(main(",
    )
    home = tmp_path / "home"
    done = subprocess.run(
        [sys.executable, "-c", code, str(home), "1"], capture_output=True, text=True, env=environ(), check=False
    )
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, "READY\n")
    with Node(home) as node:
        assert node.events() == []
        assert verify_log(read_address(None, home=str(home)), home=str(home)).ok
        assert verdict_of(asyncio.run(node.decisions.decide(line(ASKED), SESSION))) is ASK
