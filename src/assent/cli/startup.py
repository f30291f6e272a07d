"""What a process that answers one question leaves out on its way in and out, since somebody waits for the answer."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from typing import NoReturn


def load_records() -> None:
    """Load msgspec without `typing_extensions`: it looks for that, is slow to find it, and needs nothing in it."""
    if not {"msgspec", "typing_extensions"}.isdisjoint(sys.modules):
        return
    sys.modules["typing_extensions"] = None  # type: ignore[assignment]  # how an import is made to fail
    try:
        import msgspec  # noqa: F401, PLC0415 - loaded for those who import it later
    finally:
        del sys.modules["typing_extensions"]


def load_loop() -> None:
    """Load asyncio without TLS, which it brings along and nothing here speaks."""
    if not {"asyncio", "ssl"}.isdisjoint(sys.modules):
        return
    sys.modules["ssl"] = None  # type: ignore[assignment]  # as above
    try:
        import asyncio  # noqa: F401, PLC0415 - as above
    finally:
        del sys.modules["ssl"]


def collect_garbage() -> None:
    """Look for garbage after all, but not among what was loaded so far: what now begins may take long."""
    gc.freeze()
    gc.enable()


def keep_garbage() -> None:
    """Look for no garbage: the process ends before there is any to speak of."""
    gc.disable()


def leave(code: int) -> NoReturn:
    """End the process at once; what it wrote to stdout has been sent. Taking everything down piece by piece is slow."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.flush()  # nobody may be reading there, or it may not even be open
    os._exit(code)
