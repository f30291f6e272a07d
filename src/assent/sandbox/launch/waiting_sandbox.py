"""A sandbox that is set up, or being set up, and waits for the word to run its command.

The first program inside reports over a socket: once when the mounts are in place, once when all locks are on.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import marshal
import os
import select
import signal
import socket
import subprocess
from collections.abc import Sequence
from typing import Any, NamedTuple

from assent.sandbox.errors import CommandNotStarted, Unavailable
from assent.sandbox.launch.descriptors import close_all, fill, write_all

_MOST_FDS = 8
_PIPE = 1 << 16
_LONGEST_REPORT = 1 << 16
_F_SETSIG = 10
_DYING_SECONDS = 10


class PendingInput(NamedTuple):
    """Descriptors over which bubblewrap and the first program get their instructions."""

    words: int = -1
    """A pipe with the arguments of bubblewrap, which waits for its end."""
    plan: int = -1
    profile: int = -1


_SENT = PendingInput()


class WaitingSandbox:
    """A sandbox whose command has not begun."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        control: socket.socket,
        complaints: int,
        lifeline: tuple[int, int],
        pending: PendingInput = _SENT,
    ) -> None:
        self.process = process
        self.control = control
        self.complaints = complaints
        """A pipe with the error messages of bubblewrap."""
        self.fds: dict[str, int] = {}
        self.grouped = False
        """Whether the first program joined its control group."""
        self.pending = pending
        self._lifeline = lifeline

    def tell(self, plan: bytes, profile: bytes, words: Sequence[str]) -> None:
        """Send bubblewrap its arguments. If it has ended already, `read_report` says so."""
        fill(self.pending.plan, plan)
        fill(self.pending.profile, profile)
        said = b"".join(os.fsencode(word) + b"\0" for word in words)
        with contextlib.suppress(PermissionError):  # one write: all or nothing, even if this process is killed
            fcntl.fcntl(self.pending.words, fcntl.F_SETPIPE_SZ, max(len(said), _PIPE))
        with contextlib.suppress(BrokenPipeError):
            write_all(self.pending.words, said)
        close_all(self.pending)
        self.pending = _SENT

    @property
    def has_report(self) -> bool:
        """Tell whether a report has arrived."""
        waiting = select.poll()
        waiting.register(self.control, select.POLLIN)
        return bool(waiting.poll(0))

    def read_report(self) -> None:
        """Read a report of the first program, or raise `Unavailable`. Call it when `control` is readable.

        The first report comes when the mounts are in place, the second when all locks are on.
        """
        rights = socket.CMSG_SPACE(_MOST_FDS * 4)
        try:
            data, ancillary, flags, _ = self.control.recvmsg(_LONGEST_REPORT, rights, socket.MSG_CMSG_CLOEXEC)
        except OSError:
            data, ancillary, flags = b"", [], 0
        fds = array.array("i")
        for _, _, raw in ancillary:
            fds.frombytes(raw[: len(raw) - len(raw) % fds.itemsize])
        report = _decode(data)
        if report is None or "error" in report or flags & socket.MSG_CTRUNC:
            close_all(fds)
            raise Unavailable("the sandbox cannot be set up: " + (report or {}).get("error", self._complaint()))
        self.fds |= zip(report["fds"], fds, strict=True)
        self.grouped = self.grouped or report["grouped"]

    def _complaint(self) -> str:
        with contextlib.suppress(OSError):
            os.set_blocking(self.complaints, False)
            said = os.read(self.complaints, 4096).decode(errors="replace").strip()
            return said.splitlines()[-1] if said else "bubblewrap ended without a word"
        return "bubblewrap ended without a word"

    def tie(self) -> None:
        """Make the kernel kill the sandbox when this process ends, for whatever reason.

        The kernel closes the pipe's end in this process, and signals the process group at the other end. Before this
        call the first program notices by itself: it reads the word to go on.
        """
        theirs, ours = self._lifeline
        fcntl.fcntl(theirs, fcntl.F_SETOWN, -self.process.pid)
        fcntl.fcntl(theirs, _F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(theirs, fcntl.F_SETFL, fcntl.fcntl(theirs, fcntl.F_GETFL) | os.O_ASYNC)
        os.close(theirs)
        self._lifeline = (-1, -1)
        self.fds["lifeline"] = ours

    def go(self) -> None:
        """Let the command begin."""
        self.control.send(b"!")

    def read_begin(self, argv: Sequence[str]) -> None:
        """Return if the command began, or raise `CommandNotStarted`. Call it when `begin` is readable."""
        try:
            report = _decode(os.read(self.fds["begin"], _LONGEST_REPORT))
        except OSError:
            report = None
        if report is not None and "error" in report:
            raise CommandNotStarted(f"{argv[0]}: {report['error']}", code=report["code"])

    def abandon(self) -> None:
        """End the sandbox before the command begins, and wait until all its processes are gone.

        A child of bubblewrap may still mount, and create folders to mount on, after bubblewrap has ended. The other end
        of the socket closes when the last child ends.
        """
        end_group(self.process)
        self.process.wait()
        with contextlib.suppress(OSError):
            self.control.shutdown(socket.SHUT_WR)
            self.control.settimeout(_DYING_SECONDS)
            while self.control.recv(_LONGEST_REPORT):
                pass
        self.close()

    def close(self) -> None:
        """Close every descriptor."""
        self.control.close()
        close_all([self.complaints, *self._lifeline, *self.fds.values(), *self.pending])
        self.complaints, self.fds, self._lifeline, self.pending = -1, {}, (-1, -1), _SENT

    def take(self, name: str) -> int:
        """Hand over a descriptor from a report; the caller closes it."""
        return self.fds.pop(name)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill bubblewrap with its parent shell and its child, which would otherwise wait for ever."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _decode(data: bytes) -> dict[str, Any] | None:
    if not data:
        return None
    try:
        found = marshal.loads(data)  # noqa: S302 - sent by our own program, before the command ran
    except (EOFError, ValueError, TypeError):
        return None
    return found if isinstance(found, dict) else None
