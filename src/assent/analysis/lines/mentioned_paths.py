"""Paths and machines among words of which nobody knows what a program does with them: it may touch each of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import assent.lazy_regex as re
from assent.analysis.budget import LONG, MENTION
from assent.analysis.ir import Word
from assent.analysis.operations import locate
from assent.analysis.resources.paths import Place
from assent.analysis.resources.urls import decode, read_address
from assent.analysis.resources.wildcards import blur, is_pattern
from assent.budget import step
from assent.catalog import secret_names
from assent.model import UNKNOWN

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*+\Z")
_LONGEST_SCHEME = 32
_FILE_URL = re.compile(r"(?i)(?:file|sqlite|unix)[a-z0-9]*://(?:localhost(?=/))?")
_CUT = re.compile(r"[=@:,;|<]")
"""A path may stand behind one of these: `--file=x`, `@x`, `host:x` …"""
_END = re.compile(r"[:,;|]")
"""… and end at one of these: `x:/inside:ro`, `src=x,dst=y`."""
_LIKE = re.compile(r"[./~]")
MOST = 64
"""Paths of one command that are looked at; of more than that any may be among them, and secrets are still named."""


def mentioned_paths(words: Sequence[Word], place: Place, cwd: str | None) -> tuple[str, ...]:
    """Return the paths that words may name, absolute, by all their names; a pattern's unknown parts stay unknown."""
    found: dict[str, None] = {}
    more: dict[str, None] = {}
    for word in words:
        kept = found if len(found) <= MOST else more
        for text in _candidates(word.text):
            step()
            if not place.spend(MENTION + len(text) // LONG):
                return (UNKNOWN, *filter(secret_names.is_secret, (*found, *more)))
            if (kept is found and _LIKE.search(text)) or secret_names.is_secret(f"{cwd}/{text}"):
                names = locate(Word(text), place, cwd).names  # asks the disk, which takes its time
                kept.update(dict.fromkeys(map(blur, names) if is_pattern(word) else names))
        if len(more) > MOST:
            break
    return tuple(found) if len(found) <= MOST else (UNKNOWN, *filter(secret_names.is_secret, (*found, *more)))


def _candidates(text: str) -> Iterator[str]:
    """Give what in a word may be a path, by itself or with what follows it."""
    url = _find_address(text)
    if url is not None:
        file = _FILE_URL.match(text, url)
        if file is not None:
            yield decode(text[file.end() :])
        text = text[:url].rstrip("=@:,;|<")
    first = 2 if text.startswith("-") else 0
    for start in (first, *[cut.end() for cut in itertools.islice(_CUT.finditer(text), MOST)]):
        end = _END.search(text, start)
        for piece in (text[start:], text[start : end.start()] if end else ""):
            if piece.strip(f"{UNKNOWN}./-"):
                yield piece


def _find_address(text: str) -> int | None:
    """Return where the first address in a text begins."""
    end = text.find("://")
    while end >= 0:
        step()
        scheme = _SCHEME.search(text, max(0, end - _LONGEST_SCHEME), end)
        if scheme is not None:
            return scheme.start()
        end = text.find("://", end + 3)
    return None


def mentioned_hosts(words: Sequence[Word]) -> tuple[str, ...]:
    """Return the machines that addresses among the words name; any, if there are more of them than are read."""
    named = [word.text for word in words if "://" in word.text]
    if len(named) > MOST:
        return (UNKNOWN,)
    addresses = [text[url:] for text in named if (url := _find_address(text)) is not None]
    return tuple(dict.fromkeys(read_address(address).host for address in addresses))
