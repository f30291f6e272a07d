"""Paths and machines among words of which nobody knows what a program does with them: it may touch each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import assent.regex as re
from assent.catalog import secrets
from assent.model import UNKNOWN
from assent.reading.paths import Place
from assent.reading.touching import locate
from assent.reading.web import read_address
from assent.reading.wildcards import blur, is_pattern
from assent.shell.tree import Word

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_CUT = re.compile(r"[=@:,<]")
"""A path may stand behind one of these: `--file=x`, `@x`, `host:x`."""
_LIKE = re.compile(r"[./~]")
MOST = 64
"""Paths of one command that are looked at; of more than that any may be among them."""


def mentioned_paths(words: Sequence[Word], place: Place, cwd: str | None) -> tuple[str, ...]:
    """Return the paths that words may name, absolute, by all their names; a pattern's unknown parts stay unknown."""
    found: dict[str, None] = {}
    for word in words:
        for text in _candidates(word.text):
            located = locate(Word(text), place, cwd)
            if _LIKE.search(text) or secrets.is_secret(located.path):
                found.update(dict.fromkeys(map(blur, located.names) if is_pattern(word) else located.names))
        if len(found) > MOST:
            return (UNKNOWN,)
    return tuple(found)


def _candidates(text: str) -> Iterator[str]:
    if "://" in text and _URL.search(text):
        return
    first = 2 if text.startswith("-") else 0
    starts = [first, *[cut.end() for cut in _CUT.finditer(text)]]
    for start in starts[: MOST + 1]:
        if text[start:].strip(f"{UNKNOWN}./-"):
            yield text[start:]


def mentioned_hosts(words: Sequence[Word]) -> tuple[str, ...]:
    """Return the machines that addresses among the words name."""
    named = [word.text for word in words if "://" in word.text]
    addresses = [text[url.start() :] for text in named if (url := _URL.search(text))]
    return tuple(dict.fromkeys(read_address(address).host for address in addresses))
