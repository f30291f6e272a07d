"""Operands of conditions that bash evaluates: numbers in `[[ … ]]`, and names behind `-v`."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import assent.regex as re
from assent.model import UNKNOWN
from assent.shell.scope import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assent.shell.expansion import Expander
    from assent.shell.tree import Word

_COMPARING = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_NAMING = frozenset({"-v", "-R"})
_NAME = re.compile(r"\w*", re.ASCII)
_CODE = re.compile(r"\$\(|`|\$\{")


def check_test(expander: Expander, values: Sequence[Value]) -> None:
    """Report operands of `[[ … ]]` that are evaluated and are more than numbers and names."""
    for before, value, after in zip(values, values[1:], [*values[2:], Value()], strict=False):
        if value.text in _COMPARING and not (_plain(expander, before) and _plain(expander, after)):
            expander.notes.blame("`[[` evaluates an operand that is not a plain number")
        if value.text in _NAMING and not _NAME.fullmatch(after.text):
            expander.notes.blame(f"`{value.text}` evaluates an operand that is not a plain name")


def check_words(expander: Expander, words: Sequence[Word]) -> None:
    """Report operands of `test` and `[` that are evaluated and are more than names."""
    for word, after in itertools.pairwise(words):
        if word.text in _NAMING and not _NAME.fullmatch(after.text) and after.text != "]":
            expander.notes.blame(f"`{word.text}` evaluates an operand that is not a plain name")
    if any("[" in word.text and _CODE.search(word.text) for word in words):
        expander.notes.blame("an operand of a test holds code")


def _plain(expander: Expander, value: Value) -> bool:
    if UNKNOWN not in value.text and value.text.isidentifier():
        value = expander.scope.value(value.text)
    return value.calculable
