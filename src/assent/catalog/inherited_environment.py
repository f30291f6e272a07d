"""The environment that commands start in: which variables are judged, and what the user's own values look like.

A name that is in no table is nothing a program is known to act on.
"""

from __future__ import annotations

import functools
import re
from typing import Literal, TypeAlias

import msgspec

from assent.catalog.environment_variables import environment_is_harmless, is_builtin, is_deaf, is_perilous, is_unheard
from assent.catalog.loader import read_data, read_yaml
from assent.catalog.schema import BOUNDED, Expression, expression
from assent.catalog.secret_names import is_secret_variable

Kind: TypeAlias = Literal["paths", "strict", "plain"]
"""How a value is judged that no expression knows: by where it leads, not at all, or by whether it leads anywhere."""


class VariableFamily(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Variables that only interpreters and tools of one kind look at."""

    names: tuple[str, ...]
    by: frozenset[str]
    """More programs that do not."""


class EnvironmentTables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Globs over names; a value is an expression in which `@name` stands for a path of the user's own."""

    more: tuple[str, ...]
    any: tuple[str, ...]
    values: dict[str, str]
    paths: tuple[str, ...]
    strict: tuple[str, ...]
    aloof: frozenset[str]
    """Programs that look at no variable of a family, nor start a program that does."""
    families: tuple[VariableFamily, ...]
    only: dict[str, frozenset[str]]
    """Variables that nobody but these looks at."""
    early: tuple[str, ...]


@functools.cache
def tables() -> EnvironmentTables:
    """Return the tables."""
    file = "environment.yaml"
    return msgspec.convert(read_yaml(read_data("tables", file), file), EnvironmentTables)


@functools.lru_cache(maxsize=256)
def _glob(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(n).replace(r"\*", ".*") for n in names))


@functools.cache
def _globs(kind: str) -> re.Pattern[str]:
    return _glob(getattr(tables(), kind))


def is_judged(name: str) -> bool:
    """Tell whether programs are known to act on a variable of this name, so that its value matters."""
    return is_perilous(name) or _globs("more").fullmatch(name) is not None


@functools.lru_cache(maxsize=4096)
def matters(name: str, value: str | None) -> bool:
    """Tell whether a variable has to be judged where it is; None is a value that was not told."""
    if not is_judged(name) or _globs("any").fullmatch(name) is not None:
        return False
    if value is None and is_secret_variable(name) and not name.startswith("BASH_FUNC_"):
        return False  # a credential: programs send it, and run nothing because of it
    return value is None or not environment_is_harmless(name, value)


def is_early(name: str) -> bool:
    """Tell whether the agent's own shell, or whatever it starts, obeys a variable before a sandbox holds anything."""
    return _globs("early").fullmatch(name) is not None


@functools.lru_cache(maxsize=4096)
def is_obeyed(name: str, program: str) -> bool:
    """Tell whether a program may look at a variable that stands in its environment anyway.

    What a line itself gives to a program is judged more strictly: whoever wrote it there meant something by it.
    """
    known = tables()
    if name in known.only:
        return program in known.only[name]
    aloof = is_deaf(program) or is_builtin(program) or program in known.aloof
    families = (family for family in known.families if _glob(family.names).fullmatch(name))
    return not (any(aloof or program in family.by for family in families) or is_unheard(name, program))


@functools.lru_cache(maxsize=1024)
def expression_of(name: str) -> Expression | None:
    """Return what the user's own values of a variable look like, if that is known."""
    values = tables().values
    written = values.get(name)
    if written is None and kind_of(name) != "paths":  # where any bare word is a relative path, digits too
        written = next((v for n, v in values.items() if "*" in n and _glob((n,)).fullmatch(name)), None)
    return None if written is None else expression(BOUNDED + written)


@functools.lru_cache(maxsize=1024)
def kind_of(name: str) -> Kind:
    """Tell how other values of a variable are judged."""
    if _globs("paths").fullmatch(name) is not None:
        return "paths"
    return "strict" if _globs("strict").fullmatch(name) is not None else "plain"
