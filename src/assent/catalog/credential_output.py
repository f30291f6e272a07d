"""Which commands print a credential: a table beside the entries, by program, then by the words behind its name."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import msgspec

from assent.catalog.loader import Slice, build_index, read_data, read_yaml
from assent.catalog.schema import expression
from assent.model import ConfigError

FILE = "revealing.yaml"
_ITSELF = "itself"
_LETTER = 2
"""Characters of an option that is one letter, which may stand with others behind one dash."""


class CredentialCase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When the words of a path print a credential. All conditions given must hold."""

    does: str
    any: str = ""
    """One of these options is there."""
    unless: str = ""
    """None of these is."""
    arg: str = ""
    """A word behind the path matches this expression as a whole."""


class CredentialProgram(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one program prints that is secret, with lines that do and lines that do not."""

    shows: dict[str, str | CredentialCase]
    examples: tuple[str, ...]
    """Lines that must be asked about."""
    quiet: tuple[str, ...]
    """Lines of the same program that print no credential."""


Paths: TypeAlias = tuple[tuple[frozenset[str], tuple[str, ...], CredentialCase], ...]
"""Each with the words that every such command has: most commands are told from these alone."""


def find_revealed(argv: Sequence[str]) -> str | None:
    """Say which credential a command prints, by its words; None if it prints none that the table knows of."""
    signs, paths = _paths(argv[0].rpartition("/")[2])
    if signs is not None and signs.isdisjoint(argv):
        return None
    for needed, path, case in paths:
        rest = _behind(path, argv[1:]) if needed.issubset(argv) else None
        if rest is not None and _holds(case, argv[1:], rest):
            return case.does
    return None


def families() -> tuple[Slice, ...]:
    """Return where every program of the table is written."""
    return tuple(dict.fromkeys(_index().values()))


def parse_family(part: Slice) -> CredentialProgram:
    """Parse one program's part of the table, or raise `ConfigError` with the line."""
    (value,) = read_yaml(part.body, part.file, part.line).values()
    try:
        return msgspec.convert(value, CredentialProgram)
    except msgspec.ValidationError as error:
        raise ConfigError(f"`{part.names[0]}`: {error}", file=part.file, line=part.line) from None


@functools.cache
def _index() -> dict[str, Slice]:
    return build_index({FILE: read_data("tables", FILE)})


@functools.lru_cache(maxsize=4096)
def _paths(program: str) -> tuple[frozenset[str] | None, Paths]:
    """Return the paths of a program, and words of which each such command has one; None if some has none of its own."""
    part = _index().get(program)
    paths = () if part is None else tuple(_spread(parse_family(part).shows))
    told_apart = all(needed for needed, _, _ in paths)
    return (frozenset(min(needed) for needed, _, _ in paths) if told_apart else None), paths


def _spread(shows: dict[str, str | CredentialCase]) -> Iterator[tuple[frozenset[str], tuple[str, ...], CredentialCase]]:
    """Give every path of a key its case."""
    for key, given in shows.items():
        case = CredentialCase(given) if isinstance(given, str) else given
        for path in key.split(","):
            words = () if path.split() == [_ITSELF] else tuple(path.split())
            yield frozenset(word for word in words if not word.endswith("*")), words, case


def _behind(path: Sequence[str], words: Sequence[str]) -> list[str] | None:
    """Return the words behind a path; None if it does not begin the command, options and their values aside."""
    left = list(path)
    is_value = False
    for at, word in enumerate(words):
        if not left:
            return list(words[at:])
        if _is_word(word, left[0]):
            left.pop(0)
        elif not word.startswith("-") and not is_value:
            return None
        is_value = word.startswith("-") and "=" not in word
    return None if left else []


def _is_word(word: str, wanted: str) -> bool:
    return word.startswith(wanted[:-1]) if wanted.endswith("*") else word == wanted


def _holds(case: CredentialCase, words: Sequence[str], rest: Sequence[str]) -> bool:
    if case.any and not _has_option(case.any, words):
        return False
    if case.unless and _has_option(case.unless, words):
        return False
    named = [word for word in rest if not word.startswith("-")]
    return not case.arg or any(expression(case.arg).fullmatch(word) for word in named)


def _has_option(options: str, words: Sequence[str]) -> bool:
    return any(_is_option(word.partition("=")[0], option) for word in words for option in options.split())


def _is_option(word: str, option: str) -> bool:
    """Tell whether a word is an option, alone or as one letter of several behind one dash."""
    if word == option:
        return True
    is_bundle = len(option) == _LETTER and word.startswith("-") and not word.startswith("--")
    return is_bundle and option[1] in word
