"""Start and end short-lived processes fast: lazy imports, no garbage collection, immediate exit."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from typing import NoReturn


def load_records() -> None:
    """Import msgspec without `typing_extensions`, which is slow to import and not needed."""
    if not {"msgspec", "typing_extensions"}.isdisjoint(sys.modules):
        return
    sys.modules["typing_extensions"] = None  # type: ignore[assignment]  # makes the import fail
    try:
        import msgspec  # noqa: F401, PLC0415 - imported for later users
    finally:
        del sys.modules["typing_extensions"]


def load_loop() -> None:
    """Import asyncio without `ssl`, which nothing here uses."""
    if not {"asyncio", "ssl"}.isdisjoint(sys.modules):
        return
    sys.modules["ssl"] = None  # type: ignore[assignment]  # as above
    try:
        import asyncio  # noqa: F401, PLC0415 - as above
    finally:
        del sys.modules["ssl"]


def collect_garbage() -> None:
    """Enable garbage collection for a long-running command, except for objects loaded so far."""
    gc.freeze()
    gc.enable()


def keep_garbage() -> None:
    """Disable garbage collection: the process ends before it would help."""
    gc.disable()


def leave(code: int) -> NoReturn:
    """End the process without interpreter shutdown, which is slow. The caller has flushed stdout."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.flush()  # it may be closed
    os._exit(code)
