"""What is frozen, in one shape: groups of records, each cut into what machines read and what people read.

A text for people leaves a mark in the machine part, so that a text that appears or goes away counts as structure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

MARK = "…text…"
DECISION_TEXTS = frozenset(
    ("reason", "decision_reason", "impact", "rollback", "unreadable", "overruled", "sends", "impact_scope")
) | {"rollback_advice"}


class Record(NamedTuple):
    """One thing that is frozen. `key` finds it again, `title` shows it to people."""

    key: str
    title: str
    machine: str
    text: str


Group: TypeAlias = list[Record]


def dump(value: Any) -> str:
    """Write JSON in one way only."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def split(value: Any, texts: frozenset[str]) -> tuple[Any, dict[str, str]]:
    """Take the texts for people out of a value, each by the path it stands at."""
    taken: dict[str, str] = {}
    return _take(value, texts, "", taken), taken


def _take(value: Any, texts: frozenset[str], path: str, taken: dict[str, str]) -> Any:
    if isinstance(value, dict):
        kept = {}
        for name, each in value.items():
            where = f"{path}.{name}" if path else name
            if name in texts and isinstance(each, str) and each:
                taken[where] = each
                kept[name] = MARK
            else:
                kept[name] = _take(each, texts, where, taken)
        return kept
    if isinstance(value, list):
        return [_take(each, texts, f"{path}.{number}", taken) for number, each in enumerate(value)]
    return value


def make(key: str, title: str, machine: Any, text: Any) -> Record:
    return Record(key, title, dump(machine), dump(text))


def cut(key: str, title: str, value: Any, texts: frozenset[str]) -> Record:
    """Make a record of a value by the names of its texts."""
    return make(key, title, *split(value, texts))


def short_hash(parts: Iterable[str]) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return found.hexdigest()[:20]


def hashes(group: Group) -> dict[str, Any]:
    """Return what is committed of a group."""
    return {
        "records": len(group),
        "keys": short_hash(record.key for record in group),
        "machine": short_hash(part for record in group for part in (record.key, record.machine)),
        "text": short_hash(part for record in group for part in (record.key, record.text)),
    }


def flatten(value: Any, path: str = "") -> dict[str, str]:
    """Return every leaf of a value by its path."""
    if isinstance(value, dict) and value:
        pairs = [(f"{path}.{name}" if path else str(name), each) for name, each in value.items()]
    elif isinstance(value, list) and value:
        pairs = [(f"{path}.{number}" if path else str(number), each) for number, each in enumerate(value)]
    else:
        return {path: dump(value)}
    return {name: leaf for where, each in pairs for name, leaf in flatten(each, where).items()}
