"""Find the part of a shell line that Assent cannot parse. For display only."""

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
"""The most parts that are parsed one by one."""


def find_unread(line: str) -> str | None:
    """Return the one part of a line that does not parse by itself; None for several or the whole line."""
    parts = list(_parts(line))
    if not 1 < len(parts) <= _MOST:
        return None
    found = [part for part in parts if parse(part).unreadable is not None]
    return found[0] if len(found) == 1 else None


def _parts(line: str) -> Iterator[str]:
    """Split a line between commands, outside of quotes and brackets."""
    depth, begin = 0, 0
    for token in _TOKEN.finditer(line):
        text = token[0]
        depth += (text in _OPENING) - (text in _CLOSING and depth > 0)
        if not depth and text in _BETWEEN:
            yield line[begin : token.start()].strip()
            begin = token.end()
    yield line[begin:].strip()
