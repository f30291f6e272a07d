"""A terminal of its own for a command, joined to the one outside: what is typed goes in, what is shown comes out.

The command never holds the outer terminal, and so can type nothing into it.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import pty
import signal
import termios
import tty
from collections.abc import Awaitable, Callable
from typing import Any

_PIECE = 1 << 16
_PLAIN = b"\x18\x1b[!p\x1b[0m\x1b(B\x0f\r\n"
"""Ends whatever sequence a terminal is in the middle of, and shows plain letters."""


class Terminal:
    """The inner terminal, and the outer one while it lasts."""

    def __init__(self, outer_in: int | None, outer_out: int | None) -> None:
        """Make an inner terminal. `outer_in` is read, `outer_out` written, where they are terminals."""
        self._in, self._out = outer_in, outer_out
        self._ours, self.inner = pty.openpty()
        self._before: list[Any] | None = None
        self._loop = asyncio.get_running_loop()
        self._pending = b""
        self._gone = asyncio.Event()
        self._left = False
        for descriptor in (self._ours, self.inner):
            os.set_inheritable(descriptor, False)  # noqa: FBT003 - its one form
        self._take_over_settings()

    def _take_over_settings(self) -> None:
        outer = self._in if self._in is not None else self._out
        if outer is not None:
            with contextlib.suppress(termios.error, OSError):
                termios.tcsetattr(self.inner, termios.TCSANOW, termios.tcgetattr(outer))
            self.resize()

    def resize(self) -> None:
        """Give the inner terminal the size of the outer one."""
        outer = self._out if self._out is not None else self._in
        if outer is not None:
            with contextlib.suppress(OSError):
                fcntl.ioctl(self._ours, termios.TIOCSWINSZ, fcntl.ioctl(outer, termios.TIOCGWINSZ, bytes(8)))

    def join(self) -> None:
        """Begin to pass on, once the command has its end."""
        os.close(self.inner)
        self.inner = -1
        os.set_blocking(self._ours, False)
        if self._in is not None and _hears(self._in):
            self._before = termios.tcgetattr(self._in)
            tty.setraw(self._in, termios.TCSANOW)
            self._loop.add_reader(self._in, self._pass_in)
        self._loop.add_reader(self._ours, self._pass_out)
        self._loop.add_signal_handler(signal.SIGWINCH, self.resize)

    def _pass_in(self) -> None:
        try:
            typed = os.read(self._in if self._in is not None else -1, _PIECE)
        except OSError:
            typed = b""
        if not typed and self._in is not None:
            self._loop.remove_reader(self._in)
        # What a program that does not read is sent is dropped, as a terminal does.
        with contextlib.suppress(OSError):
            os.write(self._ours, typed)

    def _pass_out(self) -> None:
        try:
            shown = os.read(self._ours, _PIECE)
        except BlockingIOError:
            return
        except OSError:
            shown = b""
        if not shown:
            self._loop.remove_reader(self._ours)
            self._gone.set()
            return
        view = memoryview(shown)
        while view and self._out is not None:
            try:
                view = view[os.write(self._out, view) :]
            except BlockingIOError:
                continue
            except OSError:
                break

    async def ask(self, question: Callable[[], Awaitable[bool]]) -> bool:
        """Put the outer terminal back as it was for the time of a question: the command shows nothing meanwhile.

        What it showed before may have left the terminal in the middle of something, or with its letters unseen; what
        was typed before was for the command.
        """
        if self._in is None or self._before is None:
            return False
        self._loop.remove_reader(self._in)
        self._loop.remove_reader(self._ours)
        with contextlib.suppress(OSError):
            os.write(self._out if self._out is not None else self._in, _PLAIN)
        termios.tcsetattr(self._in, termios.TCSAFLUSH, self._before)
        try:
            return await question()
        finally:
            if not self._left:
                tty.setraw(self._in, termios.TCSANOW)
                self._loop.add_reader(self._in, self._pass_in)
                self._loop.add_reader(self._ours, self._pass_out)

    async def leave(self) -> None:
        """Show what is left, and put the outer terminal back as it was."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                await self._gone.wait()
        self._left = True
        self._loop.remove_reader(self._ours)
        self._loop.remove_signal_handler(signal.SIGWINCH)
        if self._in is not None and self._before is not None:
            self._loop.remove_reader(self._in)
            with contextlib.suppress(termios.error, OSError):
                termios.tcsetattr(self._in, termios.TCSADRAIN, self._before)
        os.close(self._ours)
        if self.inner >= 0:
            os.close(self.inner)


def _hears(outer: int) -> bool:
    """Whether what is typed there is for this process: not for one in the background of a shell with jobs."""
    try:
        return os.tcgetpgrp(outer) == os.getpgrp()
    except OSError as error:
        return error.errno == errno.ENOTTY  # a terminal that controls no session has no background
