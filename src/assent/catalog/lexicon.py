"""Entries that policies bring along: the user's own take the place of what is known here, others' may only tighten."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

import assent.regex as re
from assent.catalog.entry import BOUNDED, Clause, Entry, expression
from assent.catalog.wording import check_wording
from assent.model import ConfigError, Layer, Policy

_NAME = re.compile(r"[A-Za-z0-9_][\w.+-]*", re.ASCII)
_PATTERNS = ("arg", "first", "second", "left", "each")


class Lexicon(msgspec.Struct, frozen=True, eq=False):
    """What is said about commands besides the catalog."""

    own: Mapping[str, Entry] = {}
    """Said by the user or the organisation: counts instead of the catalog."""
    strict: Mapping[str, tuple[Entry, ...]] = {}
    """Said by a project or a run: counts where it is stricter."""


NOTHING = Lexicon()


def build_lexicon(policies: Iterable[Policy]) -> Lexicon:
    """Gather the entries of all policies; of two that the user's side gives a name, the organisation's counts."""
    own: dict[str, Entry] = {}
    strict: dict[str, tuple[Entry, ...]] = {}
    for policy in sorted(policies, key=lambda p: p.layer.rank):
        for written in policy.commands:
            entry = convert_entry(written.entry)
            for name in written.names:
                if policy.layer >= Layer.USER:
                    own[name] = entry
                else:
                    strict[name] = (*strict.get(name, ()), entry)
    return Lexicon(own, strict) if own or strict else NOTHING


def convert_entry(data: Mapping[str, Any]) -> Entry:
    """Take what was written for an entry, or raise `msgspec.ValidationError` or `ConfigError`.

    Its expressions are matched in bounded time, whatever they are.
    """
    entry = _bounded(msgspec.convert(data, Entry))
    check_wording(entry)
    return entry


def command_names(key: str) -> tuple[str, ...]:
    """Take the key of an entry apart: the names of one or several programs."""
    names = tuple(n.strip() for n in key.split(","))
    for name in names:
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"`{name}` is not the name of a program: it has letters, digits, `.`, `_`, `+` and `-` only"
            )
    return names


def _bounded(entry: Entry) -> Entry:
    below = {name: _bounded(child) for name, child in entry.subcommands.items()}
    return msgspec.structs.replace(entry, when=tuple(map(_bounded_clause, entry.when)), subcommands=below)


def _bounded_clause(clause: Clause) -> Clause:
    fields: dict[str, Any] = {name: _mark(text) for name in _PATTERNS if (text := getattr(clause, name))}
    fields["value"] = {name: _mark(text) for name, text in clause.value.items()}
    fields["every"] = {name: _mark(text) for name, text in clause.every.items()}
    return msgspec.structs.replace(clause, **fields)


def _mark(text: str) -> str:
    marked = BOUNDED + text
    expression(marked)
    return marked
