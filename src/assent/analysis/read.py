"""The entry point: one tool call in, its operations out."""

from __future__ import annotations

import functools
import itertools
import operator
import shlex
from collections.abc import Callable
from typing import Any, TypeAlias, assert_never

import assent.lazy_regex as re
from assent.analysis.budget import Meter
from assent.analysis.resources.paths import Place
from assent.analysis.tools import structured
from assent.analysis.tools.command_lines import read_lines
from assent.analysis.tools.input_fields import FOLDER_FIELDS, PROSE, text_of
from assent.analysis.tools.names import KnownTool, find_tool
from assent.model import (
    COMMAND_EXECUTE,
    DANGEROUS,
    SAFE,
    TOOL_CALL,
    UNKNOWN,
    Operation,
    Reading,
    ToolCall,
)

COMMAND_FIELDS = ("command", "input", "cmd", "CommandLine", "commandLine")
_ESCALATIONS = (
    "dangerouslyDisableSandbox",
    "with_escalated_permissions",
    "sandbox_permissions",
    "additional_permissions",
)
_ENVIRONMENTS = ("env", "environment", "environ", "envs", "env_vars", "envVars", "environment_variables")
_FEEDS = ("stdin", "script", "code", "commands")
_KNOWN = frozenset((*COMMAND_FIELDS, *FOLDER_FIELDS, *_ESCALATIONS, *_ENVIRONMENTS, *_FEEDS, "args", "shell"))
"""Fields that say what runs, where, or how."""
_PLAIN = frozenset(
    (
        *("command", "description", "timeout", "timeout_ms", "timeout_seconds", "run_in_background", "is_background"),
        *("background", "explanation", "justification", "reason", "login", "tty", "yield_time_ms"),
        *("max_output_tokens", "requires_approval"),
    )
)
"""What else a shell tool is given that changes nothing about its line."""
_OF_A_LINE = (_KNOWN | _PLAIN) - {*_ENVIRONMENTS, *_FEEDS}
"""Fields of a shell tool that are read as its line, or that name nothing."""
_MAY_RUN = re.compile(r"(?i)(?:command|cmd|argv|(?<!de)script|program|exec|code|stdin|^line$|^run$)")
_ABOUT_IT = re.compile(r"(?i)(?:description|timeout|title|summary|reason|id|ms|mode)$")
_SHELLS = ("bash", "/bin/bash", "/usr/bin/bash", True, False)
_LineReader: TypeAlias = Callable[..., tuple[tuple[Operation, ...], str | None]]
_variable, _sends, _rank = map(operator.attrgetter, ("variable", "sends", "tier.rank"))
_FETCHED = frozenset(("url", "uri", "prompt"))
_NO_COMMAND = (
    Operation(
        kind=COMMAND_EXECUTE,
        resource=UNKNOWN,
        argv=(UNKNOWN,),
        tier=DANGEROUS,
        reason="names no command",
    ),
)


def read(call: ToolCall, place: Place) -> Reading:
    """Find what a call would do. What its input does not say clearly is unknown, and so dangerous."""
    tool = find_tool(call.tool)
    operations, unreadable = _operations(tool, call, place)
    worst = operations[0] if len(operations) == 1 else _worst(operations)
    return Reading(
        tool=tool.name,
        operations=operations,
        tier=worst.tier,
        reason=worst.reason,
        unreadable=unreadable,
        environment=place.ambient.digest if place.ambient.threats and any(map(_variable, operations)) else "",
        facts={"disk": place.facts.disk},
    )


def _worst(operations: tuple[Operation, ...]) -> Operation:
    """Return the worst operation by its tier; of equal ones, the first that sends secrets away."""
    worst = max(operations, key=_rank)
    if not any(map(_sends, operations)):
        return worst
    return next((o for o in operations if o.sends and o.tier is worst.tier), worst)


def _operations(tool: KnownTool, call: ToolCall, place: Place) -> tuple[tuple[Operation, ...], str | None]:
    match tool.shape:
        case "command":
            return _command(call, place)
        case "read":
            return structured.read_files(call, place), None
        case "write":
            return structured.write_files(tool, call, place), None
        case "search":
            return structured.search_files(tool, call, place), None
        case "fetch":
            from assent.analysis.resources import urls  # noqa: PLC0415 - few calls contact anybody

            found = urls.fetch(call.tool, call.input)
            others = {f: v for f, v in call.input.items() if f not in _FETCHED or not isinstance(v, str)}
            return (found + structured.beside(tool, others, place, found) if others else found), None
        case "inert":
            return structured.of_unknown_use(structured.plain(tool, SAFE, tool.does), call.input, place, PROSE), None
        case "foreign-shell":
            return _of_unknown_use(tool, tool.does, call, place), "a command of another shell"
        case "unknown":
            does = tool.does or "unknown tool: Assent cannot tell what it does"
            return _of_unknown_use(tool, does, call, place), None
        case _:
            assert_never(tool.shape)


def _of_unknown_use(tool: KnownTool, does: str, call: ToolCall, place: Place) -> tuple[Operation, ...]:
    """Return a call of which nobody knows what it does, with what it names, and what its command lines would do."""
    named = structured.of_unknown_use(structured.plain(tool, DANGEROUS, does), call.input, place)
    return tuple(dict.fromkeys((*named, *read_lines(call.input, place))))


def _command(call: ToolCall, place: Place) -> tuple[tuple[Operation, ...], str | None]:
    """Read a call of a shell tool: as a rule it is one line, and nothing besides says what runs."""
    line = call.input.get("command")
    if not isinstance(line, str) or not call.input.keys() <= _PLAIN:
        return _commands(call, place)
    found = _line_reader()(line, place, place.cwd)
    return _held_against(place.shell, line, *found) if place.shell else found


def _commands(call: ToolCall, place: Place) -> tuple[tuple[Operation, ...], str | None]:
    """Read every field that may hold the command: which of them runs is the agent's choice, not ours."""
    read_line = _line_reader()
    given = [call.input[f] for f in COMMAND_FIELDS if call.input.get(f) is not None]
    lines = [_line(g, call.input.get("args")) for g in given] or [None]
    found: tuple[Operation, ...] = ()
    unreadable = None
    moved = _moved(call, place)
    # Whether it goes where a field says is the agent's choice too: a field that it does not know leaves it where it is.
    places = (moved,) if moved.cwd == place.cwd else (moved, place)
    meter = Meter()  # all of them together are one call
    for line, where in itertools.product(lines, [where.metered(meter) for where in places]):
        operations, why = (
            _held_against(place.shell, line, *read_line(line, where, place.cwd))
            if line is not None
            else (_NO_COMMAND, "contains no command")
        )
        found += tuple(_shifted(o, len(found)) for o in operations)
        unreadable = unreadable or why
    others = {field: value for field, value in call.input.items() if field not in _OF_A_LINE}
    beside = structured.beside(find_tool(call.tool), others, place)
    return (*found, *_extras(call), *beside, *read_lines(others, place)), unreadable


@functools.cache
def _line_reader() -> _LineReader:
    from assent.analysis.lines.commands import read_line  # noqa: PLC0415 - the grammar is loaded when a line is first read

    return read_line


def _held_against(
    shell: str, line: str | tuple[str, ...], operations: tuple[Operation, ...], unreadable: str | None
) -> tuple[tuple[Operation, ...], str | None]:
    """Hold what was read against the shell that will run the line: what that reads otherwise is not known."""
    if not shell or not isinstance(line, str):
        return operations, unreadable
    from assent.analysis.languages.shell_dialects import misread  # noqa: PLC0415 - few lines are for another shell

    why = misread(line, shell)
    if why is None:
        return operations, unreadable
    unknown = Operation(kind=COMMAND_EXECUTE, resource=UNKNOWN, argv=(UNKNOWN,), tier=DANGEROUS, reason=why)
    return (*operations, unknown), unreadable or why


def _line(line: Any, args: Any) -> str | tuple[str, ...] | None:
    """Return the command as text or as words; None if it is neither."""
    if isinstance(line, list) and line and args is None and all(isinstance(w, str) for w in line):
        return tuple(line)
    if not isinstance(line, str):
        return None
    if args is None:
        return line
    if not isinstance(args, list) or not all(isinstance(a, str) for a in args):
        return None
    return " ".join((line, *map(shlex.quote, args)))


def _moved(call: ToolCall, place: Place) -> Place:
    """Apply a working directory given in the input; it resolves paths, and moves no boundary."""
    given = {text_of(call.input[f]) for f in FOLDER_FIELDS if call.input.get(f) is not None}
    if not given:
        return place
    folders = {place.locate(folder).path for folder in given}
    cwd = folders.pop()
    moved = cwd if not folders and UNKNOWN not in cwd else None
    known = place.workspace, place.run, place.lexicon, place.shell, place.linked, place.ambient
    return Place(place.facts, moved, *known)


def _extras(call: ToolCall) -> tuple[Operation, ...]:
    """Find what a shell tool's other fields ask for."""
    found = []
    if any(call.input.get(f) for f in _ENVIRONMENTS):
        found.append("sets environment variables for the command")
    if any(call.input.get(f) for f in _FEEDS) or any(_may_run(f, v) for f, v in call.input.items()):
        found.append("sets more than the command")
    if any(call.input.get(f) not in (None, False, "use_default") for f in _ESCALATIONS):
        found.append("asks to leave the agent's own sandbox")
    shell = call.input.get("shell")
    if shell is not None and shell not in _SHELLS:
        found.append("names another program as its shell")
    return tuple(Operation(kind=TOOL_CALL, resource=call.tool, tier=DANGEROUS, reason=r) for r in found)


def _may_run(field: str, value: Any) -> bool:
    """Tell whether a field that is not known may say what runs."""
    if field in _KNOWN or field in _PLAIN or not isinstance(value, str | list | dict) or not value:
        return False
    return _MAY_RUN.search(field) is not None and _ABOUT_IT.search(field) is None


def _shifted(operation: Operation, by: int) -> Operation:
    import msgspec  # noqa: PLC0415 - the rare case of two command fields

    if not by or operation.owner is None:
        return operation
    return msgspec.structs.replace(operation, owner=operation.owner + by)
