"""The syntax of a shell line, before anything is expanded: what the parser makes and the walker walks."""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class Text(msgspec.Struct, frozen=True):
    """Literal characters of a word."""

    text: str
    quoted: bool


class Parameter(msgspec.Struct, frozen=True):
    """`$name`, `${name[index]}`, or a form of it that is computed from the value."""

    name: str
    quoted: bool
    index: str | None = None
    derived: bool = False
    """An operator stands behind the name: the value is not the text."""
    counts: bool = False
    """It is a length: a number, whatever the value."""
    operand: tuple[Part, ...] = ()
    bare: bool = False
    """No braces around the name: letters that come to stand behind it become part of it."""
    operator: str = ""
    """What computes it from the value: `:-`, `%%`, or `:` with its numbers."""


class Substitution(msgspec.Struct, frozen=True):
    """Commands whose output, or whose end of a pipe, becomes part of a word."""

    kind: str
    body: Sequence
    quoted: bool


class Arithmetic(msgspec.Struct, frozen=True):
    """An arithmetic expression: the names it reads, those it sets, and the expansions inside it."""

    names: tuple[str, ...]
    assigned: tuple[str, ...]
    parts: tuple[Part, ...]
    quoted: bool
    text: str = ""
    """What it says, with `UNKNOWN` in the place of each expansion."""


Part: TypeAlias = Text | Parameter | Substitution | Arithmetic
WordTree: TypeAlias = str | tuple[Part, ...]
"""A plain `str` is a word without quotes, expansions or patterns: most words are."""


class Assignment(msgspec.Struct, frozen=True):
    """`name=value`, `name+=value`, `name[index]=value` or `name=(items)`."""

    name: str
    value: WordTree
    items: tuple[WordTree, ...] | None = None
    append: bool = False
    index: str | None = None


class HereText(msgspec.Struct):
    """A here-document; its body is read when its line ends."""

    delimiter: str
    expands: bool
    strips: bool
    start: int
    body: tuple[Part, ...] = ()


class Redirection(msgspec.Struct, frozen=True):
    """An operator and its target; `prefix` is the descriptor or `{name}` written before it."""

    operator: str
    target: WordTree | HereText
    prefix: str = ""


class Simple(msgspec.Struct, frozen=True):
    """A simple command: assignments, words, redirections."""

    assignments: tuple[Assignment, ...] = ()
    words: tuple[WordTree | Assignment, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    plain: tuple[str, ...] = ()
    """The words again, if the command is nothing but plain ones."""


class Sequence(msgspec.Struct, frozen=True):
    """Statements one after the other; the flag tells those sent to the background."""

    items: tuple[tuple[Statement, bool], ...]


class Pipeline(msgspec.Struct, frozen=True):
    """Statements joined by `|` or `|&`; there are at least two."""

    items: tuple[Statement, ...]
    loud: frozenset[int] = frozenset()
    """Those before a `|&`: what they complain of goes the same way."""


class AndOrList(msgspec.Struct, frozen=True):
    """Statements joined by `&&` and `||`, each with the operator before it."""

    first: Statement
    rest: tuple[tuple[str, Statement], ...]


class Group(msgspec.Struct, frozen=True):
    """`{ … }`, `( … )` or a coprocess, which sets a variable of its name."""

    kind: str
    body: Sequence
    name: str = "COPROC"


class If(msgspec.Struct, frozen=True):
    """Each arm is a condition and what follows it; the last may have no condition."""

    arms: tuple[tuple[Sequence | None, Sequence], ...]


class Case(msgspec.Struct, frozen=True):
    """A subject, and arms of patterns with their statements."""

    subject: WordTree
    arms: tuple[tuple[tuple[WordTree, ...], Sequence], ...]


class While(msgspec.Struct, frozen=True):
    """`while` or `until`."""

    kind: str
    condition: Sequence
    body: Sequence


class For(msgspec.Struct, frozen=True):
    """`for` or `select` over words; without words over the positional parameters."""

    kind: str
    name: str
    words: tuple[WordTree, ...] | None
    body: Sequence


class Count(msgspec.Struct, frozen=True):
    """`for (( … ))`."""

    header: Arithmetic
    body: Sequence


class Calculation(msgspec.Struct, frozen=True):
    """`(( … ))`."""

    expression: Arithmetic


class Test(msgspec.Struct, frozen=True):
    """`[[ … ]]`, its brackets and operators included as words."""

    words: tuple[WordTree, ...]


class Function(msgspec.Struct, frozen=True):
    """A function's name and body."""

    name: str
    body: Statement


class Redirected(msgspec.Struct, frozen=True):
    """A compound statement with redirections of its own."""

    body: Statement
    redirections: tuple[Redirection, ...]


Statement: TypeAlias = (
    Simple | Pipeline | AndOrList | Group | If | Case | While | For | Count | Calculation | Test | Function | Redirected
)
