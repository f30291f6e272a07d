"""A process on record: that it began, some of what it writes, and how it ended.

What it writes is passed on whole to whoever listens; the log has excerpts, so that no program can flood it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import secrets
from collections.abc import Callable, Iterator
from typing import Any

from assent.audit.masking import cut
from assent.model import Event, EventType
from assent.runs.records import RunPlace, tool_event, violation_event
from assent.runs.run import Run
from assent.sandbox import ProcessResult

EXCERPT_SECONDS = 1.0
LONGEST_EXCERPT = 2000
MOST_EXCERPTS = 100
"""Of one stream of one process: one a second at most, each of so many characters, and so many in all."""
RECORDED_OUTPUT = 2000
_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----")
_KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]*PRIVATE KEY-----")
Tell = Callable[[dict[str, Any]], None]
_log = logging.getLogger(__name__)


class Excerpt:
    """What is told of one stream: whole lines, of each second the first ones, and how much was left out.

    Lines are kept whole, and the lines of a private key together, because what looks for secrets sees one excerpt.
    """

    def __init__(self, stream: str, tell: Tell) -> None:
        self._stream = stream
        self._tell = tell
        self._lines: list[str] = []
        self._size = 0
        self._rest = ""
        self._told = 0
        self._in_key = False
        self._timer: asyncio.TimerHandle | None = None
        self.skipped = 0
        """How many characters nobody was told of yet."""

    def take(self, text: str) -> None:
        """Take in what was written."""
        if self._told >= MOST_EXCERPTS:
            self.skipped += len(text)
            return
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._keep(f"{line}\n")
        if len(self._rest) > LONGEST_EXCERPT:
            self._keep_rest()
        if self._timer is None:
            self._say()

    def close(self) -> None:
        """Tell what is left."""
        self._keep_rest()
        self._say()
        if self._timer is not None:
            self._timer.cancel()

    def _keep_rest(self) -> None:
        rest, self._rest = self._rest, ""
        if rest:
            self._keep(rest)

    def _keep(self, line: str) -> None:
        hidden = self._in_key or _KEY_BEGINS.search(line) is not None
        self._in_key = hidden and _KEY_ENDS.search(line) is None
        kept = "" if hidden or self._told >= MOST_EXCERPTS else cut(line, LONGEST_EXCERPT)
        if not kept or self._size + len(kept) > LONGEST_EXCERPT:
            self.skipped += len(line)
            return
        self.skipped += len(line) - len(kept)
        self._lines.append(kept)
        self._size += len(kept)

    def _say(self) -> None:
        if self._lines:
            said = {"stream": self._stream, "text": "".join(self._lines), "skipped": self.skipped or None}
            self._lines, self._size, self.skipped = [], 0, 0
            self._told += 1
            self._tell(said)
        elif not self._rest:
            return
        self._timer = asyncio.get_running_loop().call_later(EXCERPT_SECONDS, self._ring)

    def _ring(self) -> None:
        """Tell what came meanwhile, also a line that has not ended: it may be a question."""
        self._timer = None
        self._keep_rest()
        self._say()


class ProcessRecorder:
    """One process of a run."""

    def __init__(self, run: Run, place: RunPlace, tool: str) -> None:
        self._run = run
        self._place = place
        self._tool = tool
        self._id = f"process_{secrets.token_hex(8)}"
        self._under_way = False
        self._excerpts: dict[str, Excerpt] = {}

    def begin(self) -> Event:
        """Say that it begins."""
        self._under_way = True
        return self._event("process.started")

    def take(self, text: str, stream: str) -> None:
        """Hear what it writes; some of it is in the log soon."""
        if stream not in self._excerpts:
            self._excerpts[stream] = Excerpt(stream, lambda said: self._note(self._event("process.output", **said)))
        self._excerpts[stream].take(text)

    def end(self, ended: ProcessResult, output: str) -> tuple[Event, ...]:
        """Say what it was kept from, and how it ended: by itself, well or not, or by us."""
        kind: EventType = "process.completed" if not ended.code else "process.failed"
        kind = kind if ended.stopped is None else "process.terminated"
        reason = None if ended.stopped is None else ended.why_stopped
        if ended.stopped == "boundary":
            _log.error("a sandbox could not be kept up: %s", ended.fault)
        kept = cut(output, RECORDED_OUTPUT) or None
        done = self._finish(kind, code=ended.code, stopped=ended.stopped, reason=reason, output=kept)
        stopped = (violation_event(self._run.record, self._place, v) for v in ended.violations)
        return (*stopped, done)

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """See to it that what begins inside ends on record, also where it is cut off."""
        try:
            yield
        except BaseException as error:
            if self._under_way:
                cancelled = isinstance(error, asyncio.CancelledError)
                kind: EventType = "process.terminated" if cancelled else "process.failed"
                self._note(self._finish(kind, stopped="cancelled" if cancelled else None, error=str(error) or None))
            raise

    def _finish(self, kind: EventType, **more: Any) -> Event:
        for excerpt in self._excerpts.values():
            excerpt.close()
        self._under_way = False
        skipped = sum(excerpt.skipped for excerpt in self._excerpts.values())
        return self._event(kind, **more, skipped=skipped or None)

    def _event(self, kind: EventType, **more: Any) -> Event:
        return tool_event(kind, self._run.record, self._place, self._tool, process=self._id, **more)

    def _note(self, event: Event) -> None:
        self._run.context.log.note(event)
