"""Whether an entry is written as entries are: what its strings name must be something that is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import get_args

import assent.regex as re
from assent.catalog.entry import Clause, Entry, Role
from assent.model import ConfigError

_ROLES = frozenset(get_args(Role))
_FLAG = re.compile(r"[-+]\[[^\]\s]+\]|[-+][^\s\[]\S*|--?|\+")
_VALUED = re.compile(r"[-+:]?[^\s/]+(?:/[1-9])?")


def check_wording(entry: Entry, above: frozenset[str] = frozenset()) -> None:
    """Raise `ConfigError` for the first thing in an entry, or below it, that nobody could mean."""
    _check_arguments(entry.args)
    known = above | _check_options(entry)
    for clause in entry.when:
        _check_clause(clause, known)
    for child in entry.subcommands.values():
        check_wording(child, known if entry.inherit else frozenset())


def _check_arguments(spec: str) -> None:
    roles = spec.split()
    for role in roles:
        name = role.removesuffix("*")
        if name not in _ROLES:
            raise ConfigError(f"`{name}` in args is no role{_near(name, _ROLES)}")
    if sum(role.endswith("*") for role in roles) > 1:
        raise ConfigError(f"args `{spec}`: one role may be repeated, not several")


def _check_options(entry: Entry) -> frozenset[str]:
    """Return the options of an entry, by every spelling."""
    for token in entry.flags.split():
        if not _FLAG.fullmatch(token):
            raise ConfigError(f"`{token}` in flags is no option: it is `-x`, `--long` or `-[xyz]`")
    for name in _names((entry.values, entry.optional)):
        if not _VALUED.fullmatch(name):
            raise ConfigError(f"`{name}` is no option with a value: it is `-x`, `--long`, or `--long/2` for two words")
    return frozenset(entry.table)


def _names(tables: Iterable[Mapping[str, object]]) -> list[str]:
    return [name for table in tables for names in table for name in names.split()]


def _check_clause(clause: Clause, known: frozenset[str]) -> None:
    if clause.args is not None:
        _check_arguments(clause.args)
    waited = [*(name for group in clause.groups for name in group), *clause.barred]
    for name in (*waited, *_names((clause.value, clause.every, clause.roles))):
        if name not in known:
            raise ConfigError(f"`{name}` in when is none of its options{_near(name, known)}")


def _near(name: str, known: Iterable[str]) -> str:
    import difflib  # noqa: PLC0415 - only a mistyped name needs it

    close = difflib.get_close_matches(name[:64], sorted(known), n=1)
    return f"; did you mean `{close[0]}`?" if close else ""
