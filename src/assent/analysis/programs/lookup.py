"""Which program a command's first word names: its entry in the catalog, or why it is not known."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet

import assent.lazy_regex as re
from assent.analysis.ir import Word
from assent.analysis.resources.environment import is_shared
from assent.analysis.resources.paths import Located, Place
from assent.catalog import Entry, is_builtin, lookup
from assent.model import SAFE, UNKNOWN, within

_BIN = frozenset(
    ("/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/opt/homebrew/bin")
)
_VERSION = re.compile(r"[-.]?\d+(?:\.\d+)*$")
_CALLED = frozenset({"command_not_found_handle", "command_not_found_handler"})
"""Functions that the shell calls by itself."""
_MOST_GUESSES = 8
_LONGEST_NAME = 64
"""Letters of a program's name with a version behind it."""
_LOADER = re.compile(r"ld(?:-linux[\w.-]*|-musl[\w.-]*|-[\d.]+)?\.so(?:\.\d+)*")


def find_program(word: Word, functions: AbstractSet[str], place: Place) -> tuple[str, Entry | None, str]:
    """Say which program a word names: its plain name and entry, or why it is not known."""
    text = word.text
    if not text or word.splits or UNKNOWN in text:
        return text, None, "the program is known only at run time"
    if text in functions:
        return text, None, f"{text} is a function defined in the command"
    folder, slash, name = text.rpartition("/")
    if not slash and place.facts.path and (found := _find_local(name, place)):
        where = (
            "in a folder that anybody can write to"
            if is_shared(found) and not place.inside(Located(found))
            else "in the workspace"
        )
        return text, None, f"{name} is a program {where}: {found}"
    if name.startswith("ld") and _LOADER.fullmatch(name):
        return name, lookup("ld.so"), ""
    if slash and folder not in _BIN:
        return text, None, f"{text} is a program outside the system's folders"
    return name, find_entry(name) or find_own(name, place), f"{name} is not a known command"


def find_entry(name: str) -> Entry | None:
    """Look a program up by its name, or by its name without a version where the entry says so."""
    return lookup(name) or _find(name, lookup)


def find_own(name: str, place: Place) -> Entry | None:
    """Look up what the user's policies say about a program."""
    return _find(name, place.lexicon.own.get) if place.lexicon.own else None


def is_asked_about(name: str, place: Place) -> bool:
    """Tell whether a command of this name is asked about whatever it is told, and never called by the shell itself."""
    entry = find_entry(name) or find_own(name, place)
    if entry is None:
        return name not in _CALLED
    return entry.tier is not SAFE and entry.informs == "" and not (entry.when or entry.subcommands or entry.runs)


def alternatives(word: Word) -> Iterator[tuple[Word, ...]]:
    """Give what a program may be that is only known when it runs, as far as the line says so."""
    if UNKNOWN not in word.text:
        return
    for hint in word.hints[:_MOST_GUESSES]:
        names = hint.split() if word.splits else [hint]
        if names and find_entry(names[0]) is not None:
            yield tuple(map(Word, names))


def find_strict(name: str, place: Place) -> tuple[Entry, ...]:
    """Look up what others' policies say about a program."""
    strict = place.lexicon.strict
    if not strict:
        return ()
    return (*strict.get(name, ()), *(e for e in strict.get(_without_version(name), ()) if e.versioned))


def _find(name: str, look: Callable[[str], Entry | None]) -> Entry | None:
    entry = look(name)
    if entry is not None:
        return entry
    entry = look(_without_version(name))
    return entry if entry is not None and entry.versioned else None


def _without_version(name: str) -> str:
    return _VERSION.sub("", name) if len(name) <= _LONGEST_NAME else name


def _find_local(name: str, place: Place) -> str | None:
    """Find a program by this name in the workspace, where the search path leads there."""
    folders = _local_folders(place.facts.path, place.workspace, place.facts.home)
    if not folders or is_builtin(name):
        return None
    for folder in folders:
        located = place.locate(f"{folder}/{name}")
        if place.facts.is_program(located.path):
            return located.path
    return None


@functools.lru_cache(maxsize=256)
def _local_folders(path: tuple[str, ...], workspace: tuple[str, ...], home: str | None) -> tuple[str, ...]:
    """Return the folders of the search path that are not surely outside the workspace, or that everybody may write."""
    return tuple(f for f in path if not f.startswith("/") or _is_open(f, home) or any(within(f, r) for r in workspace))


def _is_open(folder: str, home: str | None) -> bool:
    return is_shared(folder) and not (home is not None and within(folder, home))
