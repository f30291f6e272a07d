"""The standard expressions, but compiled when they are first used: who decides one call needs few of them."""

from __future__ import annotations

import re
from re import (
    ASCII,
    DOTALL,
    IGNORECASE,
    MULTILINE,
    VERBOSE,
    Match,
    Pattern,
    escape,
    findall,
    finditer,
    fullmatch,
    match,
    search,
    split,
    sub,
)
from typing import Any, cast

from assent.budget import loaded

__all__ = [
    "ASCII",
    "DOTALL",
    "IGNORECASE",
    "MULTILINE",
    "VERBOSE",
    "Match",
    "Pattern",
    "compile",
    "compile_now",
    "escape",
    "findall",
    "finditer",
    "fullmatch",
    "match",
    "search",
    "split",
    "sub",
]

_METHODS = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub")


def compile(pattern: str, flags: int = 0) -> Pattern[str]:  # noqa: A001 - named as what it stands for
    """Return an expression; one that is wrong is found out when it is first used."""
    return cast("Pattern[str]", _Later(pattern, flags))


compile_now = re.compile
"""For an expression that is made of what is read: it is used at once, and seldom again."""


class _Later:
    """Turns into the compiled expression: after the first use its methods are those."""

    __slots__ = ("_given", *_METHODS)

    def __init__(self, *given: Any) -> None:
        self._given = given

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(*self._given)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        loaded()
        return getattr(compiled, name)
