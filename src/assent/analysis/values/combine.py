"""Values put together, turned into words, and kept only for where they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from assent.analysis.ir import Word
from assent.analysis.values.hints import combined
from assent.analysis.values.scope import Value
from assent.budget import step
from assent.model import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable


def array(items: tuple[Value, ...]) -> Value:
    """Make an array of its elements."""
    whole = concatenate(items)
    text = " ".join(item.text for item in items)
    return Value(text, whole.variables, whole.feeds, opaque=whole.opaque, items=items)


def concatenate(values: Iterable[Value]) -> Value:
    """Put values one behind the other."""
    step()
    parts = tuple(values)
    variables: dict[str, None] = {}
    feeds: dict[int, None] = {}
    opaque = hinted = mixed = cut = False
    for value in parts:
        hinted = hinted or bool(value.hints)
        opaque = opaque or value.opaque
        mixed = mixed or value.mixed
        cut = cut or value.cut
        variables.update(dict.fromkeys(value.variables))
        feeds.update(dict.fromkeys(value.feeds))
    hints = combined([value.hints or (value.text,) for value in parts]) if hinted else ()
    text = "".join([v.text for v in parts])
    like = (
        "".join([v.example for v in parts]) if UNKNOWN in text and all(v.example or not v.text for v in parts) else ""
    )
    filled = any(v.full for v in parts)
    known = Value(text, tuple(variables), tuple(feeds), opaque=opaque, hints=hints, like=like, filled=filled)
    return msgspec.structs.replace(known, mixed=mixed, cut=cut) if mixed or cut else known


def word_of(value: Value) -> Word:
    """Take a value as a word that does not split."""
    like = value.example if UNKNOWN in value.text else ""
    return Word(
        value.text, value.variables, value.feeds, hints=value.hints, like=like, mixed=value.mixed, cut=value.cut
    )


def guessed(value: Value, hints: tuple[str, ...]) -> Value:
    """Add what a value may be."""
    return msgspec.structs.replace(value, hints=hints) if hints else value


def silent(value: Value, text: str = "", *, number: bool = False, mixed: bool = False) -> Value:
    """Keep where a value comes from, but not what it says; `mixed`: it may be something else by now."""
    opaque, mixed = not number and bool(text), mixed or value.mixed
    return Value(text, value.variables, value.feeds, number, opaque=opaque, filled=number, mixed=mixed, cut=value.cut)


def cut_anywhere(value: Value) -> Value:
    """Keep where a value comes from, where it depends on a variable as well which words it becomes."""
    known = silent(value)
    if not (value.feeds or value.variables):
        return known
    return msgspec.structs.replace(known, variables=(*value.variables, "IFS"))
