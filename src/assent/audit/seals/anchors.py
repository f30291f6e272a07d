"""Anchors: every checkpoint once more in a file beside the database, so that a shortened log is found out."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH116, PTH118, PTH123

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator
from io import FileIO

import msgspec

from assent.model import StoreError

FILE_NAME = "anchors.jsonl"
_LONGEST_LINE = 4096


class Anchor(msgspec.Struct, frozen=True):
    """A checkpoint, as it is written outside the database."""

    writer: str
    seq: int
    position: int
    hash: str
    at: float
    signature: str
    number: int | None = None
    """How many seals there were with this one; those of earlier versions do not say."""
    key: str = ""
    """The key that checks the signature, in hex."""


_decoder = msgspec.json.Decoder(Anchor)


def anchor_file(home: str) -> str:
    """Return where the anchors are."""
    return os.path.join(home, FILE_NAME)


def drop_anchors(path: str, anchors: Iterable[Anchor]) -> None:
    """Append anchors, durably."""
    data = b"".join(msgspec.json.encode(a) + b"\n" for a in anchors)
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags, 0o600), "ab+", buffering=0) as file:
        _cut_half_line(file)
        file.write(data)
        os.fsync(file.fileno())


def measure_anchors(path: str) -> int:
    """Return how many bytes of anchors there are now: what they anchor is in every later state of the log."""
    with contextlib.suppress(FileNotFoundError):
        return os.stat(path, follow_symlinks=False).st_size
    return 0


def read_anchors(path: str) -> Iterator[Anchor]:
    """Go through the anchors that are there now, one at a time. A last line without its end was never finished."""
    return (anchor for anchor, _ in place_anchors(path))


def place_anchors(path: str) -> Iterator[tuple[Anchor, int]]:
    """Go through the anchors that are there now, each with where its line ends."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return iter(())
    except OSError as error:
        reason = "it is a symbolic link" if error.errno == errno.ELOOP else error.strerror
        raise StoreError(f"the anchors in `{path}` cannot be read: {reason}") from None
    return _read_lines(descriptor, os.fstat(descriptor).st_size, path)


def _read_lines(descriptor: int, size: int, path: str) -> Iterator[tuple[Anchor, int]]:
    end = 0
    with open(descriptor, "rb") as file:
        while end < size and (line := file.readline(_LONGEST_LINE)):
            end += len(line)
            if not line.endswith(b"\n") and len(line) < _LONGEST_LINE:
                return
            try:
                yield _decoder.decode(line), end
            except (msgspec.MsgspecError, ValueError):
                raise StoreError(f"the anchors in `{path}` are damaged") from None


def _cut_half_line(file: FileIO) -> None:
    """Cut off what a crash left of a line, so that it does not spoil the next one."""
    size = file.seek(0, os.SEEK_END)
    start = file.seek(max(0, size - _LONGEST_LINE))
    tail = file.read(_LONGEST_LINE)
    whole = start + tail.rfind(b"\n") + 1
    if whole < size:
        file.truncate(whole)
