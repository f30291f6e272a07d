"""What assignments and redirections come to when their words are expanded."""

from __future__ import annotations

import assent.lazy_regex as re
from assent.analysis.bash.ast import Assignment, HereText, Redirection
from assent.analysis.bash.charset import is_decimal
from assent.analysis.evaluate.expand import Expander
from assent.analysis.ir import Direction, Redirect, Word
from assent.analysis.values.combine import array, concatenate, guessed, silent, word_of
from assent.analysis.values.hints import merged, texts
from assent.analysis.values.scope import UNKNOWN_NUMBER, Value, value_of
from assent.model import UNKNOWN

_ONCE = re.compile(rf"[\w./+,:@%=!{UNKNOWN}-]+")
"""A name in which there is nothing to expand."""
_DIRECTIONS: dict[str, Direction] = {"<": "read", "<&": "descriptor", "<>": "both", "<<<": "here"}


class Evaluator(Expander):
    """Makes assignments and opens redirections."""

    def assignments(self, nodes: tuple[Assignment, ...], words: tuple[Word, ...]) -> tuple[tuple[str, Word], ...]:
        """Make assignments; those before a command's words are only for that command."""
        outer = self.scope
        if words:
            self.scope = outer.fork()
        made: list[tuple[str, Word]] = []
        for node in nodes:
            value = self.assigned(node)
            self.set(node.name, value)
            made.append((node.name, word_of(value)))
        if words and all(word.splits for word in words):
            outer.join(self.scope)  # the words may all vanish
        self.scope = outer
        return tuple(made)

    def assigned(self, node: Assignment) -> Value:
        """Give what an assignment makes of its variable."""
        old = self.scope.value(node.name)
        if node.items is not None or node.index is not None:
            self.notes.array(node.name)
        if node.items is not None:
            return self.array_of(node, old)
        value = self.value(node.value, assigned=True)
        if node.index is not None:
            self.subscript(node.index)
            return guessed(silent(concatenate([old, value]), UNKNOWN, mixed=True), merged(_all(old), _all(value)))
        if not node.append:
            return value
        if old.items is None:
            return concatenate([old, value])
        first = old.items[0] if old.items else Value()
        return guessed(silent(old, UNKNOWN, mixed=True), merged(_all(old), _all(concatenate([first, value]))))

    def array_of(self, node: Assignment, old: Value) -> Value:
        """Give the array that an assignment makes."""
        words = self.words(node.items or ())
        items = tuple(value_of(word) for word in words)
        fixed = not any(word.splits or word.text.startswith("[") for word in words) and node.name not in self.notes.maps
        for word in words:
            self.element(word.text)
        if node.append:
            fixed = fixed and old.items is not None
            items = (*(old.items or ()), *items)
        if fixed:
            return array(items)
        behind = tuple(word.text.rpartition("]=")[2] for word in words)
        hints = merged(_all(old), *map(_all, items), behind)
        return guessed(silent(concatenate([old, *items]), UNKNOWN, mixed=True), hints)

    def redirect(self, node: Redirection) -> Redirect:
        """Tell where a redirection leads."""
        if node.prefix.startswith("{"):
            name = node.prefix[1:-1]
            self.bind(name, UNKNOWN_NUMBER.or_else(self.scope.value(name)))  # nothing is set where it fails
        if (isinstance(node.target, HereText) or node.operator == "<<<") and node.prefix.strip("0"):
            self.notes.blame("text is fed to a file descriptor other than stdin")
        if isinstance(node.target, HereText):
            body = concatenate([self.part(part) for part in node.target.body])
            return Redirect("here", word_of(body))
        if node.operator == "<<<":
            value = self.value(node.target)
            return Redirect("here", Word(value.text + "\n", value.variables, value.feeds, hints=value.hints))
        target = self.target(node.target)
        if node.operator == "<" and target.stream and node.prefix.strip("0"):
            self.notes.blame("text is fed to a file descriptor other than stdin")
        if node.operator in {">&", "<&"} and target.known and is_decimal(target.text.rstrip("-")):
            return Redirect("descriptor", target)
        if node.operator in {">&", "<&"} and target.text == "-":
            return Redirect("descriptor", target)
        if node.operator == ">&" and (target.chosen or not _ONCE.fullmatch(target.text)):
            self.notes.blame("`>&` expands a file name a second time, even in quotes")
        return Redirect(_DIRECTIONS.get(node.operator, "write"), target)


def _all(value: Value) -> tuple[str, ...]:
    """Give all that a value, or an element of it, may be."""
    each = (value,) if value.items is None else value.items
    return merged(*(texts(item.text, item.hints) for item in each))
