"""What a command that can not be undone hits, in words about this very call."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import msgspec

from assent.catalog import Role
from assent.model import DESTRUCTIVE, UNKNOWN
from assent.reading.judging import quote
from assent.reading.options import Match
from assent.reading.paths import normal
from assent.reading.roles import Judgement
from assent.shell.tree import Word

_HIT: frozenset[Role] = frozenset({"write", "edit", "remove", "prune", "access", "move", "dest", "mirror", "to"})
"""Roles of what changes or goes; where a command has such words, the others only say how."""
_MOST_FOLDERS = 4
"""In so many of the folders that it may work in, files are named."""
_MOST_NAMES = 20
"""So many are named at all: nobody reads more."""


def name_resources(
    said: Judgement, match: Match, roles: Sequence[tuple[Role, Word]], folders: Iterable[str | None]
) -> Judgement:
    """Say what is hit in place of the marks: `{args}`, by their whole paths, and `{folder}`."""
    if said.tier is not DESTRUCTIVE:
        return said
    some = list(itertools.islice(folders, _MOST_FOLDERS))
    named = _resources(match, roles, some) or "no names given"
    where = " or ".join([folder or "the current folder" for folder in some])
    impact, rollback = (
        text.replace("{folder}", where).replace("{args}", named) for text in (said.impact, said.rollback)
    )
    return msgspec.structs.replace(said, impact=impact, rollback=rollback)


def name_files(words: Sequence[Word], folders: Iterable[str | None]) -> str:
    """Write files by their whole paths, in the folders that they may be counted from."""
    some = list(itertools.islice(folders, _MOST_FOLDERS))
    found = [_whole(word, folder) for word in words[: _MOST_NAMES + 1] for folder in some]
    return _listed(list(dict.fromkeys(found)), len(words))


def _resources(match: Match, roles: Sequence[tuple[Role, Word]], folders: Sequence[str | None]) -> str:
    hit = [word for role, word in roles if role in _HIT]
    if hit:
        return name_files(hit, folders)
    named = match.operands or tuple(word for _, _, word in match.values)
    # Of a command that is run every word counts; else what is only an option says how, and nothing of what.
    kept = named if match.entry.runs else [w for w in named if w.text[:1] != "-" or "=" in w.text]
    return _listed(kept, len(kept))


def _listed(words: Sequence[Word], count: int) -> str:
    shown = quote(words[:_MOST_NAMES]).replace(UNKNOWN, "…")
    return f"{shown} … ({count} in all)" if len(words) > _MOST_NAMES else shown


def _whole(word: Word, folder: str | None) -> Word:
    """Count a path from the folder, if it is known and so is how the path begins."""
    text = word.text
    if ":" in text or text[:1] in ("", UNKNOWN) or (folder is None and text[0] != "/"):
        return word
    path = normal(text if text[0] == "/" else f"{folder}/{text}")
    return word if path == UNKNOWN else msgspec.structs.replace(word, text=path)
