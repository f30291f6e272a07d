"""What `${name#…}` and its like may make of a value, where both are text of the line: hints, never proofs."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING

import assent.lazy_regex as re
from assent.analysis.values.hints import MADE, merged
from assent.model import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST = 256
_ODD = re.compile(rf"[\[&\\'\"{UNKNOWN}]|^/|/[^/]*/")
"""What in an operand is not computed: sets, what was found, quotes, and more than one slash."""
_WILD = re.compile(r"[*?\[\\#%]")
_PLACES = re.compile(r":\s*(-?[0-9]{1,6})\s*(?::\s*(-?[0-9]{1,6})\s*)?")


def derive(operator: str, values: tuple[str, ...], operands: tuple[str, ...]) -> tuple[str, ...]:
    """Give what an expansion may be: nothing where it depends on text from outside the line alone."""
    bare = operator.lstrip(":") if operator[1:2] in "-+?" else operator
    unclear = bare not in {"-", "?", "+"} and (len(operands) > 1 or any(map(_ODD.search, operands)))
    if values and (unclear or (not operands and bare in {"#", "##", "%", "%%", "/", "//"})):
        return merged(values, (MADE,))
    if bare in {"-", "?"}:
        return merged(values, operands)
    if bare == "+":
        return operands
    if bare in {"/", "//"}:
        return merged(*(_replaced(value, operand) for operand in operands for value in values or (UNKNOWN,)))
    operand = operands[0] if len(operands) == 1 else ""
    return merged(_changed(operator, value, operand) for value in values)


def _changed(operator: str, value: str, operand: str) -> str:
    if len(value) > _LONGEST or len(operand) > _LONGEST // 4 or MADE in value + operand:
        return MADE
    if places := _PLACES.fullmatch(operator):
        return _cut(value, int(places[1]), None if places[2] is None else int(places[2]))
    if operator in {"#", "##", "%", "%%"}:
        return _trimmed(operator, value, operand)
    if operand or operator not in {"^", "^^", ",", ",,"}:
        return MADE
    first, rest = (value[:1], value[1:]) if len(operator) == 1 else (value, "")
    return (first.upper() if operator[0] == "^" else first.lower()) + rest


def _cut(value: str, begin: int, length: int | None) -> str:
    text = value[begin:] if begin >= 0 else value[max(len(value) + begin, 0) :]
    return text if length is None else text[:length]


def _trimmed(operator: str, value: str, pattern: str) -> str:
    """Take the shortest or longest part that a pattern matches from an end."""
    sizes = range(len(value) + 1) if len(operator) == 1 else range(len(value), -1, -1)
    for size in sizes:
        end = value[:size] if operator[0] == "#" else value[len(value) - size :]
        if fnmatch.fnmatchcase(end, pattern):
            return value[size:] if operator[0] == "#" else value[: len(value) - size]
    return value


def _replaced(value: str, operand: str) -> Iterator[str]:
    """Replace what is plain text; of a pattern it is not known what it matches."""
    old, _, new = operand.partition("/")
    if value != UNKNOWN and not _WILD.search(old):
        yield value.replace(old, new) if old else value
        yield value.replace(old, new, 1) if old else value
    else:
        yield from (new, f"{UNKNOWN}{new}{UNKNOWN}", value if value == UNKNOWN else MADE)
