"""Parse YAML into values that know their line.

Built from the parser's events: the composer of the C library recurses without bound, and a file of open
brackets would end the process.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import msgspec
import yaml

import assent.lazy_regex as re
from assent.model import ConfigError
from assent.platform.files import read_file

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST = 32
MOST_NODES = 200_000

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_RESOLVERS: dict[str, list[tuple[str, re.Pattern[str]]]] = yaml.SafeLoader.yaml_implicit_resolvers
_CORE = "tag:yaml.org,2002:"

Kind: TypeAlias = Literal["str", "null", "bool", "int", "float", "timestamp", "merge", "value"]

# Control characters, invisible line breaks, marks that hide or reorder text, and unassigned code points: a rule must
# mean what it looks like.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
# Directives are useless here, and many of them slow the parser down to minutes.
_DIRECTIVE = re.compile(r"^%", re.MULTILINE)


class Scalar(msgspec.Struct, frozen=True, gc=False):
    """A scalar: its text and its YAML type."""

    text: str
    kind: Kind
    line: int


class YamlSequence(msgspec.Struct, frozen=True):
    """A list of values."""

    items: tuple[Node, ...]
    line: int


class Mapping(msgspec.Struct, frozen=True):
    """Values by their keys, with the line of each key."""

    items: dict[str, Node]
    lines: dict[str, int]
    line: int


Node: TypeAlias = Scalar | YamlSequence | Mapping


class Document(msgspec.Struct, frozen=True):
    """The document of a file; no root if it has only comments."""

    file: str
    root: Node | None


def read_document(path: str | os.PathLike[str]) -> Document:
    """Parse a YAML file, or raise `ConfigError` with the line of the error."""
    file = os.fspath(path)
    return decode_document(read_file(file).data, file)


def decode_document(data: bytes, file: str, *, most: int = MOST_NODES) -> Document:
    """Parse the bytes of a YAML file with at most so many values."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError("not valid UTF-8", file=file, line=line) from None
    return parse_document(text, file, most=most)


def parse_document(text: str, file: str, *, most: int = MOST_NODES) -> Document:
    """Parse YAML text; errors name `file`."""
    plain = text.replace("\r\n", "\n")
    _refuse_unseen(plain, file, 1)
    if found := _DIRECTIVE.search(plain):
        raise ConfigError("YAML directives are not supported", file=file, line=_line_at(plain, found.start()))
    return Document(file, _Composer(file, most).compose(_parse_events(plain, file)))


def _refuse_unseen(text: str, file: str, line: int) -> None:
    if found := _UNSEEN.search(text):
        name = f"U+{ord(found[0]):04X}"
        message = f"The character {name} is not allowed: it is invisible"
        raise ConfigError(message, file=file, line=line + text.count("\n", 0, found.start()))


def _line_at(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _parse_events(text: str, file: str) -> Iterator[Any]:
    loader = _LOADER(text)
    try:
        while (event := loader.get_event()) is not None:
            yield event
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        lines = text.splitlines()[line - 1 : line]
        tabbed = any("\t" in shown for shown in lines)
        suggestion = "indent with spaces, not with tabs" if tabbed else "a value with special characters needs quotes"
        raise ConfigError(f"Invalid YAML: {error.problem}.", file=file, line=line, suggestion=suggestion) from None
    finally:
        loader.dispose()


class _Items:
    """A list that is being parsed."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.items: list[Node] = []

    def add(self, node: Node, _file: str) -> None:
        self.items.append(node)

    def close(self) -> Node:
        return YamlSequence(tuple(self.items), self.line)


class _Pairs:
    """A mapping that is being parsed."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.key: str | None = None
        self.items: dict[str, Node] = {}
        self.lines: dict[str, int] = {}

    def add(self, node: Node, file: str) -> None:
        if self.key is not None:
            self.items[self.key] = node
            self.key = None
            return
        if not isinstance(node, Scalar) or node.kind != "str":
            raise ConfigError("a key must be a string", file=file, line=node.line, suggestion="put it in quotes")
        if first := self.lines.get(node.text):
            shown = node.text[:80]
            message = f"Duplicate key '{shown}'."
            raise ConfigError(message, file=file, line=node.line, suggestion=f"it is first on line {first}")
        self.key = node.text
        self.lines[node.text] = node.line

    def close(self) -> Node:
        return Mapping(self.items, self.lines, self.line)


class _Composer:
    """Builds the document from parser events, without recursion."""

    def __init__(self, file: str, most: int) -> None:
        self.file = file
        self.most = most
        self.nodes = 0
        self.documents = 0
        self.open: list[_Items | _Pairs] = []
        self.root: Node | None = None

    def compose(self, events: Iterator[Any]) -> Node | None:
        for event in events:
            if isinstance(event, yaml.ScalarEvent):
                self.place(self.read_scalar(event))
            elif isinstance(event, yaml.CollectionEndEvent):
                self.place(self.open.pop().close())
            elif isinstance(event, yaml.CollectionStartEvent):
                self.start(event)
            elif isinstance(event, yaml.DocumentStartEvent):
                self.start_document(event)
            elif isinstance(event, yaml.AliasEvent):
                raise self.error("YAML aliases are not supported", event, "put the value in quotes if it is a pattern")
        return self.root

    def error(self, message: str, event: Any, suggestion: str = "") -> ConfigError:
        line = event.start_mark.line + 1
        return ConfigError(message, file=self.file, line=line, suggestion=suggestion)

    def place(self, node: Node) -> None:
        if self.open:
            self.open[-1].add(node, self.file)
        else:
            self.root = node

    def start_document(self, event: Any) -> None:
        self.documents += 1
        if self.documents > 1:
            raise self.error("the file has more than one YAML document", event)

    def start(self, event: Any) -> None:
        self.count(event)
        sequence = isinstance(event, yaml.SequenceStartEvent)
        if event.tag not in (None, "!", _CORE + ("seq" if sequence else "map")):
            raise self.error(f"the YAML tag `{event.tag[:80]}` is not supported", event)
        if len(self.open) >= DEEPEST:
            raise self.error(f"nested more than {DEEPEST} levels deep", event)
        line = event.start_mark.line + 1
        self.open.append(_Items(line) if sequence else _Pairs(line))

    def read_scalar(self, event: Any) -> Scalar:
        self.count(event)
        text, line = event.value, event.start_mark.line + 1
        if event.style == '"':
            # An escape may contain a character that the text itself did not.
            _refuse_unseen(text, self.file, line)
        if event.tag is None:
            return Scalar(text, _kind_of(text) if event.implicit[0] else "str", line)
        return Scalar(text, self.check_tag(event, text), line)

    def check_tag(self, event: Any, text: str) -> Kind:
        tag = event.tag.removeprefix(_CORE)
        if tag in ("!", "str"):
            return "str"
        if tag != (kind := _kind_of(text)):
            raise self.error(f"the YAML tag `{event.tag[:80]}` is not supported", event)
        return kind

    def count(self, event: Any) -> None:
        self.nodes += 1
        if self.nodes > self.most:
            raise self.error(f"the file has more than {self.most} values", event)
        if event.anchor is not None:
            raise self.error("YAML anchors are not supported", event, "put the value in quotes if it is a pattern")


def _kind_of(text: str) -> Kind:
    for tag, expression in _RESOLVERS.get(text[:1], ()):
        if expression.match(text):
            return cast("Kind", tag.removeprefix(_CORE))
    return "str"
