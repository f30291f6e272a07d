"""Whether an entry is written as entries are: what its strings name must be something that is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias, get_args, get_origin

import msgspec

import assent.lazy_regex as re
from assent.catalog.schema import Clause, Entry, Role
from assent.model import ConfigError, Tier

Path: TypeAlias = tuple[str | int, ...]
"""The keys and indices that lead from an entry to something in it."""

_ROLES: tuple[str, ...] = get_args(Role)
_FLAG = re.compile(r"[-+]\[[^\]\s]+\]|[-+][^\s\[]\S*|--?|\+")
_VALUED = re.compile(r"[-+:]?[^\s/]+(?:/[1-9])?")


class EntryError(ConfigError):
    """Something in an entry is wrong: the key that the path ends with, or else what stands there."""

    def __init__(self, message: str, path: Path = (), *, at_key: bool = False) -> None:
        super().__init__(message)
        self.path = path
        self.at_key = at_key


def describe_path(path: Path) -> str:
    """Write a path as it stands behind the name of an entry: `.when[2].tier`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{_cut(step)}" for step in path)


def check_wording(entry: Entry, above: frozenset[str] = frozenset(), path: Path = ()) -> None:
    """Raise `EntryError` for the first thing in an entry, or below it, that nobody could mean."""
    _check_way_back(entry, path)
    _check_arguments(entry.args, (*path, "args"))
    known = above | _check_options(entry, path)
    for index, clause in enumerate(entry.when):
        _check_clause(clause, known, (*path, "when", index))
    for name, child in entry.subcommands.items():
        check_wording(child, known if entry.inherit else frozenset(), (*path, "subcommands", name))


def _check_way_back(said: Entry | Clause, path: Path) -> None:
    """Who is asked about what cannot be undone is told what it hits, and how to go back."""
    if said.tier is Tier.DESTRUCTIVE:
        missing = [key for key in ("impact", "rollback") if not getattr(said, key).strip()]
        if missing:
            listed = " and ".join(map(_quote, missing))
            raise EntryError(f"what is `destructive` needs {listed} as well", (*path, "tier"))


def _check_arguments(spec: str, path: Path) -> None:
    roles = spec.split()
    for role in roles:
        name = role.removesuffix("*")
        if name not in _ROLES:
            raise EntryError(f"{_quote(name)} in args is no role{_near_or_all(name, _ROLES)}", path)
    if sum(role.endswith("*") for role in roles) > 1:
        raise EntryError(f"args {_quote(spec)}: one role may be repeated, not several", path)


def _check_options(entry: Entry, path: Path) -> frozenset[str]:
    """Return the options of an entry, by every spelling."""
    for token in entry.flags.split():
        if not _FLAG.fullmatch(token):
            message = f"{_quote(token)} in flags is no option: it is `-x`, `--long` or `-[xyz]`"
            raise EntryError(message, (*path, "flags"))
    for name, where in _names(entry, ("values", "optional")):
        if not _VALUED.fullmatch(name):
            message = f"{_quote(name)} is no option with a value: it is `-x`, `--long`, or `--long/2` for two words"
            raise EntryError(message, (*path, *where), at_key=True)
    return frozenset(entry.table)


def _names(said: Entry | Clause, keys: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """Yield the options that are keys of these tables, and where each stands."""
    for key in keys:
        for names in getattr(said, key):
            yield from ((name, (key, names)) for name in names.split())


def _check_clause(clause: Clause, known: frozenset[str], path: Path) -> None:
    _check_way_back(clause, path)
    if clause.args is not None:
        _check_arguments(clause.args, (*path, "args"))
    spellings = [name for group in clause.all.split() for name in group.split("|")]
    for key, waited in (("any", clause.any.split()), ("all", spellings), ("unless", clause.unless.split())):
        for name in waited:
            _check_known(name, known, (*path, key))
    for name, where in _names(clause, ("value", "every", "roles")):
        _check_known(name, known, (*path, *where), at_key=True)


def _check_known(name: str, known: frozenset[str], path: Path, *, at_key: bool = False) -> None:
    if name not in known:
        raise EntryError(f"{_quote(name)} in when is none of its options{_near(name, known)}", path, at_key=at_key)


def explain_refusal(data: Any, error: msgspec.ValidationError) -> EntryError:
    """Find what is wrong with the shape of an entry that was refused, and say it with the words there are."""
    return next(_faults(data, Entry, ()), EntryError(_told(error)))


def _faults(data: Any, kind: Any, path: Path) -> Iterator[EntryError]:
    """Yield what keeps a value from being of a kind, in the order in which it is written."""
    if isinstance(data, Mapping) and isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield from _key_faults(data, kind, path)
    elif isinstance(data, Mapping) and get_origin(kind) is dict:
        for key, value in data.items():
            yield from _faults(value, get_args(kind)[1], (*path, key))
    elif isinstance(data, (list, tuple)) and get_origin(kind) is tuple:
        for index, value in enumerate(data):
            yield from _faults(value, get_args(kind)[0], (*path, index))
    else:
        yield from _value_faults(data, kind, path)


def _key_faults(data: Mapping[str, Any], kind: type[msgspec.Struct], path: Path) -> Iterator[EntryError]:
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    for key, value in data.items():
        if key in fields:
            yield from _faults(value, fields[key].type, (*path, key))
        else:
            near = _near(str(key), fields)
            yield EntryError(f"{_quote(str(key))} is no key here{near}", (*path, str(key)), at_key=True)
    for key, field in fields.items():
        if field.required and key not in data:
            yield EntryError(f"`{key}` is missing", path, at_key=True)


def _value_faults(data: Any, kind: Any, path: Path) -> Iterator[EntryError]:
    try:
        msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        words = _words(kind)
        if words and isinstance(data, str):
            yield EntryError(f"{_quote(data)} is no word for this{_near_or_all(data, words)}", path)
        else:
            yield EntryError(_told(error), path)


def _told(error: msgspec.ValidationError) -> str:
    text = str(error)
    return text[:1].lower() + text[1:]


def _words(kind: Any) -> list[str]:
    """Return the words of which a value must be one; none if it is no single word."""
    if kind is Tier:
        return [tier.value for tier in Tier]
    if get_origin(kind) is dict:
        return []
    return [word for part in (kind, *get_args(kind)) for word in get_args(part) if word and isinstance(word, str)]


def _near_or_all(word: str, known: Iterable[str]) -> str:
    return _near(word, known) or f": it is one of {', '.join(map(_quote, known))}"


def _near(name: str, known: Iterable[str]) -> str:
    import difflib  # noqa: PLC0415 - only a mistyped name needs it

    close = difflib.get_close_matches(name[:64], sorted(known), n=1)
    return f"; did you mean `{close[0]}`?" if close else ""


def _quote(text: str) -> str:
    return f"`{_cut(text)}`"


def _cut(text: str) -> str:
    """Return what somebody wrote on one line, and no more of it than can be shown there."""
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:79] + "…"
