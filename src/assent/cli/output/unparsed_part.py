"""Which part of a shell line could not be read, so that a person sees where to look. For display alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import assent.lazy_regex as re
from assent.analysis.evaluate.script import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN = re.compile(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*+\"|\$?[({]|[)}]|&&|\|\||[;|&\n]|[^\\'\"$(){};|&\n]+|.", re.DOTALL)
_OPENING = frozenset(("(", "$(", "{", "${"))
_CLOSING = frozenset(")}")
_BETWEEN = frozenset(("&&", "||", ";", "|", "&", "\n"))
_MOST = 64
"""Parts that are looked at one by one."""


def find_unread(line: str) -> str | None:
    """Return the part of a line that can not be read by itself; None if that is all of it, or more than one."""
    parts = list(_parts(line))
    if not 1 < len(parts) <= _MOST:
        return None
    found = [part for part in parts if parse(part).unreadable is not None]
    return found[0] if len(found) == 1 else None


def _parts(line: str) -> Iterator[str]:
    """Cut a line where one command ends and the next begins, outside of quotes and brackets."""
    depth, begin = 0, 0
    for token in _TOKEN.finditer(line):
        text = token[0]
        depth += (text in _OPENING) - (text in _CLOSING and depth > 0)
        if not depth and text in _BETWEEN:
            yield line[begin : token.start()].strip()
            begin = token.end()
    yield line[begin:].strip()
