"""Decide many calls, one JSON object per line, in constant memory. An invalid line gets an error line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

from assent.analysis.resources.environment import select
from assent.cli.engines import refuse
from assent.cli.options.arguments import MODES
from assent.cli.options.tool_call import LONGEST_INPUT, call_of, find_folder, read_line
from assent.cli.output.decision_json import Answer, Fault, answer_of, encode
from assent.model import AssentError, CallError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.cli.engines import Bench
    from assent.decisions.engine_cache import EngineCache

CHUNK = 1 << 16


class LineSource(Protocol):
    """A source of bytes that returns what is available and blocks only if there is nothing."""

    def read1(self, size: int, /) -> bytes:
        """Return some bytes; empty at the end."""


def run_batch(engines: EngineCache[Bench], cwd: str, source: LineSource, sink: BinaryIO) -> None:
    """Answer every line of the source. Flush the answers before waiting for more input."""
    sink.writelines(encode(answer_line(line, engines, cwd)) + b"\n" for line in split_lines(source, sink))
    sink.flush()


def split_lines(source: LineSource, sink: BinaryIO) -> Iterator[bytes | None]:
    """Split the input into lines; None stands for a line that is too long, which is not kept in memory."""
    kept, dropping = b"", False
    while chunk := source.read1(CHUNK):
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            whole = kept + line
            yield None if dropping or len(whole) > LONGEST_INPUT else whole
            kept, dropping = b"", False
        kept = b"" if dropping else kept + rest
        if len(kept) > LONGEST_INPUT:
            kept, dropping = b"", True
        sink.flush()
    if kept or dropping:
        yield None if dropping else kept


def answer_line(data: bytes | None, engines: EngineCache[Bench], cwd: str) -> Answer | Fault:
    """Answer one line."""
    try:
        return _decide(data, engines, cwd)
    except CallError as error:
        return Fault(str(error))


def _decide(data: bytes | None, engines: EngineCache[Bench], base: str) -> Answer:
    if data is None:
        raise CallError(f"the line is longer than {LONGEST_INPUT >> 20} MiB")
    line = read_line(data)
    if line.mode is not None and line.mode not in MODES:
        raise CallError(f"unknown mode `{line.mode}`")
    modes = (MODES[line.mode],) if line.mode is not None else ()
    call = call_of(line, base)
    try:
        if line.cwd is not None:
            call = call_of(line, find_folder(line.cwd, base))
        environment = None if line.environment is None else select(line.environment)
        return answer_of(engines.find(call.cwd or base).decide(call, modes, environment))
    except AssentError as error:
        return answer_of(refuse(call, error))


def standard_source() -> LineSource:
    """Return stdin as bytes."""
    if sys.stdin is None:
        raise CallError("stdin is closed")
    return cast("LineSource", sys.stdin.buffer)
