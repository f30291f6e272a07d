"""Brace expansion: `a{b,c}` and `{1..5}`, as bash does it, up to a bound."""

from __future__ import annotations

import assent.lazy_regex as re

MOST = 64
"""Words that one word may become; more than that is unknown."""

LONGEST = 1_024
"""Characters a word with braces may have; finding their ends is not linear."""

BRACES = 8
"""Braces a word may have, for the same reason."""

_INTEGERS = re.compile(r"([+-]?[0-9]{1,9})\.\.([+-]?[0-9]{1,9})(?:\.\.([+-]?[0-9]{1,9}))?")
_LETTERS = re.compile(r"(?:([a-z])\.\.([a-z])|([A-Z])\.\.([A-Z]))(?:\.\.([+-]?[0-9]{1,9}))?")
_SEQUENCE = re.compile(r"(?:[+-]?[0-9]+|[A-Za-z])\.\.(?:[+-]?[0-9]+|[A-Za-z])(?:\.\.[+-]?[0-9]+)?")


class TooManyError(Exception):
    """A word becomes more words than are worth knowing."""


def expand(text: str, depth: int = 0) -> list[str]:
    """Give the words that braces in `text` make of it; raises TooManyError."""
    if len(text) > LONGEST or depth > MOST or text.count("{") > BRACES:
        raise TooManyError
    found = _first_brace(text)
    if found is None:
        return [text]
    start, end = found
    inner = text[start + 1 : end]
    middles = _alternatives(inner, depth) if "," in inner else _sequence(inner)
    return _join(text[:start], middles, expand(text[end + 1 :], depth + 1))


def _join(before: str, middles: list[str], after: list[str]) -> list[str]:
    if len(middles) * len(after) > MOST:
        raise TooManyError
    return [before + middle + rest for middle in middles for rest in after]


def _first_brace(text: str) -> tuple[int, int] | None:
    """Find the first `{` that has a `}` with a comma or `..` of their own between them."""
    start = text.find("{")
    while start >= 0:
        end = _closing(text, start)
        if end is not None:
            return start, end
        start = text.find("{", start + 1)
    return None


def _closing(text: str, start: int) -> int | None:
    if text.startswith("{}", start) and start == 0:
        return None
    level = separators = 0
    for mark in re.finditer(r"[{},]|\.\.(?!\})", text[start + 1 :]):
        match mark[0]:
            case "{":
                level += 1
            case "}" if level:
                level -= 1
            case "}" if separators:
                return start + 1 + mark.start()
            case "," | ".." if not level:
                separators += 1
    return None


def _alternatives(inner: str, depth: int) -> list[str]:
    words: list[str] = []
    for option in _split(inner):
        words += expand(option, depth + 1)
        if len(words) > MOST:
            raise TooManyError
    return words


def _split(inner: str) -> list[str]:
    options, level, begin = [], 0, 0
    for mark in re.finditer(r"[{},]", inner):
        if mark[0] == ",":
            if not level:
                options.append(inner[begin : mark.start()])
                begin = mark.end()
        else:
            level = max(0, level + (1 if mark[0] == "{" else -1))
    return [*options, inner[begin:]]


def _sequence(inner: str) -> list[str]:
    if numbers := _INTEGERS.fullmatch(inner):
        return _count(*numbers.groups())
    if letters := _LETTERS.fullmatch(inner):
        first, last = (g for g in letters.groups()[:4] if g)
        return [chr(code) for code in _steps(ord(first), ord(last), letters[5])]
    if _SEQUENCE.fullmatch(inner):
        raise TooManyError  # mixed cases and huge numbers: bash has its own ideas
    return ["{" + inner + "}"]


def _count(first: str, last: str, step: str | None) -> list[str]:
    width = max(len(first), len(last)) if _padded(first) or _padded(last) else 0
    return [f"{number:0{width}d}" if width else str(number) for number in _steps(int(first), int(last), step)]


def _padded(number: str) -> bool:
    digits = number.lstrip("+-")
    return len(digits) > 1 and digits.startswith("0")


def _steps(first: int, last: int, step: str | None) -> list[int]:
    stride = abs(int(step or 1)) or 1
    if abs(last - first) // stride >= MOST:
        raise TooManyError
    return list(range(first, last + 1, stride) if first <= last else range(first, last - 1, -stride))
