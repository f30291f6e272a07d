"""Build tool calls from command-line arguments or lines of a batch."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, assert_never

import msgspec

from assent.analysis.tools.names import Shape, find_tool
from assent.model import CallError, ToolCall
from assent.platform.paths import real_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST_INPUT = 1 << 20
_OBJECT = msgspec.json.Decoder(dict[str, Any])


class BatchLine(msgspec.Struct, frozen=True):
    """One line of a batch; other fields are ignored."""

    command: str | None = None
    tool: str | None = None
    input: dict[str, Any] | None = None
    cwd: str | None = None
    mode: str | None = None
    environment: dict[str, str | None] | None = None
    """The environment of the command; null means that the value is unknown."""


_LINE = msgspec.json.Decoder(BatchLine)


def read_line(data: bytes) -> BatchLine:
    """Read one line of a batch, or raise `CallError`."""
    line: BatchLine = _decode(_LINE, data)
    if line.command is not None and line.input is not None:
        raise CallError("the line has both `command` and `input`")
    if line.command is None and line.tool is None:
        raise CallError("the line has neither `command` nor `tool`")
    if line.tool == "":
        raise CallError("`tool` is empty")
    return line


def call_of(line: BatchLine, cwd: str) -> ToolCall:
    """Return the call that a line describes."""
    given = {"command": line.command} if line.command is not None else line.input or {}
    return ToolCall(tool=line.tool or "Bash", input=given, cwd=cwd)


def call_from_words(tool: str, words: Sequence[str], cwd: str) -> ToolCall:
    """Return the call given as arguments; several words are joined to one command."""
    if not tool:
        raise CallError("--tool needs a name")
    text = _read_stdin() if list(words) == ["-"] else " ".join(words)
    return ToolCall(tool=tool, input=_input_of(find_tool(tool).shape, text, given=bool(words)), cwd=cwd)


def find_folder(cwd: str | None, base: str | None = None) -> str:
    """Return the absolute path of a working directory that exists, or raise `CallError`."""
    named = os.path.join(base or _here(), cwd if cwd is not None else "")  # noqa: PTH118 - paths are strings here
    real = real_folder(named)
    if real is None or cwd == "":
        raise CallError(f"folder not found: `{cwd if cwd is not None else named}`")
    # Only the file system knows where `..` after a symbolic link leads.
    return real if ".." in named.split("/") else "/" + os.path.normpath(named).lstrip("/")


def _here() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - paths are strings here
    except OSError:
        raise CallError("the current working directory no longer exists") from None


def _input_of(shape: Shape, text: str, *, given: bool) -> dict[str, Any]:
    if shape not in ("command", "foreign-shell"):
        if not given:
            return {}
        if text.lstrip().startswith("{"):
            found: dict[str, Any] = _decode(_OBJECT, text.encode())
            return found
    match shape:
        case "command" | "foreign-shell":
            if not given:
                raise CallError("no command given; pass one, or `-` to read it from stdin")
            return {"command": text}
        case "read" | "write":
            return {"file_path": text}
        case "search":
            return {"pattern": text}
        case "fetch":
            return {"url": text}
        case "inert" | "unknown":
            raise CallError("this tool's input must be a JSON object")
        case _:
            assert_never(shape)


def _decode(decoder: msgspec.json.Decoder[Any], data: bytes) -> Any:
    try:
        data.decode()  # the decoder does not check fields that it skips
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise CallError(f"not a tool call: {error}") from None
    except UnicodeDecodeError:
        raise CallError("not valid UTF-8") from None
    except msgspec.DecodeError as error:
        raise CallError(f"not valid JSON: {error}") from None
    except RecursionError:
        raise CallError("nested too deeply") from None


def _read_stdin() -> str:
    if sys.stdin is None:
        raise CallError("stdin is closed")
    data = sys.stdin.buffer.read(LONGEST_INPUT + 1)
    if len(data) > LONGEST_INPUT:
        raise CallError(f"stdin is larger than {LONGEST_INPUT >> 20} MiB")
    try:
        return data.decode().removesuffix("\n")
    except UnicodeDecodeError:
        raise CallError("stdin is not valid UTF-8") from None
