"""A separate terminal for a command, connected to the user's: input goes in, output comes out.

The command never has the user's terminal open, so it cannot type into it.
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
"""Ends an unfinished escape sequence, and resets the terminal to plain text."""


class Terminal:
    """The command's terminal, connected to the user's."""

    def __init__(self, outer_in: int | None, outer_out: int | None) -> None:
        """Open an inner terminal. Input comes from `outer_in`, output goes to `outer_out`, if those are terminals."""
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
        """Start forwarding, after the command has opened its end."""
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
        # Input for a program that does not read is dropped, as on any terminal.
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
        """Restore the outer terminal for the time of a question, and pause the command's output.

        Earlier output may have left an unfinished sequence, or invisible text. Earlier input was for the command, and
        is dropped.
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
        """Show the remaining output, and restore the outer terminal."""
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
    """Tell whether this process is in the foreground of the terminal, and so gets its input."""
    try:
        return os.tcgetpgrp(outer) == os.getpgrp()
    except OSError as error:
        return error.errno == errno.ENOTTY  # a terminal without a session has no background jobs
