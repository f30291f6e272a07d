"""Starts sandboxes and kills whoever started them, at a random moment from just before bubblewrap is there.

`killer.py WORKSPACE ROUNDS SEED`. One process, without threads, forks them all: nothing is loaded anew.
"""

import asyncio
import os
import random
import signal
import sys
import time

from assent.analysis.resources.paths import Place
from assent.model import Facts
from assent.policy.sandbox_profiles import profile
from assent.sandbox import Sandbox, find_machine
from assent.sandbox.launch import start


def launch_one(workspace, begun, seconds):
    """Be a launcher that says when it starts bubblewrap, and lives until it is killed."""
    real = start._popen

    def told(*words, **more):
        os.write(begun, b"!")
        return real(*words, **more)

    start._popen = told

    async def main():
        wanted = profile("workspace-write", Place(Facts(), workspace, (workspace,)))
        async with Sandbox(wanted) as box:
            process = await box.start(["sh", "-c", f"(setsid sleep {seconds} &); sleep {seconds}"], stdout=2)
            await process.wait()

    asyncio.run(main())


def main(workspace, rounds, seed, seconds):
    dice = random.Random(seed)
    find_machine()
    for _ in range(rounds):
        heard, begun = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(heard)
            launch_one(workspace, begun, seconds)
        os.close(begun)
        os.read(heard, 1)
        os.close(heard)
        time.sleep(dice.choice((0.002, 0.01, 0.04)) * dice.random())
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
