"""Runs a command as if there were no bubblewrap: `barely.py PROFILE WORDS…`."""

import asyncio
import json
import os
import sys

import msgspec

from assent.analysis.resources.paths import Place
from assent.platform.facts import observe
from assent.policy.sandbox_profiles import profile
from assent.sandbox import CommandNotStarted, Sandbox, Unavailable, probe


async def main(name, words):
    here = os.getcwd()
    wanted = profile(name, Place(observe(), here, (here,)))
    machine = msgspec.structs.replace(probe(), bubblewrap=None, missing=("bubblewrap is not installed",))
    applied = []
    async with Sandbox(wanted, machine=machine, on_applied=applied.append) as box:
        process = await box.start(words)
        out, err = await asyncio.gather(process.stdout.read_all(), process.stderr.read_all())
        ended = await process.wait()
    in_force = [m.name for m in applied[0].mechanisms if m.enforced]
    return {"out": out.decode(), "err": err.decode(), "code": ended.code, "in force": in_force}


try:
    found = asyncio.run(main(sys.argv[1], sys.argv[2:]))
except (Unavailable, CommandNotStarted) as error:
    found = {"unavailable": str(error)}
sys.stdout.write(json.dumps(found))
