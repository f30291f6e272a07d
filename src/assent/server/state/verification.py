"""Verification of the whole audit log, in a process of its own, with its progress."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import time
from typing import TYPE_CHECKING, Any

import msgspec

from assent.audit.verify.log import VerifyReport, verify_log
from assent.model import AssentError
from assent.platform.paths import assent_home
from assent.wire.audit import Progress
from assent.wire.timestamps import millis

if TYPE_CHECKING:
    from assent.store.address import StoreAddress

_EVERY = 0.1
"""How often the process says how far it is, in seconds."""


class Verification:
    """The one verification that may be under way."""

    def __init__(self) -> None:
        self.progress = Progress(state="idle")
        self._task: asyncio.Task[None] | None = None

    def start(self, address: StoreAddress) -> None:
        """Begin, unless it is under way already."""
        if self._task is None or self._task.done():
            self.progress = Progress(state="running", started_at=millis(time.time()))
            self._task = asyncio.create_task(self._run(address))

    async def stop(self) -> None:
        """Give it up."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self, address: StoreAddress) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_verify, args=(address, assent_home(), theirs))
        process.start()
        theirs.close()
        try:
            # The end of the pipe is the end of the process, however it ended.
            while await self._hear(ours):
                pass
        finally:
            process.terminate()
            await asyncio.to_thread(process.join)
            ours.close()

    async def _hear(self, pipe: Any) -> bool:
        try:
            said = await asyncio.to_thread(_receive, pipe)
        except EOFError:
            self._finish(state="failed", error="the process that verified it ended early")
            return False
        match said:
            case None:
                return True
            case (int(done), int(total)):
                self.progress = msgspec.structs.replace(self.progress, done=done, total=total)
                return True
            case VerifyReport():
                self._finish(state="done", done=said.events, total=said.events, report=said)
            case _:
                self._finish(state="failed", error=str(said))
        return False

    def _finish(self, **changes: Any) -> None:
        self.progress = msgspec.structs.replace(self.progress, finished_at=millis(time.time()), **changes)


def _receive(pipe: Any) -> Any:
    """Wait for a message, for a while: a thread that waited for ever could not be given up."""
    return pipe.recv() if pipe.poll(1.0) else None


def _verify(address: StoreAddress, home: str, pipe: Any) -> None:
    last = 0.0

    def tell(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > _EVERY:
            last = time.monotonic()
            pipe.send((done, total))

    with contextlib.suppress(BrokenPipeError):
        try:
            pipe.send(verify_log(address, home=home, progress=tell))
        except AssentError as error:
            pipe.send(str(error))
