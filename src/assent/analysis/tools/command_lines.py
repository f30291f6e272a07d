"""Command lines among the arguments of a tool that is no shell: they are read as a shell's, since they may run.

Whether they do is the tool's business, so only what protections speak about is kept: Assent itself, secrets, the
control plane, machines, and what cannot be undone.
"""

from __future__ import annotations

import functools
import itertools
import shlex
from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec

import assent.lazy_regex as re
from assent.analysis.budget import Meter
from assent.analysis.resources.assent_files import Own, own_of
from assent.analysis.resources.paths import Place
from assent.analysis.tools.input_fields import folders_in
from assent.analysis.tools.nested_json import DEEPEST, may_be_json, read_json
from assent.budget import step
from assent.model import COMMAND_EXECUTE, DESTRUCTIVE, FS_WRITE, NET_CONNECT, CallError, Operation

Line: TypeAlias = str | tuple[str, ...]

_NESTED = (dict, list, tuple)
MOST_LINES = 64
"""Command lines of one call that are read."""
_RUNS = re.compile(
    r"(?i)(?:command|cmd|argv|(?<!de)script|program|exec|shell|stdin|keys|chars)|^(?:line|run|input|args)s?$"
)
_ABOUT_IT = re.compile(r"(?i)(?:description|timeout|title|summary|reason|id|ms|mode|path|file|dir)$")


def read_lines(given: dict[str, Any], place: Place) -> tuple[Operation, ...]:
    """Read every command line of an input, from each folder that it may run in, and return what protections are for."""
    lines = list(dict.fromkeys(itertools.islice(_lines(given, 0), 4 * MOST_LINES)))
    if not lines:
        return ()
    if len(lines) > MOST_LINES:
        raise CallError(f"contains more than {MOST_LINES} commands")
    from assent.analysis.lines.commands import read_line  # noqa: PLC0415 - few tools are given lines

    own, meter = own_of(place.facts), Meter()
    folders = dict.fromkeys((place.cwd, *(folder.path for folder in folders_in(given, place) if folder.known)))
    found: dict[Operation, None] = {}
    for line, cwd in itertools.product(lines, folders):
        operations, _ = read_line(line, msgspec.structs.replace(place, cwd=cwd, meter=meter), place.cwd)
        kept = (o for o in operations if _matters(o, place, own))
        found.update(dict.fromkeys(msgspec.structs.replace(o, owner=None, own_cover=False) for o in kept))
    return tuple(found)


def _lines(value: Any, depth: int) -> Iterator[Line]:
    """Yield the lines and argument vectors in an input, at any depth, and in JSON inside strings."""
    if isinstance(value, str):
        value = read_json(value)
    if depth > DEEPEST or not isinstance(value, _NESTED):
        return
    step(1 + len(value))
    if isinstance(value, dict):
        for field, each in value.items():
            if _may_run(str(field)):
                yield from _spoken(each, value.get("args"))
    for each in value.values() if isinstance(value, dict) else value:
        if not isinstance(each, str) or may_be_json(each):  # most are words, and say nothing more
            yield from _lines(each, depth + 1)


@functools.lru_cache(maxsize=1024)
def _may_run(field: str) -> bool:
    return _RUNS.search(field) is not None and _ABOUT_IT.search(field) is None


def _spoken(value: Any, args: Any) -> Iterator[Line]:
    """Yield what a field may run: a line, with the arguments beside it, several lines, or the words of one."""
    if isinstance(value, str) and value.strip():
        yield value
        if isinstance(args, str):
            yield f"{value} {args}"
        elif args and isinstance(args, list) and all(isinstance(a, str) for a in args):
            yield " ".join((value, *map(shlex.quote, args)))
    elif value and isinstance(value, list) and all(isinstance(each, str) for each in value):
        yield tuple(value)
        yield from (each for each in value if any(map(str.isspace, each.strip())))


def _matters(operation: Operation, place: Place, own: Own) -> bool:
    """Tell whether protections speak about an operation."""
    if operation.secret or operation.tier is DESTRUCTIVE or operation.kind is NET_CONNECT:
        return not operation.variable
    if operation.kind is COMMAND_EXECUTE:
        said = "assent" in " ".join(operation.argv).lower() or any(map(own.is_at, operation.mentions))
        return said and not operation.variable
    names = (operation.resource, operation.target or operation.resource)
    if any(own.harm(operation, name) for name in names) or not operation.known:
        return True
    traits = place.traits(operation.resource, operation.target)
    return operation.kind is FS_WRITE and (operation.holds or traits.control_plane)
