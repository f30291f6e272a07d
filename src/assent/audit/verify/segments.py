"""Parts of a log, each checked by itself: here, or by processes of their own that are told one part after the other.

Such a process is a bare interpreter that loads this module: it starts at once, whatever its parent has loaded.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import msgspec

from assent.audit.snapshot import open_snapshot
from assent.audit.verify.chain import Check, SegmentResult
from assent.model import AssentError, StoreError
from assent.store.address import StoreAddress

Progress: TypeAlias = Callable[[int], None]
"""Is told of some more records that are done."""
_TELL_EVERY = 2000
_ENDED = "a process that verified a part of the log ended early"


class Part(msgspec.Struct, frozen=True):
    """The records of a log after one position, up to another."""

    address: StoreAddress
    after: int
    until: int


_read_part = msgspec.json.Decoder(Part).decode
_read_word = msgspec.json.Decoder(int | str | SegmentResult).decode
"""What a process says: how many more records are done, what stopped it, or what it found."""


def check_part(part: Part, progress: Progress) -> SegmentResult:
    """Follow one part of a log."""
    with open_snapshot(part.address) as snapshot:
        return Check(snapshot, part.after, part.until).run(progress)


def check_parts(parts: list[Part], progress: Progress, *, processes: int) -> list[SegmentResult]:
    """Follow several parts, in this process and in others beside it; `progress` is called from several threads."""
    found: dict[int, SegmentResult] = {}
    left = deque(enumerate(parts))
    with ThreadPoolExecutor(max(1, processes - 1)) as threads, contextlib.ExitStack() as stack:
        # The others begin at the end: what comes first is done here, while they are still starting.
        started = [stack.enter_context(_start()) for _ in range(processes - 1)]
        others = [threads.submit(_check_elsewhere, other, left, found, progress) for other in started]
        with contextlib.suppress(IndexError):
            while True:
                number, part = left.popleft()
                found[number] = check_part(part, progress)
        for other in others:
            other.result()
    return [found[number] for number in range(len(parts))]


@contextlib.contextmanager
def _start() -> Iterator[subprocess.Popen[bytes]]:
    # What is found here is found there, and no more: `-P` keeps the folder that it is started in out of it.
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    words = [sys.executable, "-P", "-m", __name__]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ) as process:  # noqa: S603 - ours
        try:
            yield process
        finally:
            process.kill()
            if process.stdin is not None:
                with contextlib.suppress(BrokenPipeError):  # what it was still to be told matters to nobody
                    process.stdin.close()


def _check_elsewhere(
    process: subprocess.Popen[bytes], left: deque[tuple[int, Part]], found: dict[int, SegmentResult], progress: Progress
) -> None:
    with contextlib.suppress(IndexError):
        while True:
            number, part = left.pop()
            found[number] = _have_checked(process, part, progress)


def _have_checked(process: subprocess.Popen[bytes], part: Part, progress: Progress) -> SegmentResult:
    to, by = process.stdin, process.stdout
    if to is None or by is None:
        raise StoreError(_ENDED)
    try:
        to.write(msgspec.json.encode(part) + b"\n")
        to.flush()
        while line := by.readline():
            said = _read_word(line)
            if isinstance(said, SegmentResult):
                return said
            if isinstance(said, str):
                raise StoreError(said)
            progress(said)
    except (BrokenPipeError, msgspec.MsgspecError):
        raise StoreError(_ENDED) from None
    raise StoreError(_ENDED)


def _answer(part: Part, say: Callable[[int | str | SegmentResult], object]) -> None:
    done = 0

    def tell(count: int) -> None:
        nonlocal done
        done += count
        if done >= _TELL_EVERY:
            say(done)
            done = 0

    try:
        found = check_part(part, tell)
    except AssentError as error:
        say(str(error))
    else:
        say(done)
        say(found)


def main() -> None:
    """Check one part after the other, until nobody asks for more, or nobody listens."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this process hears it too, and ends it
    gc.disable()  # it makes rows, and throws them away: nothing that only a collector could find
    with os.fdopen(1, "wb", buffering=0, closefd=False) as answers:
        for line in sys.stdin.buffer:
            _answer(_read_part(line), lambda said: answers.write(msgspec.json.encode(said) + b"\n"))


if __name__ == "__main__":
    main()
