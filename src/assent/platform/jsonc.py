"""Change one value in a JSON file and keep all other bytes, comments included."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from assent.model import ConfigError

_BLANK = re.compile(r"(?:[ \t\r\n\ufeff]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_DEEPEST = 200


class Span(msgspec.Struct, frozen=True):
    """A value with its position in the text, and those of its members or items."""

    start: int
    end: int
    value: Any
    members: dict[str, Span] | None = None
    keys: dict[str, int] = {}
    """Where each member's name begins."""
    items: tuple[Span, ...] | None = None


def parse(text: str, *, file: str = "") -> Span:
    """Parse JSON with comments and trailing commas, with positions, or raise `ConfigError`."""
    reader = _Reader(text, file)
    start = reader.skip(0)
    if start == len(text):
        return Span(len(text), len(text), None)
    span = reader.value(start, 0)
    if reader.skip(span.end) != len(text):
        raise reader.error(span.end, "unexpected text after the value")
    return span


def append(text: str, path: tuple[str, ...], item: Any, *, file: str = "") -> str:
    """Append an item to the list at this path; create missing objects above it."""
    root = parse(text, file=file)
    if root.value is None and not root.members:
        return json.dumps(_wrapped(path, [item]), indent=2, ensure_ascii=False) + "\n"
    span, depth = root, 0
    for depth, key in enumerate(path):
        if span.members is None:
            raise ConfigError(f"expected {'.'.join(path[:depth]) or 'the file'} to be an object", file=file)
        if key not in span.members:
            return _put_member(text, span, key, _wrapped(path[depth + 1 :], [item]), depth)
        span = span.members[key]
    if span.items is None:
        raise ConfigError(f"expected {'.'.join(path)} to be a list", file=file)
    return _put(text, span, len(span.items), _written(item, depth + 2), depth + 1)


def assign(text: str, path: tuple[str, ...], value: Any, *, file: str = "") -> str:
    """Set the member at this path; create missing objects above it."""
    root = parse(text, file=file)
    if root.value is None and not root.members:
        return json.dumps(_wrapped(path, value), indent=2, ensure_ascii=False) + "\n"
    span = root
    for depth, key in enumerate(path):
        if span.members is None:
            raise ConfigError(f"expected {'.'.join(path[:depth]) or 'the file'} to be an object", file=file)
        if key not in span.members:
            return _put_member(text, span, key, _wrapped(path[depth + 1 :], value), depth)
        span = span.members[key]
    return text[: span.start] + _written(value, len(path)) + text[span.end :]


def drop(text: str, path: tuple[str, ...], *, file: str = "") -> str:
    """Remove the member at this path."""
    span = parse(text, file=file)
    for key in path[:-1]:
        span = (span.members or {})[key]
    members = span.members or {}
    names = list(members)
    at = names.index(path[-1])
    if at > 0:
        return text[: members[names[at - 1]].end] + text[members[names[at]].end :]
    end = span.keys[names[1]] if len(names) > 1 else span.end - 1
    return text[: span.keys[names[0]] if len(names) > 1 else span.start + 1] + text[end:]


def remove(text: str, path: tuple[str, ...], index: int, *, file: str = "") -> str:
    """Remove the item at this index from the list at this path."""
    span = parse(text, file=file)
    for key in path:
        span = (span.members or {})[key]
    items = span.items or ()
    if index > 0:
        return text[: items[index - 1].end] + text[items[index].end :]
    end = items[1].start if len(items) > 1 else span.end - 1
    return text[: span.start + 1] + ("" if len(items) == 1 else text[_gap(text, span) : items[0].start]) + text[end:]


def _gap(text: str, span: Span) -> int:
    return span.start + 1 if text[span.start] == "[" else span.start


def _wrapped(path: tuple[str, ...], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _written(value: Any, depth: int) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False).replace("\n", "\n" + "  " * depth)


def _put_member(text: str, span: Span, key: str, value: Any, depth: int) -> str:
    written = f"{json.dumps(key, ensure_ascii=False)}: {_written(value, depth + 1)}"
    return _put(text, span, len(span.members or {}), written, depth)


def _put(text: str, span: Span, count: int, written: str, depth: int) -> str:
    """Insert a member or item after the last one, before any comments."""
    inner, outer = "\n" + "  " * (depth + 1), "\n" + "  " * depth
    if count == 0:
        return text[: span.start + 1] + inner + written + outer + text[span.start + 1 :].lstrip()
    held = span.items if span.items is not None else tuple((span.members or {}).values())
    last = max(item.end for item in held)
    return text[:last] + "," + inner + written + text[_past_comma(text, last) :]


def _past_comma(text: str, at: int) -> int:
    """Skip a trailing comma, so that there are never two."""
    found = _BLANK.match(text, at)
    after = found.end() if found else at
    return after + 1 if text[after : after + 1] == "," and after == at else at


class _Reader:
    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file

    def error(self, at: int, what: str) -> ConfigError:
        line = self.text.count("\n", 0, at) + 1
        return ConfigError(f"not valid JSON: {what}", file=self.file, line=line)

    def skip(self, at: int) -> int:
        found = _BLANK.match(self.text, at)
        return found.end() if found else at

    def value(self, at: int, depth: int) -> Span:
        if depth > _DEEPEST:
            raise self.error(at, "nested too deeply")
        match self.text[at : at + 1]:
            case "{":
                return self._object(at, depth)
            case "[":
                return self._list(at, depth)
            case '"':
                return self._string(at)
            case _:
                return self._scalar(at)

    def _string(self, at: int) -> Span:
        found = _STRING.match(self.text, at)
        if found is None:
            raise self.error(at, "unterminated string")
        try:
            return Span(at, found.end(), json.loads(found[0]))
        except ValueError:
            raise self.error(at, "invalid escape in a string") from None

    def _scalar(self, at: int) -> Span:
        found = _SCALAR.match(self.text, at)
        if found is None:
            raise self.error(at, "expected a value")
        return Span(at, found.end(), json.loads(found[0]))

    def _object(self, at: int, depth: int) -> Span:
        members: dict[str, Span] = {}
        keys: dict[str, int] = {}
        here = self.skip(at + 1)
        while self.text[here : here + 1] != "}":
            if self.text[here : here + 1] != '"':
                raise self.error(here, "expected a name in quotes")
            key = self._string(here)
            if key.value in members:
                raise self.error(here, f'duplicate name "{key.value}"')
            colon = self.skip(key.end)
            if self.text[colon : colon + 1] != ":":
                raise self.error(colon, "expected a colon")
            members[key.value] = self.value(self.skip(colon + 1), depth + 1)
            keys[key.value] = here
            here = self._next(members[key.value].end, "}")
        return Span(at, here + 1, {k: s.value for k, s in members.items()}, members=members, keys=keys)

    def _list(self, at: int, depth: int) -> Span:
        items: list[Span] = []
        here = self.skip(at + 1)
        while self.text[here : here + 1] != "]":
            items.append(self.value(here, depth + 1))
            here = self._next(items[-1].end, "]")
        return Span(at, here + 1, [s.value for s in items], items=tuple(items))

    def _next(self, at: int, closing: str) -> int:
        here = self.skip(at)
        if self.text[here : here + 1] == ",":
            return self.skip(here + 1)
        if self.text[here : here + 1] != closing:
            raise self.error(here, f"expected a comma or `{closing}`")
        return here
