"""Operands of conditions that bash evaluates: numbers in `[[ … ]]`, and names behind `-v`."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import assent.lazy_regex as re
from assent.analysis.values.scope import Value
from assent.model import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assent.analysis.evaluate.expand import Expander
    from assent.analysis.ir import Word

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
            expander.notes.blame(f"`{value.text}` evaluates a computed variable name")


def check_words(expander: Expander, words: Sequence[Word]) -> None:
    """Report operands of `test` and `[` that are evaluated and are more than names."""
    for word, after in itertools.pairwise(words):
        if word.text in _NAMING and not _NAME.fullmatch(after.text) and after.text != "]":
            expander.notes.blame(f"`{word.text}` evaluates a computed variable name")
        if _may_name(word) and ("[" in after.text or _is_chosen(after)):
            expander.notes.blame("a test may evaluate an operand that is known only at run time")
    if any("[" in word.text and _CODE.search(word.text) for word in words):
        expander.notes.blame("an operand of a test contains code")
    if any(word.splits and _is_chosen(word) for word in words):
        expander.notes.blame("an operand of a test may expand to several words and be evaluated")


def _is_chosen(word: Word) -> bool:
    """Tell whether what is not known of a word was chosen by the line, and is no number."""
    return UNKNOWN in word.text and word.chosen and not word.like


def _may_name(word: Word) -> bool:
    """Tell whether a word may turn out to be `-v`, behind which names are evaluated."""
    return _is_chosen(word) and word.text.strip(UNKNOWN) in ("", "-", "v", "R")


def _plain(expander: Expander, value: Value) -> bool:
    if UNKNOWN not in value.text and value.text.isidentifier() and value.text.isascii():
        value = expander.scope.value(value.text)
    return expander.calculable(value)
