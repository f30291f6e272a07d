"""The streams of a sandboxed command: which it may get, its pipes, and the limit of its output."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import stat
from collections.abc import AsyncIterator, Callable, Iterable

from assent.model import within
from assent.sandbox.errors import Unavailable

PIPE = -1
"""A stream that is a pipe to this process."""
NOTHING = -3
"""A stream that is empty."""
_PIECE = 1 << 16


def check_given(descriptors: Iterable[int], held: Iterable[str]) -> None:
    """Raise `Unavailable` for a stream that would give a command access to more than the stream.

    A process with an open folder can reach everything from there. A process with a file open for reading can reopen it
    for writing through its descriptor, past the mounts. `held` lists what must not be written.
    """
    held = tuple(held)
    for descriptor in descriptors:
        mode = os.fstat(descriptor).st_mode
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        if stat.S_ISDIR(mode):
            raise Unavailable(f"a folder cannot be a command's stream: {path}")
        reads = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
        if stat.S_ISREG(mode) and reads and any(within(path, each) for each in held):
            raise Unavailable(
                f"{path} is protected, and a command that has it open could write it: send it through a pipe"
            )


class OutputCounter:
    """Count the output of both streams of a command."""

    def __init__(self, limit: int | None, at_limit: Callable[[], None]) -> None:
        self._left = limit
        self._at_limit = at_limit

    def take(self, piece: bytes) -> bytes:
        """Return the part of a piece that is within the limit."""
        if self._left is None:
            return piece
        kept = piece[: self._left]
        self._left -= len(kept)
        if len(kept) < len(piece):
            self._at_limit()
        return kept


class Output:
    """Read one output stream piece by piece. A slow reader makes the command wait, as with any pipe."""

    def __init__(self, descriptor: int, tally: OutputCounter) -> None:
        self._descriptor = descriptor
        self._tally = tally
        os.set_blocking(descriptor, False)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while piece := await self.read():
            yield piece

    async def read(self) -> bytes:
        """Return the next piece; empty at the end."""
        while self._descriptor >= 0:
            try:
                piece = os.read(self._descriptor, _PIECE)
            except BlockingIOError:
                await wait_readable(self._descriptor)
                continue
            except OSError:
                piece = b""  # the last process on this terminal ended
            kept = self._tally.take(piece)
            if not piece or (piece and not kept):
                self.close()
            return kept
        return b""

    async def read_all(self) -> bytes:
        """Return everything up to the end."""
        return b"".join([piece async for piece in self])

    def close(self) -> None:
        """Stop reading."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class StdinPipe:
    """Write to the standard input of a command."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        os.set_blocking(descriptor, False)

    async def write(self, data: bytes) -> None:
        """Write all data, waiting while the command reads; raise `BrokenPipeError` if it stops reading."""
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._descriptor, view) :]
            except BlockingIOError:
                await _wait_writable(self._descriptor)

    def close(self) -> None:
        """Close the pipe, so that the command reads the end."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class CommandStreams:
    """The three streams of a command: the ends that it gets, and the ends of its pipes here."""

    def __init__(self, *wanted: int) -> None:
        self._made: list[int] = []
        self._ours: list[int | None] = []
        inner = []
        for index, want in enumerate(wanted):
            theirs, ours = self._open(index, want)
            self._ours.append(ours)
            inner.append(theirs)
        self.inner = (inner[0], inner[1], inner[2])
        """The descriptors that the command gets."""

    def _open(self, index: int, want: int) -> tuple[int, int | None]:
        if want == PIPE:
            read, write = os.pipe2(os.O_CLOEXEC)
            theirs, ours = (read, write) if index == 0 else (write, read)
        elif want == NOTHING:
            theirs, ours = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC), None
        else:
            return want, None
        self._made.append(theirs)
        return theirs, ours

    def close_inner(self) -> None:
        """Close the ends that the command has by now."""
        while self._made:
            os.close(self._made.pop())

    def close(self) -> None:
        """Close every end."""
        self.close_inner()
        for descriptor in self._ours:
            if descriptor is not None:
                os.close(descriptor)
        self._ours = [None, None, None]

    def take(
        self, limit: int | None, at_limit: Callable[[], None]
    ) -> tuple[StdinPipe | None, Output | None, Output | None]:
        """Hand over the ends here: stdin to write, stdout and stderr to read, with one limit for both."""
        counter = OutputCounter(limit, at_limit)
        given, out, err = self._ours
        self._ours = [None, None, None]
        return (
            None if given is None else StdinPipe(given),
            None if out is None else Output(out, counter),
            None if err is None else Output(err, counter),
        )


async def wait_readable(descriptor: int) -> None:
    """Wait until there is data to read, or the end."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(descriptor, _settle, ready)
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)


async def _wait_writable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_writer(descriptor, _settle, ready)
    try:
        await ready
    finally:
        loop.remove_writer(descriptor)


def _settle(future: asyncio.Future[None]) -> None:
    with contextlib.suppress(asyncio.InvalidStateError):
        future.set_result(None)
