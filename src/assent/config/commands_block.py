"""The `commands:` block of `assent.yaml`: catalog entries, each checked against its examples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import msgspec

from assent.analysis.lines.commands import read_line
from assent.analysis.resources.paths import Place
from assent.catalog import Lexicon, command_names, convert_entry
from assent.catalog.validate import EntryError, describe_path
from assent.config.yaml_document import Mapping, Node, Scalar, YamlSequence
from assent.model import CommandEntry, ConfigError, Facts, Layer, Origin, Tier

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.catalog import Entry
    from assent.catalog.validate import Path
    from assent.config.typed_fields import ConfigField

MOST_EXAMPLES = 1000
_MOST_DIGITS = 9
_PLACE = Place(Facts(home="/example/home"), "/example/home/project", ("/example/home/project",))
_KINDS: tuple[tuple[str, Tier], ...] = (
    ("safe", Tier.SAFE),
    ("not_safe", Tier.DANGEROUS),
    ("destructive", Tier.DESTRUCTIVE),
)


def read_commands(field: ConfigField, layer: Layer) -> tuple[CommandEntry, ...]:
    """Parse the block, or raise `ConfigError` with the line of the error."""
    if not isinstance(field.node, Mapping):
        raise field.expected("an object")
    found: list[CommandEntry] = []
    entries: dict[str, Entry] = {}
    for key, node in field.node.items.items():
        line = field.node.lines[key]
        names, data = _names(key, field, line), _data(node)
        entry = _entry(data, key, field)
        for name in names:
            if name in entries:
                raise field.error(f"commands: `{name}` is given twice", line=line)
            entries[name] = entry
        found.append(CommandEntry(names=names, entry=data, origin=Origin(layer, field.file, line)))
    _check_examples(list(field.node.items), entries, field)
    return tuple(found)


def _names(key: str, field: ConfigField, line: int) -> tuple[str, ...]:
    try:
        return command_names(key)
    except ConfigError as error:
        raise field.error(_one_line(f"commands: {error.message}"), line=line) from None


def _entry(data: Any, key: str, field: ConfigField) -> Entry:
    try:
        return convert_entry(data)
    except EntryError as error:
        raise _fault(error.message, (key, *error.path), field, at_key=error.at_key) from None


def _fault(message: str, path: Path, field: ConfigField, *, at_key: bool = False) -> ConfigError:
    """Return the error about the value at a path in the block."""
    told = _one_line(f"commands{describe_path(path)}: {message}")
    return field.error(told, line=_line(field.node, path, at_key=at_key))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _line(node: Node, path: Path, *, at_key: bool) -> int:
    """Return the line of the last key of a path, or of its value if that is a scalar."""
    line = node.line
    for step in path:
        around = cast("Mapping | YamlSequence", node)
        if isinstance(around, Mapping):
            line, node = around.lines[str(step)], around.items[str(step)]
        else:
            node = around.items[int(step)]
            line = node.line
    return node.line if isinstance(node, Scalar) and not at_key else line


def _data(node: Node) -> Any:
    if isinstance(node, Mapping):
        return {key: _data(item) for key, item in node.items.items()}
    if isinstance(node, YamlSequence):
        return [_data(item) for item in node.items]
    return _value(node)


def _value(scalar: Scalar) -> Any:
    match scalar.kind:
        case "bool":
            return scalar.text.lower() in ("true", "yes", "on")
        case "int" if scalar.text.isdecimal() and len(scalar.text) <= _MOST_DIGITS:
            return int(scalar.text)
        case "null":
            return None
        case _:
            return scalar.text


def _check_examples(keys: list[str], entries: dict[str, Entry], field: ConfigField) -> None:
    place = msgspec.structs.replace(_PLACE, lexicon=Lexicon(own=entries))
    examples = (found for key in keys for found in _examples(entries[command_names(key)[0]], (key,)))
    for count, (line, kind, tier, path) in enumerate(examples):
        if count >= MOST_EXAMPLES:
            raise field.error(f"Expected commands to have at most {MOST_EXAMPLES} examples.")
        worst = max(read_line(line, place)[0], key=lambda o: o.tier.rank)
        if worst.tier is not tier:
            told = f"the example `{line}` is {worst.tier}, though it is listed under `{kind}`: {worst.reason}"
            raise _fault(told, path, field)


def _examples(entry: Entry, path: Path) -> Iterator[tuple[str, str, Tier, Path]]:
    """Yield the examples of an entry and its children, with expected tier and line."""
    for kind, tier in _KINDS:
        for index, line in enumerate(getattr(entry.examples, kind)):
            yield line, kind, tier, (*path, "examples", kind, index)
    for name, child in entry.subcommands.items():
        yield from _examples(child, (*path, "subcommands", name))
