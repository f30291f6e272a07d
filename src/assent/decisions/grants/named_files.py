"""Find the files that a shell command names: in what it reads, in its words, and in globs of what it runs.

It is not always known which of them it runs (`sh < x`, `expect x`, `eval "$(cat x)"`), so an answer is bound to all.
"""

# Paths are strings here, as in the model.
# ruff: noqa: PTH112, PTH116, PTH118, PTH207

from __future__ import annotations

import glob
import itertools
import os
import stat
from collections.abc import Iterable, Iterator

import assent.lazy_regex as re
from assent.analysis.tools.input_fields import FOLDER_FIELDS
from assent.model import COMMAND_EXECUTE, FS_EXEC, FS_READ, UNKNOWN, Operation, Reading, ToolCall, within

MOST_NAMES = 8192
"""How many names are checked; a command with more counts as unreadable."""
_LONGEST = 4096
_PARTS = re.compile(r"[=:,\s]+")
_BREAKS = re.compile(r"[\s;|&<>()'\"`$=]+")
"""Separates the words of a command that cannot be parsed."""
_PER_PROCESS = ("/dev", "/proc")
"""Folders with other content for each process."""
_CHANGES_FOLDER = ("cd", "pushd")
_PACKAGE = "package.json"
_PACKAGES = ("node_modules", "node_modules/.bin")
"""Where a project's packages are, and their programs."""
_MOST_WORDS = 64
_MOST_OTHERS = 16
_MOST_FOLDERS = 64


def find_folders(call: ToolCall) -> list[str]:
    """Return the working directories that a command may start in."""
    if call.cwd is None:
        return []
    named = [value for field in FOLDER_FIELDS if isinstance(value := call.input.get(field), str)]
    return [call.cwd, *(os.path.join(call.cwd, name) for name in named)]


def find_named(call: ToolCall, reading: Reading) -> list[str] | None:
    """Return the existing files and pipes that a command names; None if it names too many."""
    bases, operations = find_folders(call), reading.operations
    words = [list(dict.fromkeys(_words(operation))) for operation in operations]
    for operation, named in zip(operations, words, strict=True):
        if operation.argv[:1] and operation.argv[0] in _CHANGES_FOLDER:
            bases += [os.path.join(base, word) for base in bases[:8] for word in named[1:3]]
    if reading.unreadable:  # then some words are in no operation
        words.append([w for text in call.input.values() if isinstance(text, str) for w in _BREAKS.split(text)])
    reads = (o.target or o.resource for o in operations if o.kind is FS_READ and not o.sweep)
    mentioned = itertools.chain.from_iterable(o.mentions for o in operations)
    named_by_words = (os.path.join(base, word) for named in words for word in named for base in dict.fromkeys(bases))
    found = first_of(itertools.chain(reads, mentioned, named_by_words), MOST_NAMES)
    return [path for path in found if _is_file_or_pipe(path)] if len(found) <= MOST_NAMES else None


def first_of(paths: Iterable[str], most: int) -> list[str]:
    """Return the distinct paths, and one more than `most` if there are more."""
    found: dict[str, None] = {}
    for path in paths:
        found[path] = None
        if len(found) > most:
            break
    return list(found)


def find_patterns(call: ToolCall, operations: tuple[Operation, ...]) -> Iterator[str]:
    """Yield globs of the files that a command runs (`bash *.sh`), or loads from folders that it names.

    A folder that a command loads (`kubectl apply -f folder`) gives the glob of all its files.
    """
    for operation in operations:
        yield from (f"{load}/*" for load in operation.loads if _is_folder(load))
        yield from _loaded_elsewhere(operation)
        if operation.kind is FS_EXEC and UNKNOWN in operation.resource:
            folder, name = os.path.split(operation.resource.replace(UNKNOWN, "*"))
            for base in find_folders(call):
                yield from _run_among(base, os.path.join(base, folder), name)


def _run_among(base: str, folder: str, name: str) -> Iterator[str]:
    """Yield globs of a name in each folder that an unknown part may stand for; of an unknown name, in few folders."""
    if not name.strip("*") and (folder.rstrip("/") == base.rstrip("/") or not within(folder, base)):
        return
    if "*" not in folder:
        yield os.path.join(folder, name)
    elif sum("*" in part for part in folder.split("/")) == 1:
        found = first_of(glob.iglob(glob.escape(folder).replace("[*]", "*")), _MOST_FOLDERS)
        yield from (os.path.join(each, name) for each in found[:_MOST_FOLDERS])
        yield from (os.path.join(folder, UNKNOWN) for _ in found[_MOST_FOLDERS:])


def _loaded_elsewhere(operation: Operation) -> Iterator[str]:
    """Yield the files that a command loads from folders and packages that one of its words names."""
    names = [load.lstrip("^") for load in operation.loads if load[0] not in ("/", UNKNOWN)]
    places = [load[:-1] for load in operation.loads if load.endswith("/.")][:_MOST_FOLDERS]
    words = first_of(filter(None, _words(operation)), _MOST_WORDS) if names else ()
    for place, word in itertools.product(places, words):
        if _PACKAGE in names and not word.startswith(("-", "/", ".")):
            modules, programs = (os.path.join(place, folder, word) for folder in _PACKAGES)
            yield programs
            yield from (os.path.join(modules, _PACKAGE) for _ in range(_is_folder(modules)))
        if _is_folder(folder := os.path.join(place, word.rstrip("/"))):
            yield from (os.path.join(folder, name) for name in names)
            yield from filter(_is_file_or_pipe, (os.path.join(folder, other) for other in words[:_MOST_OTHERS]))


def _is_folder(load: str) -> bool:
    return load[:1] == "/" and load[-1] not in "/." and UNKNOWN not in load and "\0" not in load and os.path.isdir(load)


def _words(operation: Operation) -> Iterable[str]:
    """Yield the words of a command, and the parts of each word that may be file names."""
    if operation.kind is not COMMAND_EXECUTE:
        return
    for word in operation.argv or (operation.resource,):
        yield word
        attached = (word[2:],) if word[:1] == "-" and word[1:2] not in ("-", "") else ()
        for part in (*attached, *_PARTS.split(word)[1:], *_PARTS.split(word)[:1]):
            yield part.lstrip("@<")
            yield part.removeprefix("//")  # of `file://x`


def _is_file_or_pipe(path: str) -> bool:
    """Tell whether a path is a file, or a pipe or socket that may feed a command."""
    if UNKNOWN in path or "\0" in path or not path.startswith("/") or len(path) > _LONGEST:
        return False
    if any(within(os.path.normpath(path), place) for place in _PER_PROCESS):
        return False
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISDIR(mode) and not stat.S_ISCHR(mode)
