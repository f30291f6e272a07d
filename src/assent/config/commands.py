"""The `commands:` block of `assent.yaml`: entries in the words of the catalog, each held to its own examples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

import assent.regex as re
from assent.catalog import Lexicon, command_names, convert_entry
from assent.config.document import Mapping, Node, Scalar, Sequence
from assent.model import CommandEntry, ConfigError, Facts, Layer, Origin, Tier
from assent.reading.commands import read_line
from assent.reading.paths import Place

if TYPE_CHECKING:
    from assent.catalog import Entry, Examples
    from assent.config.fields import Field

MOST_EXAMPLES = 1000
_PLACE = Place(Facts(home="/example/home"), "/example/home/project", ("/example/home/project",))
_AT = re.compile(r"^(?P<message>.*?)(?: - at `(?P<path>[^`]*)`)?$", re.DOTALL)
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
_KINDS: tuple[tuple[str, Tier], ...] = (
    ("safe", Tier.SAFE),
    ("not_safe", Tier.DANGEROUS),
    ("destructive", Tier.DESTRUCTIVE),
)


def read_commands(field: Field, layer: Layer) -> tuple[CommandEntry, ...]:
    """Read the block, or raise `ConfigError` with the line at fault."""
    if not isinstance(field.node, Mapping):
        raise field.expected("an object")
    found: list[CommandEntry] = []
    entries: dict[str, Entry] = {}
    for key, node in field.node.items.items():
        line = field.node.lines[key]
        names, data = _names(key, field, line), _data(node)
        entry = _entry(data, node, key, field, line)
        for name in names:
            if name in entries:
                raise field.error(f"commands: `{name}` is given twice.", line=line)
            entries[name] = entry
        found.append(CommandEntry(names=names, entry=data, origin=Origin(layer, field.file, line)))
    _check_examples(found, entries, field)
    return tuple(found)


def _names(key: str, field: Field, line: int) -> tuple[str, ...]:
    try:
        return command_names(key)
    except ConfigError as error:
        raise field.error(f"commands: {error.message}.", line=line) from None


def _entry(data: Any, node: Node, key: str, field: Field, line: int) -> Entry:
    try:
        return convert_entry(data)
    except ConfigError as error:
        raise field.error(f"commands.{key}: {error.message}.", line=line) from None
    except msgspec.ValidationError as error:
        found = _AT.match(str(error))
        message, path = (found["message"], found["path"] or "") if found else (str(error), "")
        raise field.error(f"commands.{key}{path[1:]}: {message}.", line=_line(node, path) or line) from None


def _line(node: Node, path: str) -> int:
    """Follow a path such as `$.when[2].first` as far as it leads, and say on which line that is."""
    line = 0
    for key, index in _STEP.findall(path):
        if isinstance(node, Mapping) and key in node.items:
            line, node = node.lines[key], node.items[key]
        elif isinstance(node, Sequence) and index and int(index) < len(node.items):
            node = node.items[int(index)]
            line = node.line
        else:
            break
    return line


def _data(node: Node) -> Any:
    if isinstance(node, Mapping):
        return {key: _data(item) for key, item in node.items.items()}
    if isinstance(node, Sequence):
        return [_data(item) for item in node.items]
    return _value(node)


def _value(scalar: Scalar) -> Any:
    match scalar.kind:
        case "bool":
            return scalar.text.lower() in ("true", "yes", "on")
        case "int" if scalar.text.isdecimal():
            return int(scalar.text)
        case "null":
            return None
        case _:
            return scalar.text


def _check_examples(found: list[CommandEntry], entries: dict[str, Entry], field: Field) -> None:
    place = msgspec.structs.replace(_PLACE, lexicon=Lexicon(own=entries))
    count = 0
    for written in found:
        for examples in _examples(entries[written.names[0]]):
            for kind, tier in _KINDS:
                for line in getattr(examples, kind):
                    count += 1
                    if count > MOST_EXAMPLES:
                        raise field.error(f"Expected commands to have at most {MOST_EXAMPLES} examples.")
                    _check(line, kind, tier, written, place, field)


def _examples(entry: Entry) -> list[Examples]:
    return [entry.examples, *(e for child in entry.subcommands.values() for e in _examples(child))]


def _check(line: str, kind: str, tier: Tier, written: CommandEntry, place: Place, field: Field) -> None:
    worst = max(read_line(line, place)[0], key=lambda o: o.tier.rank)
    if worst.tier is not tier:
        message = (
            f"commands.{written.names[0]}: the example `{line}` is {worst.tier}, though it is listed under `{kind}`: "
        )
        raise field.error(message + worst.reason + ".", line=written.origin.line)
