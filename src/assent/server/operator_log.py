"""What the daemon tells its operator: one line for each thing, on stderr. No secret and no input is ever in it."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import traceback
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO

from assent.audit.masking import Mask

if TYPE_CHECKING:
    from collections.abc import Callable

    from assent.config.settings import LogFormat, LogLevel

_RANK: dict[str, int] = {"debug": 0, "info": 1, "warning": 2, "error": 3}


class Journal:
    """Writes lines of JSON, or of text for people, from a level on."""

    def __init__(
        self,
        form: LogFormat = "json",
        level: LogLevel = "info",
        *,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._form = form
        self._least = _RANK[level]
        self._stream = stream if stream is not None else sys.stderr
        self._clock = clock
        self._mask = Mask(os.urandom(32))

    def note(self, level: LogLevel, event: str, **facts: Any) -> None:
        """Write one line. Nobody may be reading: what is decided does not depend on it."""
        if _RANK[level] < self._least:
            return
        facts = {name: self._mask.value(_plain(value), name) for name, value in facts.items()}
        at = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(self._write(at, level, event, facts) + "\n")
            self._stream.flush()

    def fault(self, event: str, error: BaseException, **facts: Any) -> None:
        """Write down a fault of ours: its kind and where it was raised, never the values that were at hand."""
        frames = traceback.extract_tb(error.__traceback__)
        where = [f"{frame.name}:{frame.lineno}" for frame in frames[-6:]]
        self.note("error", event, **facts, fault=type(error).__name__, where=where)

    def _write(self, at: str, level: str, event: str, facts: dict[str, Any]) -> str:
        if self._form == "json":
            line = {"at": at, "level": level, "event": event, **facts}
            return json.dumps(line, default=str, ensure_ascii=True)
        said = " ".join(
            f"{name}={_ascii(repr(value) if isinstance(value, str) else str(value))}" for name, value in facts.items()
        )
        return f"{at} {level:<7} {event} {said}".rstrip()


def _plain(value: Any) -> Any:
    """Return a fact as what can be looked through: texts, and lists and mappings of them."""
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if isinstance(value, str | int | float | type(None)) else str(value)


def _ascii(text: str) -> str:
    """Keep every character visible and every line one line, whatever somebody put into a path."""
    return text if text.isascii() else text.encode("ascii", "backslashreplace").decode()
