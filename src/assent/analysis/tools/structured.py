"""Tools that are given fields instead of a line: what they read, write, search and contact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from assent.analysis.budget import Meter
from assent.analysis.resources.paths import INHERITED, Located, Place
from assent.analysis.tools.input_fields import (
    CONTENT,
    DEEPEST,
    FILTER_FIELDS,
    PATH_FIELDS,
    PATH_LISTS,
    SOUGHT,
    check_number,
    folders_in,
    named_paths,
    only_path,
    other_paths,
    patterns_in,
    texts_of,
)
from assent.analysis.tools.names import KnownTool, find_tool
from assent.model import (
    DANGEROUS,
    FS_READ,
    FS_WRITE,
    NET_CONNECT,
    SAFE,
    TOOL_CALL,
    UNKNOWN,
    CallError,
    Operation,
    Tier,
    ToolCall,
    within,
)

if TYPE_CHECKING:
    from assent.analysis.tools.argument_resources import Arguments

PATCH_FIELDS = ("command", "patch", "input", "patchText", "patch_text", "diff")
_GLOB_FIELDS = ("pattern", "query", "glob_pattern", "glob")
_PATTERN_FIELDS = (*_GLOB_FIELDS, "regex", "search_term")
_DELETE, _GREP, _WRITE = find_tool("Delete"), find_tool("Grep"), find_tool("Write")
_PATCHES = ("apply_patch", "patch")
"""Tools that have nothing but their patch to go by."""
_NO_WORDS: frozenset[str] = frozenset()
_NESTED = (dict, list)


def _is_named(located: Located, place: Place) -> bool:
    """Tell whether a file is named: wholly, or but for the folder in which a call that has none is made."""
    if located.known:
        return True
    folder, _, name = located.path.partition("/")
    return place.cwd is None and folder == UNKNOWN and bool(name) and UNKNOWN not in name


def read_files(call: ToolCall, place: Place) -> tuple[Operation, ...]:
    """Read the files that are named one by one, and what patterns beside them may name."""
    path = only_path(call.input, _NO_WORDS)
    if path:
        return (_reads(place.locate(path), place, "reads a file"),)
    more = _find(call.input, place)
    located = _with(named_paths(call.input, place), more, call.input, place)
    found = [_reads(p, place, "reads a file") for p in located] + _contacts(more)
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
        reason=reason if _is_named(located, place) else "names no file to read",
        sweep=sweep,
        secret=place.is_secret(located) or INHERITED.match(located.path) is not None,
    )


def write_files(tool: KnownTool, call: ToolCall, place: Place) -> tuple[Operation, ...]:
    """Find what is written: by a patch, by the fields that name a path, or by both."""
    given = call.input
    patched = not given.keys().isdisjoint(PATCH_FIELDS)
    path = None if patched else only_path(given, CONTENT)
    if path:
        return _written(tool, [place.locate(path)], place)
    more = _find(given, place, CONTENT)
    if not patched:
        return (*_written(tool, _with(named_paths(given, place), more, given, place), place), *_contacts(more))
    from assent.analysis.languages.patch import read_patch  # noqa: PLC0415 - few writes are patches

    values = [given[f] for f in PATCH_FIELDS if given.get(f) is not None]
    patches = [read_patch(value) for value in values if _is_patch(value)]
    tool = _DELETE if any(patch.deletes for patch in patches) else tool
    located = named_paths(given, place, [p for patch in patches for p in patch.paths])
    all_read = len(patches) == len(values) and all(patch.paths for patch in patches)
    if call.tool.lower() in _PATCHES and not all_read:
        located.append(Located(UNKNOWN))
    return (*_written(tool, _with(located, more, given, place), place), *_contacts(more))


def _written(tool: KnownTool, located: list[Located], place: Place) -> tuple[Operation, ...]:
    """Return the writes of these paths; of folders that go, with what is in them."""
    found = tuple([_write(tool, p, place) for p in located])
    if tool is not _DELETE:
        return found
    from assent.analysis.folder_operations import lose  # noqa: PLC0415 - few calls delete
    from assent.analysis.operations import OperationContext  # noqa: PLC0415

    meter = Meter()
    ground = OperationContext(place.metered(meter), place.cwd)
    lost = [operation for p in located for operation in lose(p, ground)]
    if meter.left < 0:
        raise CallError("deletes too many files to analyse")
    return (*found, *lost)


def _is_patch(value: Any) -> bool:
    return isinstance(value, str) and ("\n" in value or value.startswith("***"))


def _write(tool: KnownTool, located: Located, place: Place) -> Operation:
    tier, reason = SAFE, "writes a file"
    traits = place.traits(located.path, located.target)
    if not _is_named(located, place):
        tier, reason = DANGEROUS, "names no file to write"
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


def search_files(tool: KnownTool, call: ToolCall, place: Place) -> tuple[Operation, ...]:
    """Read a search: it walks its folder, and a file pattern may name files elsewhere."""
    given = call.input
    fields = _GLOB_FIELDS if tool.name == "Glob" else FILTER_FIELDS
    patterns = [text for f in fields if given.get(f) is not None for text in texts_of(given[f])]
    unsaid = not any(isinstance(given.get(f), str) for f in _PATTERN_FIELDS)
    path = only_path(given, SOUGHT)
    more = _find(given, place, SOUGHT) if path is None else None
    roots = [place.locate(path or ".")] if more is None else _roots(given, more, place)
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
        found.append(plain(tool, DANGEROUS, "names nothing to search for"))
    return tuple(found) if more is None else (*found, *_contacts(more))


def _roots(given: dict[str, Any], more: Arguments, place: Place) -> list[Located]:
    """Return the folders that a search may walk: which of them it goes by is the tool's choice."""
    has_path = any(given[f] is not None for f in (PATH_FIELDS | PATH_LISTS) & given.keys())
    named = named_paths(given, place) if has_path else [place.locate("."), *other_paths(given, place)]
    return list(dict.fromkeys((*named, *folders_in(given, place), *more.places)))


def _filtered(pattern: str, tool: KnownTool) -> list[str]:
    """Return the names that a filter may mean; where only names are shown, it is the filter itself."""
    from assent.analysis.resources.wildcards import let_through, spelled_out  # noqa: PLC0415 - only searches have filters

    named = () if tool.name == "Glob" else map(spelled_out, let_through(pattern))
    return list(dict.fromkeys((pattern, *named)))


def of_unknown_use(
    call: Operation, given: dict[str, Any], place: Place, words: frozenset[str] = _NO_WORDS
) -> tuple[Operation, ...]:
    """Return a call with what it names: each place may be read and written, each machine contacted."""
    if words and _are_words(given, words, DEEPEST - 1):
        return (call,)
    found = _find(given, place, words)
    if found.near or found.near_hosts:
        import msgspec  # noqa: PLC0415 - few calls come near Assent's own files

        call = msgspec.structs.replace(call, mentions=found.near, hosts=found.near_hosts)
    return (call, *_used(found, place), *_contacts(found))


def beside(
    tool: KnownTool, others: dict[str, Any], place: Place, found: tuple[Operation, ...] = ()
) -> tuple[Operation, ...]:
    """Return what is named by fields of a known tool that are not its own; `found` is what is read of it already."""
    if not others:
        return ()
    call, *more = of_unknown_use(plain(tool, SAFE, "has input fields that Assent does not know"), others, place)
    contacted = {o.resource for o in found}
    more = [o for o in more if o.kind is not NET_CONNECT or o.resource not in contacted]
    return (*([call] if call.mentions or call.hosts else ()), *more)


def plain(tool: KnownTool, tier: Tier, reason: str) -> Operation:
    """Return a call of a tool as one operation."""
    return Operation(kind=TOOL_CALL, resource=tool.name, tier=tier, reason=reason)


def _are_words(given: dict[str, Any] | list[Any], words: frozenset[str], depth: int) -> bool:
    """Tell, quickly, whether there is nothing in an input but these fields."""
    values: Iterable[Any] = given
    if isinstance(given, dict):
        if not words.issuperset(given):
            return False
        values = given.values()
    for value in values:
        if isinstance(value, _NESTED) and not (depth and _are_words(value, words, depth - 1)):
            return False
    return True


def _find(given: dict[str, Any], place: Place, words: frozenset[str] = _NO_WORDS) -> Arguments:
    from assent.analysis.tools.argument_resources import find_arguments  # noqa: PLC0415 - the fields of most calls are known

    return find_arguments(given, place, words)


def _with(located: list[Located], more: Arguments, given: dict[str, Any], place: Place) -> list[Located]:
    """Add what is named in any way to what the known fields name; folders to start from are no files."""
    folders = folders_in(given, place) if more.places else []
    return list(dict.fromkeys((*located, *(p for p in more.places if p not in folders))))


def _used(found: Arguments, place: Place) -> Iterator[Operation]:
    for located in found.places:
        yield _reads(located, place, "may read a file")
        yield _write(_WRITE, located, place)


def _contacts(found: Arguments) -> list[Operation]:
    return [
        Operation(kind=NET_CONNECT, resource=host, tier=DANGEROUS, reason="names a host that it may contact")
        for host in found.hosts
    ]
