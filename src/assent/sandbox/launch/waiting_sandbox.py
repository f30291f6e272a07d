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
    """Where bubblewrap, and the first program, wait for what they are to do."""

    words: int = -1
    """A pipe: bubblewrap does nothing before its end is seen."""
    plan: int = -1
    profile: int = -1


_SENT = PendingInput()


class WaitingSandbox:
    """A sandbox that stands, or will, its command not yet begun."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        control: socket.socket,
        complaints: int,
        leash: tuple[int, int],
        pending: PendingInput = _SENT,
    ) -> None:
        self.process = process
        self.control = control
        self.complaints = complaints
        """What bubblewrap says, if it fails."""
        self.fds: dict[str, int] = {}
        self.grouped = False
        """Whether it is in its control group."""
        self.pending = pending
        self._leash = leash

    def tell(self, plan: bytes, profile: bytes, words: Sequence[str]) -> None:
        """Let bubblewrap go on. That it is gone already is seen by whoever waits for the report."""
        fill(self.pending.plan, plan)
        fill(self.pending.profile, profile)
        said = b"".join(os.fsencode(word) + b"\0" for word in words)
        with contextlib.suppress(PermissionError):  # at once, and so wholly or not at all, however this process ends
            fcntl.fcntl(self.pending.words, fcntl.F_SETPIPE_SZ, max(len(said), _PIPE))
        with contextlib.suppress(BrokenPipeError):
            write_all(self.pending.words, said)
        close_all(self.pending)
        self.pending = _SENT

    @property
    def has_report(self) -> bool:
        """Tell whether a report is there already."""
        waiting = select.poll()
        waiting.register(self.control, select.POLLIN)
        return bool(waiting.poll(0))

    def read_report(self) -> None:
        """Take in what the first program reports, or raise `Unavailable`. Call it when `control` is readable.

        It reports once when the mounts stand, and once more when all locks are on.
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
            raise Unavailable("the sandbox can not be set up: " + (report or {}).get("error", self._complaint()))
        self.fds |= zip(report["fds"], fds, strict=True)
        self.grouped = self.grouped or report["grouped"]

    def _complaint(self) -> str:
        with contextlib.suppress(OSError):
            os.set_blocking(self.complaints, False)
            said = os.read(self.complaints, 4096).decode(errors="replace").strip()
            return said.splitlines()[-1] if said else "bubblewrap ended without a word"
        return "bubblewrap ended without a word"

    def tie(self) -> None:
        """From now on, have the kernel end everything when this process ends, however that comes about.

        Our end of a pipe closes with us, and that sends the group at its other end a signal. Before now the first
        program inside would have noticed: it asks for the word to go on.
        """
        theirs, ours = self._leash
        fcntl.fcntl(theirs, fcntl.F_SETOWN, -self.process.pid)
        fcntl.fcntl(theirs, _F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(theirs, fcntl.F_SETFL, fcntl.fcntl(theirs, fcntl.F_GETFL) | os.O_ASYNC)
        os.close(theirs)
        self._leash = (-1, -1)
        self.fds["leash"] = ours

    def go(self) -> None:
        """Let the command begin."""
        self.control.send(b"!")

    def read_begin(self, argv: Sequence[str]) -> None:
        """Find out whether the command began, or raise `CommandNotStarted`. Call it when `begin` is readable."""
        try:
            report = _decode(os.read(self.fds["begin"], _LONGEST_REPORT))
        except OSError:
            report = None
        if report is not None and "error" in report:
            raise CommandNotStarted(f"{argv[0]}: {report['error']}", code=report["code"])

    def abandon(self) -> None:
        """End it before the command begins, and wait until really nothing of it is left.

        What bubblewrap forked may still be mounting, and making the folders to mount on, after bubblewrap itself is
        gone: the other end of the socket closes when the last of them is.
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
        """Let go of everything but the process."""
        self.control.close()
        close_all([self.complaints, *self._leash, *self.fds.values(), *self.pending])
        self.complaints, self.fds, self._leash, self.pending = -1, {}, (-1, -1), _SENT

    def take(self, name: str) -> int:
        """Hand over a descriptor that came out; the caller closes it."""
        return self.fds.pop(name)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the keeper, bubblewrap and what it forked: a child that still waits for its parent would wait for ever."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _decode(data: bytes) -> dict[str, Any] | None:
    if not data:
        return None
    try:
        found = marshal.loads(data)  # noqa: S302 - sent before anything but our own program ran
    except (EOFError, ValueError, TypeError):
        return None
    return found if isinstance(found, dict) else None
