"""The mark: the last seal of an installation, written beside its key once its anchor lasts.

A log that lacks the marked seal was cut back or replaced, whatever its database and its anchors say.
"""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH118

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator

import msgspec

from assent.audit.seals.seal import Last
from assent.model import ConfigError, StoreError
from assent.platform.files import find_private, write_private

FILE_NAME = "log.last"
_MEND = "make its mode 0600"


class Mark(msgspec.Struct, frozen=True):
    """The last seal, and if the log was found to be changed since, what was found."""

    last: Last
    fault: str = ""


_decode = msgspec.json.Decoder(Mark).decode


def mark_file(home: str) -> str:
    """Return where the mark is."""
    return os.path.join(home, "keys", FILE_NAME)


def read_mark(home: str) -> Mark | None:
    """Return the mark; None if there is none, or `StoreError` if it cannot be read."""
    path = mark_file(home)
    try:
        data = find_private(path, suggestion=_MEND)
        return None if data is None else _decode(data)
    except (ConfigError, msgspec.MsgspecError, ValueError) as error:
        raise StoreError(f"the mark in `{path}` cannot be read: {error}") from None


def move_mark(home: str, last: Last) -> None:
    """Move the mark forward, durably; never back, whichever process comes last."""
    with _locked(home):
        there = read_mark(home)
        if there is None or there.last.number < last.number:
            _write(home, Mark(last, "" if there is None else there.fault))


def mark_fault(home: str, last: Last, fault: str) -> None:
    """Mark that the log was found to be changed: no later process of this installation seals it, and none forgets."""
    with _locked(home):
        there = read_mark(home)
        if there is None or not there.fault:
            _write(home, Mark(last if there is None else there.last, fault))


@contextlib.contextmanager
def _locked(home: str) -> Iterator[None]:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(f"{mark_file(home)}.lock", flags, 0o600)) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _write(home: str, mark: Mark) -> None:
    write_private(mark_file(home), msgspec.json.encode(mark))
