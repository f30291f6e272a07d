"""The entry point: one tool call in, its operations out."""

from __future__ import annotations

import contextlib
import functools
import itertools
import operator
import shlex
from collections.abc import Callable
from typing import Any, TypeAlias, assert_never

import assent.regex as re
from assent.model import (
    COMMAND_EXECUTE,
    DANGEROUS,
    FS_READ,
    FS_WRITE,
    SAFE,
    TOOL_CALL,
    UNKNOWN,
    CallError,
    Operation,
    Reading,
    Tier,
    ToolCall,
    within,
)
from assent.reading.fields import (
    FILTER_FIELDS,
    FOLDER_FIELDS,
    PATH_FIELDS,
    PATH_LISTS,
    check_number,
    folders_in,
    named_paths,
    other_paths,
    patterns_in,
    text_of,
    texts_of,
)
from assent.reading.meter import Meter
from assent.reading.paths import INHERITED, Located, Place
from assent.reading.tools import Tool, find_tool

PATCH_FIELDS = ("command", "patch", "input", "patchText", "patch_text", "diff")
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
_MAY_RUN = re.compile(r"(?i)(?:command|cmd|argv|(?<!de)script|program|exec|code|stdin|^line$|^run$)")
_ABOUT_IT = re.compile(r"(?i)(?:description|timeout|title|summary|reason|id|ms|mode)$")
_SHELLS = ("bash", "/bin/bash", "/usr/bin/bash", True, False)
_GLOB_FIELDS = ("pattern", "query", "glob_pattern", "glob")
_PATTERN_FIELDS = (*_GLOB_FIELDS, "regex", "search_term")
_LineReader: TypeAlias = Callable[..., tuple[tuple[Operation, ...], str | None]]
_variable = operator.attrgetter("variable")
_DELETE, _GREP = find_tool("Delete"), find_tool("Grep")
_PATCHES = ("apply_patch", "patch")
"""Tools that have nothing but their patch to go by."""
_NO_COMMAND = (
    Operation(
        kind=COMMAND_EXECUTE,
        resource=UNKNOWN,
        argv=(UNKNOWN,),
        tier=DANGEROUS,
        reason="it does not say which command it runs",
    ),
)


def read(call: ToolCall, place: Place) -> Reading:
    """Find what a call would do. What its input does not say clearly is unknown, and so dangerous."""
    tool = find_tool(call.tool)
    operations, unreadable = _operations(tool, call, place)
    worst = operations[0] if len(operations) == 1 else max(operations, key=_rank)
    return Reading(
        tool=tool.name,
        operations=operations,
        tier=worst.tier,
        reason=worst.reason,
        unreadable=unreadable,
        environment=place.ambient.digest if place.ambient.threats and any(map(_variable, operations)) else "",
        facts={"disk": place.facts.disk},
    )


def _rank(operation: Operation) -> tuple[int, bool]:
    """Rank operations by tier; of equal ones, what sends secrets away comes first."""
    return operation.tier.rank, bool(operation.sends)


def _operations(tool: Tool, call: ToolCall, place: Place) -> tuple[tuple[Operation, ...], str | None]:
    match tool.shape:
        case "command":
            return _command(call, place)
        case "read":
            return _read_files(call, place), None
        case "write":
            return _writes(tool, call, place), None
        case "search":
            return _search(tool, call, place), None
        case "fetch":
            from assent.reading import web  # noqa: PLC0415 - few calls contact anybody

            return web.fetch(call.tool, call.input), None
        case "inert":
            return (_plain(tool, SAFE, tool.does),), None
        case "foreign-shell":
            return (_plain(tool, DANGEROUS, tool.does),), "a line of another shell"
        case "unknown":
            return (_unknown(tool, call, place),), None
        case _:
            assert_never(tool.shape)


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
            else (_NO_COMMAND, "it has no command")
        )
        found += tuple(_shifted(o, len(found)) for o in operations)
        unreadable = unreadable or why
    return found + _extras(call), unreadable


@functools.cache
def _line_reader() -> _LineReader:
    from assent.reading.commands import read_line  # noqa: PLC0415 - the grammar is loaded when a line is first read

    return read_line


def _held_against(
    shell: str, line: str | tuple[str, ...], operations: tuple[Operation, ...], unreadable: str | None
) -> tuple[tuple[Operation, ...], str | None]:
    """Hold what was read against the shell that will run the line: what that reads otherwise is not known."""
    if not shell or not isinstance(line, str):
        return operations, unreadable
    from assent.reading.dialects import misread  # noqa: PLC0415 - few lines are for another shell

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
        found.append("gives the command more than its words")
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


def _is_named(located: Located, place: Place) -> bool:
    """Tell whether a file is named: wholly, or but for the folder in which a call that has none is made."""
    if located.known:
        return True
    folder, _, name = located.path.partition("/")
    return place.cwd is None and folder == UNKNOWN and bool(name) and UNKNOWN not in name


def _read_files(call: ToolCall, place: Place) -> tuple[Operation, ...]:
    """Read the files that are named one by one, and what patterns beside them may name."""
    found = [_reads(p, place, "reads a file") for p in named_paths(call.input, place)]
    patterns = list(patterns_in(call.input))
    check_number(len(found), len(patterns))
    names = (place.locate(name) for pattern in patterns for name in _filtered(pattern, _GREP))
    return (*found, *(_reads(p, place, "reads files", sweep=True) for p in names))


def _reads(located: Located, place: Place, reason: str, *, sweep: bool = False) -> Operation:
    return Operation(
        kind=FS_READ,
        resource=located.path,
        target=located.target,
        tier=SAFE if _is_named(located, place) else DANGEROUS,
        reason=reason if _is_named(located, place) else "it does not say which file it reads",
        sweep=sweep,
        secret=place.is_secret(located) or INHERITED.match(located.path) is not None,
    )


def _writes(tool: Tool, call: ToolCall, place: Place) -> tuple[Operation, ...]:
    """Find what is written: by a patch, by the fields that name a path, or by both."""
    given = call.input
    if given.keys().isdisjoint(PATCH_FIELDS):
        return _written(tool, named_paths(given, place), place)
    from assent.reading.patches import read_patch  # noqa: PLC0415 - few writes are patches

    values = [given[f] for f in PATCH_FIELDS if given.get(f) is not None]
    patches = [read_patch(value) for value in values if _is_patch(value)]
    tool = _DELETE if any(patch.deletes for patch in patches) else tool
    located = named_paths(given, place, [p for patch in patches for p in patch.paths])
    all_read = len(patches) == len(values) and all(patch.paths for patch in patches)
    if call.tool.lower() in _PATCHES and not all_read:
        located.append(Located(UNKNOWN))
    return _written(tool, list(dict.fromkeys(located)), place)


def _written(tool: Tool, located: list[Located], place: Place) -> tuple[Operation, ...]:
    """Return the writes of these paths; of folders that go, with what is in them."""
    found = tuple([_write(tool, p, place) for p in located])
    if tool is not _DELETE:
        return found
    from assent.reading.folders import lose  # noqa: PLC0415 - few calls delete
    from assent.reading.touching import Ground  # noqa: PLC0415

    meter = Meter()
    ground = Ground(place.metered(meter), place.cwd)
    lost = [operation for p in located for operation in lose(p, ground)]
    if meter.left < 0:
        raise CallError("it deletes more than is looked at")
    return (*found, *lost)


def _is_patch(value: Any) -> bool:
    return isinstance(value, str) and ("\n" in value or value.startswith("***"))


def _write(tool: Tool, located: Located, place: Place) -> Operation:
    tier, reason = SAFE, "writes a file"
    traits = place.traits(located.path, located.target)
    if not _is_named(located, place):
        tier, reason = DANGEROUS, "it does not say which file it writes"
    elif tool.name == "Delete":
        tier, reason = DANGEROUS, "deletes a file"
    elif traits.sensitive:
        tier, reason = DANGEROUS, "writes to a sensitive path"
    return Operation(
        kind=FS_WRITE,
        resource=located.path,
        target=located.target,
        tier=tier,
        reason=reason,
        sweep=tool.name == "Delete",
        secret=traits.secret,
    )


def _search(tool: Tool, call: ToolCall, place: Place) -> tuple[Operation, ...]:
    """Read a search: it walks its folder, and a file pattern may name files elsewhere."""
    given = call.input
    fields = _GLOB_FIELDS if tool.name == "Glob" else FILTER_FIELDS
    patterns = [text for f in fields if given.get(f) is not None for text in texts_of(given[f])]
    unsaid = not any(isinstance(given.get(f), str) for f in _PATTERN_FIELDS)
    has_path = any(given[f] is not None for f in (PATH_FIELDS | PATH_LISTS) & given.keys())
    roots = named_paths(given, place) if has_path else [place.locate("."), *other_paths(given, place)]
    roots += folders_in(given, place)  # which of them it goes by is the tool's choice
    check_number(len(roots), len(patterns))
    names = [n for p in patterns for n in _filtered(p, tool)]
    check_number(len(roots) * (1 + len(names)))
    files = [place.locate(n, r.path) for r in roots for n in names]
    if tool.name != "Glob":
        # A look into all files below a folder shows what Assent keeps there.
        own = place.facts.assent_paths
        files += [Located(p) for p in own if any(r.known and within(p, r.path) for r in roots)]
    found = [_reads(r, place, "searches files", sweep=True) for r in (*roots, *files)]
    if unsaid:
        found.append(_plain(tool, DANGEROUS, "it does not say what it searches for"))
    return tuple(found)


def _filtered(pattern: str, tool: Tool) -> list[str]:
    """Return the names that a filter may mean; where only names are shown, it is the filter itself."""
    from assent.reading.wildcards import let_through, spelled_out  # noqa: PLC0415 - only searches have filters

    named = () if tool.name == "Glob" else map(spelled_out, let_through(pattern))
    return list(dict.fromkeys((pattern, *named)))


def _unknown(tool: Tool, call: ToolCall, place: Place) -> Operation:
    """Return the call of a tool of which nobody knows what it does; in a run, with the files that it names."""
    found = _plain(tool, DANGEROUS, tool.does or "what this tool does is not known")
    if not place.run:
        return found
    import msgspec  # noqa: PLC0415 - only in runs

    with contextlib.suppress(CallError):  # what can be no path is none
        names = (name for located in named_paths(call.input, place) if located.known for name in located.names)
        return msgspec.structs.replace(found, mentions=tuple(dict.fromkeys(names)))
    return found


def _plain(tool: Tool, tier: Tier, reason: str) -> Operation:
    return Operation(kind=TOOL_CALL, resource=tool.name, tier=tier, reason=reason)
