"""The guarded tools by name: what each is given. What it then does, and only after its guard let it, is in `work`."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

from assent.analysis.tools.names import find_tool

LONGEST_TIMEOUT = 24 * 3600.0

Path: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
Text: TypeAlias = Annotated[str, msgspec.Meta(max_length=4 << 20)]
Line: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=128 << 10)]
Seconds: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=LONGEST_TIMEOUT)]


class ReadFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Return what a file holds."""

    path: Path


class WriteFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Make a file hold this, whole or not at all; folders on the way are made."""

    path: Path
    content: Text


class EditFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Replace one piece of a file, which must be in it exactly once."""

    path: Path
    old: Annotated[str, msgspec.Meta(min_length=1, max_length=4 << 20)]
    new: Text


class ListDir(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Return the names in a folder; folders end in `/`, links in `@`, pipes and the like in `=`."""

    path: Path


class SearchFiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Return the lines that match a pattern, in a folder and below; files that may not be read are passed over."""

    pattern: Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
    path: Path = "."


class RunCommand(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Run a line of bash in the sandbox, and return what it wrote."""

    command: Line
    cwd: Path | None = None
    timeout: Seconds | None = None


FileInput: TypeAlias = ReadFile | WriteFile | EditFile | ListDir | SearchFiles
ToolInput: TypeAlias = FileInput | RunCommand

TOOLS: dict[str, type[ToolInput]] = {
    "read_file": ReadFile,
    "write_file": WriteFile,
    "edit_file": EditFile,
    "list_dir": ListDir,
    "search_files": SearchFiles,
    "run_command": RunCommand,
}
_BY_CANONICAL = {find_tool(name).name: name for name in TOOLS}


def guarded_name(tool: str) -> str:
    """Return the guarded tool that goes by this name in any vocabulary; for other tools, their usual name."""
    name = find_tool(tool).name
    return _BY_CANONICAL.get(name, name)
