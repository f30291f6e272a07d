"""The plain part of YAML, in which nearly all data files are written: read without loading the library for the rest.

It never reads a text otherwise than the library would. What is not surely plain (a tag, a date, a bracket that is
closed on another line, a comment behind a value) is refused, and left to the library.
"""

from __future__ import annotations

from typing import Any

import msgspec

import assent.lazy_regex as re

_FIRST = r"""[^\s\[\]{},"'#&*!|>%@`?:-]"""
_BLOCK = rf"(?:{_FIRST}|-(?=\S))(?:[^:#]|:(?=\S)|(?<=\S)#)*"
_FLOW = rf"(?:{_FIRST}|-(?=[^\s,\[\]{{}}]))(?:[^:#?,\[\]{{}}]|:(?=[^\s,\[\]{{}}])|(?<=\S)#)*"
_QUOTED = r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'"""
_SCALAR = re.compile(rf"{_QUOTED}|{_BLOCK}")
_PAIR = re.compile(rf"({_QUOTED}|{_BLOCK}?) *:(?: +(.*))?")
_PART = re.compile(rf" *({_QUOTED}|{_FLOW}|[\[{{]) *")
_SHARED = re.compile(r"([&*])(\w+)(?:(?<=\w) (?=[^ &*])|(?=[,}\]]))", re.ASCII)
_MARK = re.compile(r"^(?:---|\.\.\.|%)", re.MULTILINE)
_NAME = re.compile(r"\w+", re.ASCII)
_TYPED = re.compile(
    r"y|n|yes|no|on|off|true|false|null|~|=|<<|[-+]?\.(?:inf|nan)|[-+.:_a-fotxz]*+[0-9][-+.:_0-9a-fotxz]*+|\d{4}-.*",
    re.IGNORECASE,
)
_KNOWN = {"true": True, "false": False, **{str(n): n for n in range(100)}}


class NotPlainError(ValueError):
    """This text needs a real reader."""


def read_plain(text: str) -> Any:
    """Read a document that is a mapping or a sequence, or raise `NotPlainError`."""
    lines = _Lines(text)
    value = lines.block()
    if lines.indent() >= 0:
        raise NotPlainError
    return value


class _Lines:
    """The lines of a document, and how far they were read."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.at = 0
        self.named: dict[str, Any] = {}
        if not text.replace("\n", "").isprintable() or _MARK.search(text):
            raise NotPlainError

    def indent(self) -> int:
        """Pass over what says nothing, and return how far the next line is indented; -1 at the end."""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            start = line.lstrip(" ")
            if start and start[0] != "#":
                return len(line) - len(start)
            self.at += 1
        return -1

    def block(self) -> Any:
        """Read the lines from here on that are indented as far as the next one, or farther."""
        indent = self.indent()
        if indent < 0:
            raise NotPlainError
        value = self.sequence(indent) if self.lines[self.at].startswith("- ", indent) else self.mapping(indent)
        if self.indent() >= indent:
            raise NotPlainError
        return value

    def mapping(self, indent: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while self.indent() == indent:
            pair = _PAIR.fullmatch(self.lines[self.at].strip(" "))
            key = _scalar(pair[1].rstrip(" ")) if pair else None
            if pair is None or not isinstance(key, str) or key in found:
                raise NotPlainError
            self.at += 1
            found[key] = self.value(pair[2] or "", indent)
        return found

    def sequence(self, indent: int) -> list[Any]:
        found = []
        while self.indent() == indent and self.lines[self.at].startswith("- ", indent):
            line = self.lines[self.at]
            text = line[indent + 2 :].strip(" ")
            if not text or text[0] == ">":
                raise NotPlainError
            if text[0] not in "&*" and _PAIR.fullmatch(text):
                start = line.index(text, indent + 2)
                self.lines[self.at] = " " * start + text
                found.append(self.mapping(start))
            else:
                self.at += 1
                found.append(self.value(text, indent))
        return found

    def value(self, text: str, indent: int) -> Any:
        """Read what stands behind a key, or below it."""
        if text == ">-":
            return self.folded(indent)
        if not text:
            return self.block() if self.indent() > indent else self.nothing(indent)
        if text[0] in "&*":
            return self.shared(text, indent)
        if text[0] in "[{":
            value, end = _flow(text, 0, self.named)
            if end < len(text):
                raise NotPlainError
            return value
        if not _SCALAR.fullmatch(text):
            raise NotPlainError
        return _scalar(text)

    def shared(self, text: str, indent: int) -> Any:
        """Read a value that is given a name, or one that is meant by its name."""
        name, _, rest = text[1:].partition(" ")
        if rest[:1] in ("&", "*", ">") or (rest and text[0] == "*"):
            raise NotPlainError
        value = self.value(rest.strip(" "), indent) if text[0] == "&" else None
        return _name(self.named, text[0], name, value)

    def nothing(self, indent: int) -> None:
        if self.indent() == indent and self.lines[self.at].startswith("-", indent):
            raise NotPlainError

    def folded(self, indent: int) -> str:
        """Read lines that are one text; empty ones may follow it."""
        found: list[str] = []
        depth, ended = 0, False
        while self.at < len(self.lines):
            line = self.lines[self.at]
            text = line.lstrip(" ")
            start = len(line) - len(text)
            if text and start <= indent:
                break
            depth, ended = depth or start, ended or not line
            if line and (ended or start != depth or not text or text[-1] == " "):
                raise NotPlainError
            found.append(text)
            self.at += 1
        if not "".join(found):
            raise NotPlainError
        return " ".join(found).rstrip(" ")


def _name(named: dict[str, Any], sign: str, name: str, value: Any) -> Any:
    """Give a value its name, once, or return the one that is meant by it."""
    if not _NAME.fullmatch(name) or (name in named) != (sign == "*"):
        raise NotPlainError
    return named.setdefault(name, value)


def _flow(text: str, at: int, named: dict[str, Any]) -> tuple[Any, int]:
    """Read a value in brackets, or inside of them; return it and where it ends."""
    shared = _SHARED.match(text, at)
    if shared is not None and shared[1] == "*":
        return _name(named, "*", shared[2], None), shared.end()
    if shared is not None:
        value, end = _flow(text, shared.end(), named)
        return _name(named, "&", shared[2], value), end
    part = _PART.match(text, at)
    if part is None:
        raise NotPlainError
    match part[1]:
        case "[":
            return _flow_sequence(text, part.end(), named)
        case "{":
            return _flow_mapping(text, part.end(), named)
        case scalar:
            return _scalar(scalar.rstrip(" ")), part.end()


def _flow_sequence(text: str, at: int, named: dict[str, Any]) -> tuple[list[Any], int]:
    found = []
    while not text.startswith("]", at):
        value, at = _flow(text, at, named)
        found.append(value)
        at = _next(text, at, "]")
    return found, _after(text, at)


def _flow_mapping(text: str, at: int, named: dict[str, Any]) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    while not text.startswith("}", at):
        key, at = _flow(text, at, {})
        if not isinstance(key, str) or key in found or not text.startswith(": ", at):
            raise NotPlainError
        found[key], at = _flow(text, at + 2, named)
        at = _next(text, at, "}")
    return found, _after(text, at)


def _next(text: str, at: int, end: str) -> int:
    """Pass over the comma between two values."""
    if text.startswith(end, at):
        return at
    if not text.startswith(", ", at):
        raise NotPlainError
    return at + 2


def _after(text: str, at: int) -> int:
    """Pass over a bracket and the spaces behind it."""
    return len(text) - len(text[at + 1 :].lstrip(" "))


def _scalar(text: str) -> str | int | bool:
    """Return what a single value stands for."""
    if text[0] == "'":
        return text[1:-1].replace("''", "'")
    if text[0] == '"':
        return _unescape(text)
    known = _KNOWN.get(text)
    if known is None and _TYPED.fullmatch(text):
        raise NotPlainError
    return text if known is None else known


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text[1:-1]
    if "\\u" in text or "\\/" in text:
        raise NotPlainError
    try:
        return msgspec.json.decode(text, type=str)
    except msgspec.DecodeError:
        raise NotPlainError from None
