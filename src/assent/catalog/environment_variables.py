"""Names that change what programs do: environment variables and git settings, as tables."""

from __future__ import annotations

import functools
import re

import msgspec

from assent.catalog.loader import read_data, read_yaml
from assent.model import UNKNOWN


class Variables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which variables may be set, in globs (`LC_*`); a value is an expression."""

    harmless: tuple[str, ...]
    """May be put into any program's environment, with any value."""
    harmless_values: dict[str, str]
    """May be, with a value that matches as a whole."""
    perilous: tuple[str, ...]
    """Must not even be assigned in the shell, since programs or the shell itself act on them."""
    deaf: frozenset[str]
    """Programs that run nothing, and look at no variable but those above."""
    unheard: str
    """What the name of a variable is that means nothing to them."""
    builtins: frozenset[str]
    """What bash runs itself, wherever a program of that name may lie."""
    settings: tuple[str, ...]
    """Git settings that `git -c` may give any value."""
    turning: tuple[str, ...]
    """Have programs run or load something else than what was started, whatever they are."""
    diverting: tuple[str, ...]
    """Have an agent send what it sends elsewhere, or let others read it."""
    emptied: tuple[str, ...]
    """Of those that turn programs, what means nothing where it is empty."""


@functools.cache
def tables() -> Variables:
    """Return the tables."""
    file = "variables.yaml"
    return msgspec.convert(read_yaml(read_data("tables", file), file), Variables)


@functools.cache
def _globs(kind: str) -> re.Pattern[str]:
    names = getattr(tables(), kind)
    return re.compile("|".join(re.escape(n).replace(r"\*", ".*") for n in names))


def environment_is_harmless(name: str, value: str) -> bool:
    """Tell whether a program may be started with this variable set; a name nobody knows is not harmless."""
    if _globs("harmless").fullmatch(name):
        return True
    allowed = tables().harmless_values.get(name)
    return allowed is not None and UNKNOWN not in value and re.fullmatch(allowed, value) is not None


def is_deaf(program: str) -> bool:
    """Tell whether a program runs nothing, and looks at no variable but those that are known."""
    return program in tables().deaf


@functools.lru_cache(maxsize=4096)
def is_unheard(name: str, program: str) -> bool:
    """Tell whether a variable that a line gives a program means nothing to it: one that nobody is known to act on."""
    acted_on = is_perilous(name) or _globs("turning").fullmatch(name) is not None
    return is_deaf(program) and not acted_on and re.fullmatch(tables().unheard, name) is not None


def is_perilous(name: str) -> bool:
    """Tell whether programs or the shell itself are known to act on a variable of this name."""
    return _globs("perilous").fullmatch(name) is not None


def assignment_is_inert(name: str) -> bool:
    """Tell whether assigning a variable in the shell changes nothing but later words of the line."""
    return not is_perilous(name) or _globs("harmless").fullmatch(name) is not None


def setting_is_harmless(key: str) -> bool:
    """Tell whether a git setting only changes how things look."""
    return _globs("settings").fullmatch(key.lower()) is not None


def is_builtin(name: str) -> bool:
    """Tell whether bash runs a command itself."""
    return name in tables().builtins


def turns_programs(name: str, value: str) -> bool:
    """Tell whether a variable has whatever is started with it run or load something else."""
    return _globs("turning").fullmatch(name) is not None and not environment_is_harmless(name, value)


def diverts(name: str) -> bool:
    """Tell whether a variable has an agent send what it sends, its login included, to others than it would."""
    return _globs("diverting").fullmatch(name) is not None


def turning_names() -> tuple[str, ...]:
    """Return the variables that turn programs, where they have names of their own and are no families."""
    return tuple(name for name in tables().turning if "*" not in name)


def emptied_names() -> tuple[str, ...]:
    """Return those that mean nothing where they are empty."""
    return tables().emptied
