"""Sums of constants: arithmetic that comes out the same wherever the line runs."""

from __future__ import annotations

import assent.lazy_regex as re

IDENTIFIER = re.compile(r"(?<![\w#])[A-Za-z_]\w*", re.ASCII)
"""A variable in arithmetic."""

_NUMBER = r"(?:0|[1-9][0-9]{0,8})"
_PRODUCT = rf"{_NUMBER}(?:\s*[*/%]\s*{_NUMBER})*"
_SUM = re.compile(rf"\s*{_PRODUCT}(?:\s*[-+]\s*{_PRODUCT})*\s*")
_TERM = re.compile(rf"([-+]?)\s*({_PRODUCT})")
_FACTOR = re.compile(rf"([*/%]?)\s*({_NUMBER})")
_LONGEST = 60
"""Characters of a sum that is worked out."""
_LARGEST = 2**62
"""Beyond this a shell may count otherwise than we do."""


def worked_out(text: str) -> str | None:
    """Give the result of plain numbers with `+ - * / %`, as bash prints it; None if it is anything else."""
    if len(text) > _LONGEST or not _SUM.fullmatch(text):
        return None
    total = 0
    for sign, product in _TERM.findall(text):
        value = _multiplied(product)
        if value is None:
            return None
        total += -value if sign == "-" else value
    return str(total) if abs(total) < _LARGEST else None


def _multiplied(product: str) -> int | None:
    value = 1
    for operator, digits in _FACTOR.findall(product):
        number = int(digits)
        if operator in {"/", "%"} and not number:
            return None
        value = value // number if operator == "/" else value % number if operator == "%" else value * number
        if value >= _LARGEST:
            return None
    return value
