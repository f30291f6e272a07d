"""From the parts of a word to the words it becomes, as far as constants go."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import msgspec

import assent.lazy_regex as re
from assent.analysis.bash import braces
from assent.analysis.bash.arithmetic import IDENTIFIER, worked_out
from assent.analysis.bash.ast import Arithmetic, Assignment, Parameter, Part, Substitution, Text, WordTree
from assent.analysis.bash.charset import is_decimal
from assent.analysis.ir import ListWord, Word
from assent.analysis.values.combine import array, concatenate, cut_anywhere, guessed, silent, word_of
from assent.analysis.values.field import Field, is_pattern
from assent.analysis.values.hints import MADE, merged, parted, split, texts
from assent.analysis.values.parameter_expansion import derive
from assent.analysis.values.scope import NUMBER_OR_NOTHING, UNKNOWN_NUMBER, UNKNOWN_VALUE, ShellScope, Value, may_run
from assent.budget import step
from assent.model import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assent.analysis.bash.diagnostics import Notes

_CUTS = re.compile(r":[^-+?=]")
"""What takes some letters of a value."""
_NUMBERS = frozenset(
    {
        "RANDOM",
        "SRANDOM",
        "SECONDS",
        "EPOCHSECONDS",
        "LINENO",
        "BASHPID",
        "PPID",
        "UID",
        "EUID",
        "SHLVL",
        "COLUMNS",
        "LINES",
    }
)
"""Variables that hold a number, unless the line sets them; setting them is asked about."""
_FIELDS = re.compile(r"[ \t\n]+")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=", re.ASCII)
_TILDES = 64
"""Tildes of a word that are looked at."""
_TILDE = re.compile(r"~([^/:]*)")
_INDEX = re.compile(r"\[(\w+)\]", re.ASCII)
_MANY = 256
"""Words that take as long as anything else that is counted."""
_DOLLAR = Text("$", quoted=True)
_SHORT = re.compile(r"\?|&&|\|\|")
"""What may keep a part of a sum from being calculated."""
_STANDS = 0x100000
"""While braces are expanded, this character and those after it stand for parts that braces cannot see into."""


class Expander(ABC):
    """Expands words in a scope."""

    scope: ShellScope
    notes: Notes
    bound: dict[str, None]
    """Variables that were set by other means than an assignment."""
    room: int
    """Characters that values may still become; after that they are unknown, so that none can grow without end."""
    listed: tuple[tuple[Value, ...], Value] | None = None
    """The arguments that were last asked for as a whole, and what they are."""

    @abstractmethod
    def last_words(self) -> tuple[str, ...]:
        """Give what `$_` may be: the last word of a command before."""

    @abstractmethod
    def output_of(self, substitution: Substitution) -> Value:
        """Walk the commands of a substitution, and give what they become part of."""

    def bind(self, name: str, value: Value) -> None:
        """Set a variable by other means than an assignment."""
        self.bound[name] = None
        self.set(name, value)

    def set(self, name: str, value: Value) -> None:
        """Set a variable; an integer's value is evaluated."""
        if name in self.scope.integers and not self.calculable(value):
            self.notes.blame(f"`{name}` is an integer variable, so its value is evaluated")
        old = self.scope.values.get(name)
        if value.items is None and old is not None and name in self.notes.arrays:
            value = _first_set(old, value)
        held = self.scope.holds_code
        self.scope.assign(name, value)
        if name in self.notes.maps and not held:  # which of its elements is meant is never told, but what they are
            self.scope.holds_code = any(hint != MADE and may_run(hint) for hint in value.hints)

    def words(self, trees: Iterable[WordTree | Assignment], *, declares: bool = False) -> list[Word]:
        """Expand the words of a command, into as many as they become."""
        words: list[Word] = []
        for number, tree in enumerate(trees):
            if not number % _MANY:
                step()
            if isinstance(tree, str):
                words.append(Word(tree))
            elif isinstance(tree, Assignment):
                words.append(self.declared(tree))
            elif (word := _constant(tree)) is not None:
                words.append(word)
            elif declares and words and isinstance(tree[0], Text) and _is_assignment(tree) and not _has_braces(tree):
                words.append(self.joined(tree))
            else:
                words += self.fields(tree)
        return words

    def declared(self, tree: Assignment) -> Word:
        """Give an array assignment as the word that a declaration sees."""
        items = [self.value(item) for item in tree.items or ()]
        for item in items:
            self.element(item.text)
        value = concatenate([Value(" ".join(item.text for item in items)), *(silent(item) for item in items)])
        sign = "+=" if tree.append else "="
        self.notes.array(tree.name)
        return ListWord(f"{tree.name}{sign}({value.text})", value.variables, value.feeds)

    def joined(self, tree: WordTree) -> Word:
        """Expand a word that stays one word."""
        return word_of(self.value(tree, assigned=True))

    def value(self, tree: WordTree, *, assigned: bool = False) -> Value:
        """Expand without splitting, patterns or braces, as in an assignment."""
        if isinstance(tree, str):
            return Value(tree)
        values = [self.part(part) for part in self.with_homes(tree, assigned=assigned)]
        whole = values[0] if len(values) == 1 else concatenate(values)
        return whole if whole.items is None else msgspec.structs.replace(whole, items=None)

    def target(self, tree: WordTree) -> Word:
        """Expand the target of a redirection, which must be one word."""
        words = self.words([tree])
        if len(words) == 1:
            return words[0]
        return Word(
            UNKNOWN,
            tuple({name: None for word in words for name in word.variables}),
            tuple({feed: None for word in words for feed in word.feeds}),
            splits=True,
        )

    def fields(self, tree: tuple[Part, ...]) -> list[Word]:
        """Expand braces, then everything else, and split."""
        try:
            trees = _brace_trees(tree)
            self.room -= 128 * (len(trees) - 1)
            if self.room < 0:
                raise braces.TooManyError  # noqa: TRY301 - the same answer as for a single word
        except braces.TooManyError:
            return [_anything(self.joined(tree))]
        # what braces made is no assignment any more, even if it looks like one
        assigned = trees == [tree] and _is_assignment(tree)
        return [word for each in trees for word in self.split(each, assigned=assigned)]

    def split(self, tree: tuple[Part, ...], *, assigned: bool) -> list[Word]:
        """Make fields of one word."""
        if _DOLLAR in tree and not all(isinstance(part, Text) or part.quoted for part in tree):
            # bash does not split a word in which a dollar stands for itself
            return [_anything(self.joined(tree))]
        fields = [Field()]
        for part in self.with_homes(tree, assigned=assigned):
            if isinstance(part, Text):
                fields[-1].add(Value(), part.text, quoted=part.quoted)
            elif isinstance(part, Parameter) and (part.name == "@" or part.index == "@") and not part.counts:
                self.spread(part, fields)
            elif part.quoted:
                value = self.part(part)
                fields[-1].add(value, value.text, quoted=True)
            else:
                self.cut(self.part(part), fields)
        return [field.word() for field in fields if field.present]

    def cut(self, value: Value, fields: list[Field]) -> None:
        """Add an unquoted value, which ends a field at every space in it."""
        if not self.scope.splitting:
            pieces = parted(texts(value.text, value.hints), self.scope.value("IFS").text)
            fields[-1].add(guessed(cut_anywhere(value), pieces), UNKNOWN, quoted=False)
            return
        if value.hints:
            value = msgspec.structs.replace(value, hints=split(value.hints))
        first, *others = _FIELDS.split(value.text)
        fields[-1].add(value, first, quoted=False)
        self.room -= 64 * len(others)
        for text in others:
            fields.append(Field())
            fields[-1].add(value, text, quoted=False)

    def spread(self, part: Parameter, fields: list[Field]) -> None:
        """Add `$@` or `${array[@]}`: each element begins a field."""
        value = self.part(part)
        if value.items is None:
            alone = part.name != "@" and UNKNOWN not in value.text and bool(value.text)
            fields[-1].add(value, value.text if alone else UNKNOWN, quoted=alone and part.quoted)
            return
        self.room -= 64 * len(value.items)
        for number, item in enumerate(value.items):
            if number:
                fields.append(Field())
            if part.quoted:
                fields[-1].add(item, item.text, quoted=True)
            else:
                self.cut(item, fields)

    def part(self, part: Part) -> Value:
        """Give the value of one part."""
        step()
        if isinstance(part, Text):
            return Value(part.text)
        if isinstance(part, Parameter):
            return self.parameter(part)
        if isinstance(part, Substitution):
            return self.output_of(part)
        return self.calculate(part)

    def parameter(self, part: Parameter) -> Value:
        """Give the value of a variable or a positional or special parameter."""
        operand = concatenate([self.part(inner) for inner in part.operand])
        base = self.special(part.name) if not part.name[:1].isalpha() and part.name[:1] != "_" else None
        value = self.indexed(part) if base is None else base
        if part.counts:
            return Value(UNKNOWN, value.variables, number=True, filled=True)
        if part.derived:
            guesses = derive(part.operator, texts(value.text, value.hints), texts(operand.text, operand.hints))
            if (part.index in {"@", "*"} or part.name in {"@", "*"}) and guesses:
                guesses = (MADE,)  # it is done to each element
            elif _CUTS.match(part.operator) and not value.feeds and UNKNOWN in value.text:
                guesses = merged(guesses, (MADE,))  # a letter here and there is known to whoever writes the line
            return guessed(silent(concatenate([value, operand]), UNKNOWN, mixed=True), guesses)
        self.room -= len(value.text)
        return value if self.room >= 0 else silent(value, UNKNOWN)

    def special(self, name: str) -> Value:
        """Give `$1`, `$@`, `$?` and their like."""
        arguments = self.scope.arguments
        if name in {"?", "$", "#"}:
            return UNKNOWN_NUMBER
        if name == "!":
            return NUMBER_OR_NOTHING
        if name.startswith("~"):
            return guessed(UNKNOWN_VALUE, ("/root",) if name == "~root" else (f"/home/{name[1:]}",))
        if name == "0" and self.scope.named is not None:
            return self.scope.named
        if arguments is None or name in {"0", "-", ""}:
            return guessed(UNKNOWN_VALUE, self.scope.given)
        if name in {"@", "*"}:
            if self.listed is None or self.listed[0] is not arguments:
                self.listed = arguments, array(arguments)
            return self.starred(self.listed[1]) if name == "*" else self.listed[1]
        return arguments[int(name) - 1] if int(name) <= len(arguments) else Value()

    def indexed(self, part: Parameter) -> Value:
        """Give a variable, or one element of an array."""
        value = self.scope.value(part.name) if part.name != "_" else self.last_word()
        if part.index is None:
            return value if value.items is None else value.items[0] if value.items else Value()
        if part.index in {"@", "*"}:
            return self.starred(value) if part.index == "*" else value
        self.subscript(part.index)
        if value.items is not None and is_decimal(part.index) and not (part.index[0] == "0" and part.index != "0"):
            place = int(part.index)
            return value.items[place] if place < len(value.items) else Value()
        each = value.items if value.items is not None else (value,)
        # Where it is not sure that it is this list, no element of it is known by its place.
        made = (MADE,) if value.items is None and any(" " in hint for hint in value.hints) else ()
        return guessed(
            silent(value, UNKNOWN, mixed=True), merged(made, *(texts(item.text, item.hints) for item in each))
        )

    def last_word(self) -> Value:
        """Give `$_`; a shell that has run other lines may have it of those."""
        return guessed(UNKNOWN_VALUE, merged(self.last_words(), (MADE,) if self.scope.continued else ()))

    def subscript(self, index: str) -> None:
        """Check the index of an array, which bash evaluates."""
        name = index.lstrip("$-")
        if index.startswith("$") and IDENTIFIER.fullmatch(self.scope.value(name).text):
            name = self.scope.value(name).text  # in a map a key, elsewhere a variable in turn
        self.calculate(Arithmetic((name,), (), (), quoted=True), where="an array subscript")

    def element(self, text: str) -> None:
        """Check the index of an element, `[index]=value`: in any array but a map it is evaluated too."""
        step()
        if not text.startswith("["):
            return
        index = _INDEX.match(text)
        if index is None:
            self.notes.blame("an array subscript is not a plain number or name")
        else:
            self.subscript(index[1])

    def starred(self, value: Value) -> Value:
        """Give all elements as one text, which the separator must be known for."""
        return value if self.scope.splitting else guessed(silent(value, UNKNOWN, mixed=True), (MADE,))

    def calculate(self, expression: Arithmetic, where: str = "an arithmetic expression") -> Value:
        """Check that an expression evaluates nothing but numbers, and give its value."""
        parts = [self.part(part) for part in expression.parts]
        values = [*(self.scope.value(name) for name in expression.names if not is_decimal(name)), *parts]
        if not all(map(self.calculable, values)):
            self.notes.blame(f"{where} evaluates a value that is not a plain number")
        for name in expression.assigned:
            self.bind(name, NUMBER_OR_NOTHING if _SHORT.search(expression.text) else UNKNOWN_NUMBER)
        result = None if expression.assigned else self.summed(expression.text, parts)
        return silent(concatenate([*values, UNKNOWN_NUMBER]), UNKNOWN if result is None else result, number=True)

    def calculable(self, value: Value) -> bool:
        """Tell whether bash can evaluate a value without running anything.

        What is a word in a variable from outside may be the name of one that the line has set.
        """
        outside = UNKNOWN in value.text and not value.number and not _NUMBERS.issuperset(value.variables)
        return value.calculable and not (outside and self.scope.holds_code)

    def summed(self, text: str, parts: list[Value]) -> str | None:
        """Work out a sum: bash first puts in what is expanded, then what its variables hold."""
        for part in parts:
            text = text.replace(UNKNOWN, part.text, 1)
        return worked_out(IDENTIFIER.sub(lambda name: self.scope.value(name[0]).text, text))

    def with_homes(self, tree: tuple[Part, ...], *, assigned: bool) -> Iterable[Part]:
        """Expand a tilde at the start and, in what is assigned, behind `=` and `:`."""
        if not any(isinstance(part, Text) and not part.quoted and "~" in part.text for part in tree):
            return tree
        parts: list[Part] = []
        for number, part in enumerate(tree):
            if isinstance(part, Text) and not part.quoted and "~" in part.text:
                last = number == len(tree) - 1
                parts += self.homes(part.text, first=number == 0, last=last, assigned=assigned)
            else:
                parts.append(part)
        return parts

    def homes(self, text: str, *, first: bool, last: bool, assigned: bool) -> list[Part]:
        """Split unquoted text at its tildes and expand them."""
        parts: list[Part] = []
        at = 0
        for number, match in enumerate(_TILDE.finditer(text)):
            if number > _TILDES:
                self.notes.blame("a word has too many tildes to analyse")
                break
            begin, end = match.span()
            named = first and _ASSIGNMENT.fullmatch(text, 0, begin) is not None
            starts = (first and not begin) or (assigned and (named or text[begin - 1] == ":"))
            if not starts or (end == len(text) and not last):
                continue
            # bash leaves alone what follows `~:` in a word that is no assignment
            unclear = not assigned and text.startswith(":", end)
            parts += [Text(text[at:begin], quoted=False), self.home("?" if unclear else match[1])]
            at = end
        return [*parts, Text(text[at:], quoted=False)]

    def home(self, user: str) -> Part:
        """Give the folder that a tilde stands for, as an expansion that does not split."""
        name = {"": "HOME", "+": "PWD", "-": "OLDPWD"}.get(user)
        return Parameter(name or f"~{user}", quoted=True)


def _anything(word: Word) -> Word:
    """Give a word of which no more is known than what it is made of."""
    return Word(UNKNOWN, word.variables, word.feeds, splits=True, hints=merged(word.hints, (MADE,)), mixed=True)


def _first_set(old: Value, value: Value) -> Value:
    """Give what an array is whose first element is set: it keeps the others."""
    if old.items is not None:
        return array((value, *old.items[1:]))
    either = merged(texts(old.text, old.hints), texts(value.text, value.hints))
    return guessed(silent(concatenate([old, value]), UNKNOWN, mixed=True), either)


def _constant(tree: tuple[Part, ...]) -> Word | None:
    """Give the one word that literal text becomes; None if something in it may be expanded."""
    text = unquoted = ""
    for part in tree:
        if not isinstance(part, Text):
            return None
        text += part.text
        if not part.quoted:
            unquoted += part.text
    if "{" in unquoted or "~" in unquoted:
        return None
    return Word(text, splits=is_pattern(unquoted))


def _is_assignment(tree: tuple[Part, ...]) -> bool:
    first = tree[0] if tree else None
    return isinstance(first, Text) and not first.quoted and _ASSIGNMENT.match(first.text) is not None


def _has_braces(tree: tuple[Part, ...]) -> bool:
    """Tell whether braces make several words of one, also behind `name=` where that is a word of a command."""
    try:
        return _brace_trees(tree) != [tree]
    except braces.TooManyError:
        return True


def _brace_trees(tree: tuple[Part, ...]) -> list[tuple[Part, ...]]:
    if not any(isinstance(part, Text) and not part.quoted and "{" in part.text for part in tree):
        return [tree]
    text = "".join(
        part.text if isinstance(part, Text) and not part.quoted else chr(_STANDS + number)
        for number, part in enumerate(tree)
    )
    texts = braces.expand(text)
    if texts == [text]:
        return [tree]
    trees = [_restored(each, tree) for each in texts]
    if any(_merges(before, after) for each in trees for before, after in itertools.pairwise(each)):
        raise braces.TooManyError
    return trees


def _merges(before: Part, after: Part) -> bool:
    """Tell whether braces brought two parts together that are read as one: `$x{a,b}` becomes `$xa $xb`."""
    if isinstance(before, Parameter):
        return before.bare and isinstance(after, Text) and after.text[:1].isidentifier() | after.text[:1].isdigit()
    return before == _DOLLAR


def _restored(text: str, tree: tuple[Part, ...]) -> tuple[Part, ...]:
    pieces = re.split(f"([{chr(_STANDS)}-\U0010ffff])", text)
    return tuple(
        tree[ord(piece) - _STANDS] if number % 2 else Text(piece, quoted=False)
        for number, piece in enumerate(pieces)
        if piece
    )
