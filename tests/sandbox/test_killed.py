"""Killed at any time, a sandbox leaves nothing behind: no process, no stand-in, no mount, no group."""

import asyncio
import os
import random
import signal
import subprocess
import time
from pathlib import Path

from assent.analysis.resources.paths import Place
from assent.model import Facts
from assent.policy.sandbox_profiles import profile
from assent.sandbox import Sandbox

#: `make kill` has many more.
ROUNDS = int(os.environ.get("ASSENT_KILL_ROUNDS", "15"))


def own(seconds):
    """Give a time to sleep that nobody else on the machine sleeps: others may run these tests too."""
    return f"{seconds}{os.getpid():08}"


def processes(mark):
    found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in found.splitlines() if mark in line]


def wait_until(done):
    end = time.monotonic() + 60
    while not done() and time.monotonic() < end:
        time.sleep(0.05)
    assert done()


def orphans():
    """What is left of a sandbox whose launcher is gone."""
    found = subprocess.run(["ps", "-eo", "ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 1) for line in found.splitlines()[1:]]
    return [args for ppid, args in rows if ppid == "1" and "assent-inside" in args]


def offspring(mark):
    """What this process started, and that did: others on the machine have sandboxes of their own."""
    found = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in found.splitlines()[1:]]
    ours, grown = {str(os.getpid())}, True
    while grown:
        more = {pid for pid, parent, _ in rows if parent in ours} - ours
        ours, grown = ours | more, bool(more)
    return [args for pid, _, args in rows if pid in ours and mark in args]


def test_launchers_killed_while_they_set_up_leave_nothing(own_world):
    argv = [
        own_world.python,
        str(Path(__file__).with_name("killer.py")),
        str(own_world.workspace),
        str(2 * ROUNDS),
        "7",
        own("63.75"),
    ]
    done = subprocess.run(argv, env=own_world.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    wait_until(lambda: not orphans() and not processes(own("63.75")))
    own_world.sh("true")
    assert own_world.left_over() == []
    assert [p.name for p in (own_world.assent_home / "sandbox/places").iterdir()] == ["lock"]


def test_launchers_killed_at_random_leave_nothing(own_world):
    dice = random.Random(11)
    mark = f"assent-mark-{os.getpid()}"
    for _ in range(max(4, ROUNDS // 10)):
        process = subprocess.Popen(
            own_world.argv("sh", "-c", f": {mark}; (setsid sleep 60 &); sleep 60"),
            env=own_world.environ,
            cwd=own_world.workspace,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(dice.uniform(0, 1.0))
        process.send_signal(signal.SIGKILL)
        process.wait()
    wait_until(lambda: not processes(mark))
    own_world.sh("true")
    assert own_world.left_over() == []
    assert [p.name for p in (own_world.assent_home / "sandbox/places").iterdir()] == ["lock"]
    mounted = Path("/proc/self/mountinfo").read_text()
    assert str(own_world.base) not in mounted


def test_sandboxes_started_and_ended_at_random_leave_nothing(own_world, monkeypatch):
    monkeypatch.setenv("ASSENT_HOME", str(own_world.assent_home))
    dice = random.Random(12)
    root = str(own_world.workspace)
    wanted = profile("workspace-write", Place(Facts(), root, (root,)))

    async def one():
        async with Sandbox(wanted) as box:
            process = await box.start(["sleep", own("61.25")], stdout=2)
            await asyncio.sleep(dice.uniform(0, 0.1))
            match dice.randrange(3):
                case 0:
                    process.kill()
                case 1:
                    process.signal(signal.SIGTERM)
                    await process.wait()

    async def main():
        for _ in range(ROUNDS):
            await asyncio.gather(one(), one())

    before = set(os.listdir("/proc/self/fd"))
    asyncio.run(main())
    assert len(os.listdir("/proc/self/fd")) <= len(before) + 1
    assert processes(own("61.25")) == []
    assert own_world.left_over() == []
    assert not [g for g in Path("/sys/fs/cgroup").glob(f"*/assent-{os.getpid()}-*") if g.is_dir()]


def test_a_task_that_is_cancelled_takes_its_command_with_it(own_world, monkeypatch):
    monkeypatch.setenv("ASSENT_HOME", str(own_world.assent_home))
    root = str(own_world.workspace)
    wanted = profile("workspace-write", Place(Facts(), root, (root,)))

    async def one():
        async with Sandbox(wanted) as box:
            process = await box.start(["sleep", own("62.25")])
            await process.wait()

    async def main():
        for delay in (0.001, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.08, 0.1, 0.15, 0.3):
            task = asyncio.create_task(one())
            await asyncio.sleep(delay)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())
    assert processes(own("62.25")) == []
    assert own_world.left_over() == []
    wait_until(lambda: not offspring("bwrap") and not orphans())


def test_output_is_streamed_and_a_command_fed(own_world, monkeypatch):
    monkeypatch.setenv("ASSENT_HOME", str(own_world.assent_home))
    root = str(own_world.workspace)
    wanted = profile("workspace-write", Place(Facts(), root, (root,)))

    async def main():
        async with Sandbox(wanted) as box:
            process = await box.start(["sh", "-c", "read a; echo $a; read b; echo $b >&2; exit 4"], stdin=-1)
            await process.stdin.write(b"one\n")
            first = await process.stdout.read()
            await process.stdin.write(b"two\n")
            process.stdin.close()
            rest = await process.stderr.read_all()
            return first, rest, (await process.wait()).code

    assert asyncio.run(main()) == (b"one\n", b"two\n", 4)
