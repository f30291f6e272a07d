"""Finding a command's entry: files are indexed line by line, and an entry is parsed when first looked up."""

# The library for paths is slow to load, and a process that decides one call feels it.
# ruff: noqa: PTH118, PTH120, PTH123, PTH208

from __future__ import annotations

import functools
import os
from typing import Any

import msgspec

import assent.lazy_regex as re
from assent.budget import loaded
from assent.catalog.plain_yaml import NotPlainError, read_plain
from assent.catalog.schema import Entry
from assent.model import ConfigError

_HEAD = re.compile(r"^[^\s#].*:[ \t]*$", re.MULTILINE)
_HERE = os.path.dirname(__file__)


class Slice(msgspec.Struct, frozen=True):
    """Where an entry is written."""

    file: str
    line: int
    names: tuple[str, ...]
    body: str


def slices(file: str, text: str) -> tuple[Slice, ...]:
    """Cut a file into its entries, by the keys that start a line, without parsing any of them."""
    heads = list(_HEAD.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    found, line, last = [], 1, 0
    for head, end in zip(heads, ends, strict=True):
        line, last = line + text.count("\n", last, head.start()), head.start()
        found.append(Slice(file, line, _names(head[0].rstrip()[:-1]), text[last:end]))
    return tuple(found)


def _names(key: str) -> tuple[str, ...]:
    return tuple(n.strip() for n in key.strip("\"'").split(","))


def parse_entry(part: Slice) -> Entry:
    """Parse one entry, or raise `ConfigError` with the file and the line."""
    (value,) = read_yaml(part.body, part.file, part.line).values()
    try:
        return msgspec.convert(value, Entry)
    except msgspec.ValidationError as error:
        raise ConfigError(f"entry `{part.names[0]}`: {error}", file=part.file, line=part.line) from None


def read_yaml(text: str, file: str, line: int = 1) -> Any:
    """Read a text, which begins in this line of the file, or raise `ConfigError` with the line at fault."""
    try:
        return read_plain(text)
    except NotPlainError:
        import yaml  # noqa: PLC0415 - slow to load, and hardly anything needs it
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        return yaml.load(text, loader)  # noqa: S506 - one of the two safe loaders
    except yaml.MarkedYAMLError as error:
        at = error.problem_mark.line if error.problem_mark else 0
        raise ConfigError(f"{error.problem}", file=file, line=line + at) from None


def read_data(*names: str) -> str:
    """Return the text of a file that belongs to the catalog."""
    with open(os.path.join(_HERE, *names), encoding="utf-8") as file:
        return file.read()


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
    files = sorted(f for f in os.listdir(os.path.join(_HERE, "data")) if f.endswith(".yaml"))
    return build_index({f: read_data("data", f) for f in files})


_parsed: dict[str, Entry] = {}
"""The entries that were looked up, by each of their names."""


def lookup(name: str) -> Entry | None:
    """Return what is known about a command, or None."""
    entry = _parsed.get(name)
    if entry is None and (part := _index().get(name)) is not None:
        entry = parse_entry(part)
        _parsed.update(dict.fromkeys(part.names, entry))
        loaded()
    return entry


def load() -> None:
    """Parse every entry, for a process that will need many."""
    for name in _index():
        lookup(name)


def plain_name(name: str) -> str:
    """Return what a program is called where it stands alone: GNU's `grm` is `rm`, beside another `rm`."""
    part = _index().get(name) if name.startswith("g") else None
    return name[1:] if part is not None and name[1:] in part.names else name


def names() -> tuple[str, ...]:
    """Return every command name in the catalog."""
    return tuple(_index())


def entries() -> tuple[Slice, ...]:
    """Return where every entry is written, in order."""
    return tuple(dict.fromkeys(_index().values()))
