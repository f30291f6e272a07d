"""Entries that policies bring along: the user's own take the place of what is known here, others' may only tighten."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

import assent.lazy_regex as re
from assent.catalog.schema import BOUNDED, Clause, Entry, expression
from assent.catalog.validate import EntryError, Path, check_wording, describe_path, explain_refusal
from assent.model import CommandEntry, ConfigError, Layer, Policy

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
            entry = _convert(written)
            for name in written.names:
                if policy.layer >= Layer.USER:
                    own[name] = entry
                else:
                    strict[name] = (*strict.get(name, ()), entry)
    return Lexicon(own, strict) if own or strict else NOTHING


def _convert(written: CommandEntry) -> Entry:
    try:
        return convert_entry(written.entry)
    except EntryError as error:
        message = f"commands.{', '.join(written.names)}{describe_path(error.path)}: {error.message}"
        raise ConfigError(message, file=written.origin.file, line=written.origin.line) from None


def convert_entry(data: Mapping[str, Any]) -> Entry:
    """Take what was written for an entry, or raise `EntryError`, which knows where in it the fault is.

    Its expressions are matched in bounded time, whatever they are.
    """
    try:
        written = msgspec.convert(data, Entry)
    except msgspec.ValidationError as error:
        raise explain_refusal(data, error) from None
    entry = _bounded(written, ())
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


def _bounded(entry: Entry, path: Path) -> Entry:
    when = tuple(_bounded_clause(clause, (*path, "when", i)) for i, clause in enumerate(entry.when))
    below = {name: _bounded(child, (*path, "subcommands", name)) for name, child in entry.subcommands.items()}
    return msgspec.structs.replace(entry, when=when, subcommands=below)


def _bounded_clause(clause: Clause, path: Path) -> Clause:
    fields: dict[str, Any] = {name: _mark(text, (*path, name)) for name in _PATTERNS if (text := getattr(clause, name))}
    for key in ("value", "every"):
        fields[key] = {name: _mark(text, (*path, key, name)) for name, text in getattr(clause, key).items()}
    return msgspec.structs.replace(clause, **fields)


def _mark(text: str, path: Path) -> str:
    marked = BOUNDED + text
    try:
        expression(marked)
    except ConfigError as error:
        raise EntryError(error.message, path) from None
    return marked
