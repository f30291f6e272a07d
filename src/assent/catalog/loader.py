"""Finding a command's entry: files are indexed line by line, and an entry is parsed when first looked up."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import msgspec
import yaml

from assent.catalog.entry import Entry
from assent.model import ConfigError

_KEY = re.compile(r"\S.*:[ \t]*$")
SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Slice(msgspec.Struct, frozen=True):
    """Where an entry is written."""

    file: str
    line: int
    names: tuple[str, ...]
    body: str


def slices(file: str, text: str) -> tuple[Slice, ...]:
    """Cut a file into its entries, by the keys that start a line, without parsing any of them."""
    lines = text.splitlines(keepends=True)
    heads = [i for i, line in enumerate(lines) if line[0] not in " \t\n#" and _KEY.match(line)]
    ends = [*heads[1:], len(lines)]
    return tuple(
        Slice(file, head + 1, _names(lines[head].rstrip()[:-1]), "".join(lines[head:end]))
        for head, end in zip(heads, ends, strict=True)
    )


def _names(key: str) -> tuple[str, ...]:
    return tuple(n.strip() for n in key.strip("\"'").split(","))


def parse_entry(part: Slice) -> Entry:
    """Parse one entry, or raise `ConfigError` with the file and the line."""
    try:
        (value,) = yaml.load(part.body, SafeLoader).values()  # noqa: S506 - one of the two safe loaders
        return msgspec.convert(value, Entry)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line if error.problem_mark else 0
        raise ConfigError(f"{error.problem}", file=part.file, line=part.line + line) from None
    except msgspec.ValidationError as error:
        raise ConfigError(f"entry `{part.names[0]}`: {error}", file=part.file, line=part.line) from None


def build_index(files: dict[str, str]) -> dict[str, Slice]:
    """Say for every command name where its entry is; a name given twice is an error."""
    index: dict[str, Slice] = {}
    for file, text in files.items():
        for part in slices(file, text):
            for name in part.names:
                if name in index:
                    raise ConfigError(f"command `{name}` is already in {index[name].file}", file=file, line=part.line)
                index[name] = part
    return index


@functools.cache
def _index() -> dict[str, Slice]:
    folder = Path(__file__).parent / "data"
    return build_index({f.name: f.read_text("utf-8") for f in sorted(folder.glob("*.yaml"))})


_parsed: dict[str, Entry] = {}
"""The entries that were looked up, by each of their names."""


def lookup(name: str) -> Entry | None:
    """Return what is known about a command, or None."""
    entry = _parsed.get(name)
    if entry is None and (part := _index().get(name)) is not None:
        entry = parse_entry(part)
        _parsed.update(dict.fromkeys(part.names, entry))
    return entry


def names() -> tuple[str, ...]:
    """Return every command name in the catalog."""
    return tuple(_index())


def entries() -> tuple[Slice, ...]:
    """Return where every entry is written, in order."""
    return tuple(dict.fromkeys(_index().values()))
