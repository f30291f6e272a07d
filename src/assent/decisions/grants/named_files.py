"""Files that a line of shell names: in what it reads, in its words, and in patterns of what it runs.

Which of them it runs is not always known (`sh < x`, `expect x`, `eval "$(cat x)"`), so an answer is for all of them.
"""

# Paths are strings here, as in the vocabulary.
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
"""Names that are looked for: a line with more is not looked at whole."""
_LONGEST = 4096
_PARTS = re.compile(r"[=:,\s]+")
_BREAKS = re.compile(r"[\s;|&<>()'\"`$=]+")
"""What may stand between the words of a line that cannot be read."""
_ELSEWHERE = ("/dev", "/proc")
"""What is there is another thing to each process."""
_MOVING = ("cd", "pushd")
_PACKAGE = "package.json"
_PACKAGES = ("node_modules", "node_modules/.bin")
"""Where the packages of a project are, by their names, and their programs."""
_MOST_WORDS = 64
_MOST_OTHERS = 16
_MOST_FOLDERS = 64


def find_folders(call: ToolCall) -> list[str]:
    """Return the folders that a line may start in."""
    if call.cwd is None:
        return []
    named = [value for field in FOLDER_FIELDS if isinstance(value := call.input.get(field), str)]
    return [call.cwd, *(os.path.join(call.cwd, name) for name in named)]


def find_named(call: ToolCall, reading: Reading) -> list[str] | None:
    """Return the paths of files and pipes that are there and that a line names; None if it names too many to look."""
    bases, operations = find_folders(call), reading.operations
    words = [list(dict.fromkeys(_words(operation))) for operation in operations]
    for operation, spoken in zip(operations, words, strict=True):
        if operation.argv[:1] and operation.argv[0] in _MOVING:
            bases += [os.path.join(base, word) for base in bases[:8] for word in spoken[1:3]]
    if reading.unreadable:  # then not every word of it is in a command
        words.append([w for text in call.input.values() if isinstance(text, str) for w in _BREAKS.split(text)])
    reads = (o.target or o.resource for o in operations if o.kind is FS_READ and not o.sweep)
    mentioned = itertools.chain.from_iterable(o.mentions for o in operations)
    spoken_at = (os.path.join(base, word) for spoken in words for word in spoken for base in dict.fromkeys(bases))
    found = first_of(itertools.chain(reads, mentioned, spoken_at), MOST_NAMES)
    return [path for path in found if _is_there(path)] if len(found) <= MOST_NAMES else None


def first_of(paths: Iterable[str], most: int) -> list[str]:
    """Return different paths, and one more than the most if there are more."""
    found: dict[str, None] = {}
    for path in paths:
        found[path] = None
        if len(found) > most:
            break
    return list(found)


def find_patterns(call: ToolCall, operations: tuple[Operation, ...]) -> Iterator[str]:
    """Yield patterns of files that a line runs (`bash *.sh`), and what its commands load from folders that they name.

    All of a folder that a command is told to load (`kubectl apply -f folder`) is such a pattern, too.
    """
    for operation in operations:
        yield from (f"{load}/*" for load in operation.loads if _is_folder(load))
        yield from _loaded_elsewhere(operation)
        if operation.kind is FS_EXEC and UNKNOWN in operation.resource:
            folder, name = os.path.split(operation.resource.replace(UNKNOWN, "*"))
            for base in find_folders(call):
                yield from _run_among(base, os.path.join(base, folder), name)


def _run_among(base: str, folder: str, name: str) -> Iterator[str]:
    """Yield patterns of names in the folders that one of a line may be; of a name of which nothing is known, in few."""
    if not name.strip("*") and (folder.rstrip("/") == base.rstrip("/") or not within(folder, base)):
        return
    if "*" not in folder:
        yield os.path.join(folder, name)
    elif sum("*" in part for part in folder.split("/")) == 1:
        found = first_of(glob.iglob(glob.escape(folder).replace("[*]", "*")), _MOST_FOLDERS)
        yield from (os.path.join(each, name) for each in found[:_MOST_FOLDERS])
        yield from (os.path.join(folder, UNKNOWN) for _ in found[_MOST_FOLDERS:])


def _loaded_elsewhere(operation: Operation) -> Iterator[str]:
    """Yield what a command looks for in its folder, in folders and packages that one of its words names."""
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
            yield from filter(_is_there, (os.path.join(folder, other) for other in words[:_MOST_OTHERS]))


def _is_folder(load: str) -> bool:
    return load[:1] == "/" and load[-1] not in "/." and UNKNOWN not in load and "\0" not in load and os.path.isdir(load)


def _words(operation: Operation) -> Iterable[str]:
    """Yield the words of a command, and the parts of each that may be names."""
    if operation.kind is not COMMAND_EXECUTE:
        return
    for word in operation.argv or (operation.resource,):
        yield word
        attached = (word[2:],) if word[:1] == "-" and word[1:2] not in ("-", "") else ()
        for part in (*attached, *_PARTS.split(word)[1:], *_PARTS.split(word)[:1]):
            yield part.lstrip("@<")
            yield part.removeprefix("//")  # of `file://x`


def _is_there(path: str) -> bool:
    """Tell whether a path leads to a file, or to something that may feed one to a command."""
    if UNKNOWN in path or "\0" in path or not path.startswith("/") or len(path) > _LONGEST:
        return False
    if any(within(os.path.normpath(path), place) for place in _ELSEWHERE):
        return False
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISDIR(mode) and not stat.S_ISCHR(mode)
