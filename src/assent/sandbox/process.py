"""A command that runs in its sandbox: signal it, wait for it, and end it with all its child processes."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias, assert_never

import msgspec

from assent.model import SandboxProfile, Violation
from assent.sandbox.launch.waiting_sandbox import end_group
from assent.sandbox.left_programs import Programs
from assent.sandbox.streams import Output, StdinPipe, wait_readable

_PROCESS_GROUP = 4
_SHORTEST, _LONGEST = 0.0005, 0.02
_DYING_SECONDS = 2.0

Stop: TypeAlias = Literal["wall time", "output", "cancelled", "boundary"]


class ProcessResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended, and what was stopped."""

    code: int
    """The exit code as in a shell: 128 plus the number of the signal, if a signal ended it."""
    stopped: Stop | None = None
    """Why Assent ended the command."""
    fault: str = ""
    """What went wrong with the boundary, if that is why."""
    violations: tuple[Violation, ...] = ()
    programs: Programs = Programs()
    """Files that it left in the workspace and that may run later."""

    @property
    def why_stopped(self) -> str:
        """Describe why Assent ended the command."""
        match self.stopped:
            case None:
                return "nothing"
            case "boundary":
                return f"what was replaced outside could no longer be kept from it ({self.fault})"
            case "cancelled":
                return "it was cancelled"
            case "wall time" | "output":
                return f"its limit of {self.stopped} was reached"
        assert_never(self.stopped)


class Process:
    """One command. Made by `Sandbox.start`."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        pid: int,
        lifeline: int,
        profile: SandboxProfile,
        *,
        on_end: Callable[[], None] = lambda: None,
        violations: Callable[[], tuple[Violation, ...]] = tuple,
        programs: Callable[[], Awaitable[Programs]] | None = None,
    ) -> None:
        self._process = process
        self._pid = pid
        self._lifeline = lifeline
        self._on_end = on_end
        self._violations = violations
        self._programs = programs
        self._watch = os.pidfd_open(process.pid)
        self._timer: asyncio.TimerHandle | None = None
        self._stopped: Stop | None = None
        self._fault = ""
        self._ended: ProcessResult | None = None
        self._waiting = asyncio.Lock()
        self.profile = profile
        """The boundary in force."""
        self.stdin: StdinPipe | None = None
        self.stdout: Output | None = None
        self.stderr: Output | None = None

    def end_after(self, seconds: float | None) -> None:
        """Set the time after which the command is killed."""
        if seconds is not None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self.kill, "wall time")

    def signal(self, number: int, *, group: bool = False) -> None:
        """Send a signal to the command; `group`: to its whole process group, as a terminal does."""
        if self._ended is None:
            with contextlib.suppress(ProcessLookupError):
                try:
                    signal.pidfd_send_signal(self._pid, number, None, _PROCESS_GROUP if group else 0)
                except OSError as error:  # kernels before 6.9 do not support groups here
                    if error.errno != errno.EINVAL:
                        raise
                    signal.pidfd_send_signal(self._pid, number)

    def lose(self, fault: str) -> None:
        """End the command because its boundary can no longer be kept in force."""
        self._fault = self._fault or fault
        self.kill("boundary")

    def kill(self, why: Stop = "cancelled") -> None:
        """End the command and everything it started, at once."""
        if self._ended is None:
            self._stopped = self._stopped or why
            end_group(self._process)
            with contextlib.suppress(ProcessLookupError, OSError):
                signal.pidfd_send_signal(self._pid, signal.SIGKILL)

    async def wait(self) -> ProcessResult:
        """Wait until the command and all its child processes have ended."""
        async with self._waiting:
            if self._ended is None:
                await wait_readable(self._watch)
                self._ended = self._reap()
                await self._emptied()
                if self._programs is not None:
                    self._ended = msgspec.structs.replace(self._ended, programs=await self._programs())
            return self._ended

    def _reap(self) -> ProcessResult:
        # The kernel does not reuse the pid before `wait`. Without a pid namespace, child processes would stay; they
        # cannot have left the group.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        code = self._process.wait()
        if self._timer is not None:
            self._timer.cancel()
        self._on_end()
        os.close(self._watch)
        os.close(self._pid)
        os.close(self._lifeline)
        shown = 128 - code if code < 0 else code
        return ProcessResult(code=shown, stopped=self._stopped, fault=self._fault, violations=self._violations())

    async def _emptied(self) -> None:
        """Wait until the killed child processes are gone; zombies may stay, so not for ever."""
        pause, until = _SHORTEST, time.monotonic() + _DYING_SECONDS
        with contextlib.suppress(ProcessLookupError, PermissionError):
            while time.monotonic() < until:
                os.killpg(self._process.pid, 0)
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST)

    async def close(self) -> None:
        """End the command if it still runs, and close its streams."""
        self.kill()
        await self.wait()
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                stream.close()
