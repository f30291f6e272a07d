"""Typed access to a parsed document; errors name the dotted field and its line."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import msgspec

from assent.config.yaml_document import Document, Mapping, Node, Scalar, YamlSequence
from assent.model import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

LONGEST_TEXT = 4096
_TRUE = frozenset({"true", "yes", "on"})


class ConfigField(msgspec.Struct, frozen=True):
    """One value of a configuration file."""

    node: Node
    name: str
    file: str

    def error(self, message: str, *, suggestion: str = "", line: int = 0) -> ConfigError:
        """Return an error that points at this value."""
        return ConfigError(message, file=self.file, line=line or self.node.line, suggestion=suggestion)

    def expected(self, what: str, *, suggestion: str = "") -> ConfigError:
        """Return an error for a value of the wrong type."""
        return self.error(f"Expected {self.name or 'the file'} to be {what}.", suggestion=suggestion)

    def fields(self, known: Collection[str]) -> dict[str, ConfigField]:
        """Return the fields of an object with only these keys."""
        if not isinstance(self.node, Mapping):
            raise self.expected("an object")
        for key, line in self.node.lines.items():
            if key not in known:
                message = f"Unknown configuration field '{shorten(self._child(key))}'."
                raise self.error(message, line=line, suggestion=suggest_word(key, known))
        return self._children(self.node)

    def open_fields(self, wanted: str, *, others: Collection[str]) -> dict[str, ConfigField]:
        """Return a field of an object with any keys; a misspelled key is an error."""
        if not isinstance(self.node, Mapping):
            raise self.expected("an object")
        for key, line in self.node.lines.items():
            near = "" if key == wanted or key in others else suggest_word(key.lower(), (wanted,))
            if near:
                message = f"Unknown configuration field '{shorten(self._child(key))}'."
                raise self.error(message, line=line, suggestion=near)
        return self._children(self.node)

    def _children(self, node: Mapping) -> dict[str, ConfigField]:
        return {key: ConfigField(child, self._child(key), self.file) for key, child in node.items.items()}

    def entries(self) -> Iterator[ConfigField]:
        """Return the entries of an array."""
        if not isinstance(self.node, YamlSequence):
            raise self.expected("an array", suggestion="leave the key out to say nothing" if self.is_null else "")
        return (ConfigField(node, f"{self.name}.{i}", self.file) for i, node in enumerate(self.node.items))

    def string(self, expected: str = "a string") -> str:
        """Return the value as a string."""
        if not isinstance(self.node, Scalar) or self.node.kind != "str":
            suggestion = "put it in quotes" if isinstance(self.node, Scalar) and not self.is_null else ""
            raise self.expected(expected, suggestion=suggestion)
        return self.node.text

    def text(self) -> str:
        """Return the value as a string that is neither blank nor too long."""
        text = self.string().strip()
        if not text:
            raise self.error(f"Expected {self.name} not to be empty.")
        if len(text) > LONGEST_TEXT:
            raise self.error(f"Expected {self.name} to have at most {LONGEST_TEXT} characters.")
        return text

    def texts(self) -> tuple[str, ...]:
        """Return the value as an array of such strings."""
        return tuple(entry.text() for entry in self.entries())

    def one_or_more(self) -> tuple[str, ...]:
        """Return the value as one such string or an array of them."""
        if isinstance(self.node, Scalar) and self.node.kind == "str":
            return (self.text(),)
        if not isinstance(self.node, YamlSequence):
            raise self.expected("a string or an array of strings")
        return self.texts()

    def boolean(self) -> bool:
        """Return the value as a boolean."""
        if not isinstance(self.node, Scalar) or self.node.kind != "bool":
            raise self.expected("true or false")
        return self.node.text.lower() in _TRUE

    def choice(self, words: Iterable[str]) -> str:
        """Return the value as one of these words. An unquoted `off` counts as a word, not as a boolean."""
        if not isinstance(self.node, Scalar):
            raise self.expected("a string")
        known = list(words)
        if self.node.text not in known:
            message = f'Invalid {self.name} "{shorten(self.node.text)}". Must be one of: {", ".join(known)}.'
            raise self.error(message, suggestion=suggest_word(self.node.text, known))
        return self.node.text

    @property
    def is_null(self) -> bool:
        """Whether the key has no value."""
        return isinstance(self.node, Scalar) and self.node.kind == "null"

    def _child(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key


def root_field(document: Document) -> ConfigField | None:
    """Return the root field; None if the document is empty."""
    return None if document.root is None else ConfigField(document.root, "", document.file)


def suggest_word(word: str, known: Collection[str]) -> str:
    """Return a hint with the most similar known word; empty if there is none."""
    near = difflib.get_close_matches(word[:64], known, n=1)
    return f"did you mean '{near[0]}'?" if near else ""


def shorten(text: str) -> str:
    """Shorten a text for a message."""
    return text if len(text) <= 80 else text[:77] + "…"
