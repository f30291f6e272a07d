"""Loops: their bodies are walked until nothing changes any more, or once for each of a few words that are known."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, TypeVar

import msgspec

from assent.analysis.evaluate.assignments import Evaluator
from assent.analysis.evaluate.statement_traits import framed, named_in, never_ends
from assent.analysis.ir import Word
from assent.analysis.values.combine import concatenate, guessed, silent, word_of
from assent.analysis.values.hints import MADE, merged, of_word
from assent.analysis.values.printed_numbers import prints_number
from assent.analysis.values.scope import UNKNOWN_VALUE, ShellScope, Value, value_of
from assent.model import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable

    from assent.analysis.bash.ast import Count, For, Sequence, While
    from assent.analysis.ir import Command

T = TypeVar("T")
_ENDING = frozenset({"break", "exit", "return", "exec", "kill"})
"""What ends a loop from within."""


class Looper(Evaluator):
    """Walks loops, for who walks statements."""

    commands: list[Command]
    functions: dict[str, None]
    left: list[ShellScope]
    """What the shell was where a round of a loop may have ended early."""
    rounds: int
    """How often the body of a loop may still be walked for words that are known."""
    rewalks: int
    """How often one may still be walked again."""

    @abstractmethod
    def sequence(self, node: Sequence) -> None:
        """Walk statements one after the other."""

    @abstractmethod
    def inside(self, layer: str, walk: Callable[[T], None], node: T) -> None:
        """Walk what stands behind a layer."""

    def while_statement(self, node: While) -> None:
        """Walk a loop with a condition."""
        begin = len(self.commands)
        self.loop(node.kind, self.while_once, node)
        self.mark_endless(node, begin)

    def mark_endless(self, node: While | Count, begin: int) -> None:
        """Mark the commands of a loop that nothing in it ends."""
        inside = self.commands[begin:]
        if never_ends(node) and not any(c.words and c.words[0].text in _ENDING for c in inside):
            self.commands[begin:] = [msgspec.structs.replace(c, endless=True) for c in inside]

    def while_once(self, node: While) -> None:
        """Walk one round of it."""
        self.sequence(node.condition)
        self.sequence(node.body)

    def for_statement(self, node: For) -> None:
        """Walk a loop over words."""
        words = self.words(node.words or ()) if node.words is not None else self.all_arguments()
        values = [value_of(word) for word in words]
        numbers = bool(values) and all(value.numeric for value in values)
        numbers = numbers or self.counted(words)
        mixed = len(words) > 1 and not all(word.text == UNKNOWN and word.feeds for word in words)
        each = silent(concatenate(values), UNKNOWN, number=numbers, mixed=mixed)
        if any(word.splits and word.feeds for word in words):
            each = msgspec.structs.replace(each, cut=True)
        each = each if numbers else guessed(each, merged(*map(of_word, words)))
        goes = node.kind == "for" and any(word.known for word in words)
        self.bind(node.name, each if goes else each.or_else(self.scope.value(node.name)))  # there may be no round
        if self.unrolls(node, words):
            rounds = values
        elif numbers or node.kind == "select" or not words:
            rounds = [each]
        else:
            begin = named_in(words, self.scope)
            rounds = [msgspec.structs.replace(each, text=framed(words), named_in=begin, filled=begin is not None)]
        self.loop(node.kind, self.for_once, (node, rounds))

    def all_arguments(self) -> list[Word]:
        """Give the words of a loop that names none."""
        if self.scope.arguments is None:
            return [Word(UNKNOWN, splits=True, hints=self.scope.given, mixed=True)]
        return [word_of(value) for value in self.scope.arguments]

    def unrolls(self, node: For, words: list[Word]) -> bool:
        """Tell whether a loop is walked once for each of its words: they are known, and few."""
        if node.kind != "for" or not words or len(words) > self.rounds or not all(word.known for word in words):
            return False
        self.rounds -= len(words)
        return True

    def counted(self, words: list[Word]) -> bool:
        """Tell whether words are nothing but numbers that a command prints."""
        if len(words) != 1 or words[0].text != UNKNOWN or words[0].variables or not words[0].splits:
            return False
        return self.prints(words[0].feeds) > 0

    def prints(self, feeds: tuple[int, ...]) -> int:
        """Tell how many numbers these commands print, if nothing else: none, one, or more."""
        # A program that complains begins with its name, which bash would take for a variable's.
        return prints_number(feeds, self.commands, self.functions.keys() | self.scope.values.keys())

    def for_once(self, rounds: tuple[For, list[Value]]) -> None:
        """Walk its rounds, with the variable set; each of them may be the last."""
        node, values = rounds
        for each in values:
            before = self.scope.fork()
            self.set(node.name, each)
            if node.kind == "select":
                self.scope.assign("REPLY", guessed(UNKNOWN_VALUE, (MADE,)))
            self.sequence(node.body)
            self.scope.join(before)

    def count(self, node: Count) -> None:
        """Walk a counting loop."""
        begin = len(self.commands)
        self.loop("for", self.count_once, node)
        self.mark_endless(node, begin)

    def count_once(self, node: Count) -> None:
        """Walk one round of it."""
        self.calculate(node.header)
        self.sequence(node.body)

    def loop(self, layer: str, walk: Callable[[T], None], node: T) -> None:
        """Walk a loop until what it changes no longer changes what it is read with."""
        while True:
            begin, names, left = len(self.commands), len(self.functions), len(self.left)
            before = self.scope.fork()
            self.inside(layer, walk, node)
            for scope in (before, *self.left[left:]):
                self.scope.join(scope)
            if self.scope.same(before) and len(self.functions) == names:
                return
            self.rewalks -= 1
            if self.rewalks < 0:
                self.notes.blame("loops change too many variables to analyse")
                self.scope.forget()
                return
            del self.commands[begin:], self.left[left:]
