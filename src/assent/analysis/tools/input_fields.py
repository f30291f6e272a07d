"""What the fields of a structured tool's input name: the files that the call is about, and all that may be files.

Which of several fields counts is the agent's choice, not ours. So every field that may name a file is read as one, also
those of other vocabularies, and those inside lists and objects; a file that is named beside another only adds to what
the call would touch.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator
from typing import Any

import assent.lazy_regex as re
from assent.analysis.resources.paths import Located, Place, is_foreign
from assent.budget import step
from assent.model import UNKNOWN, CallError

PATH_FIELDS = frozenset(
    (
        "file_path",
        "path",
        "filePath",
        "notebook_path",
        "target_file",
        "absolute_path",
        "dir_path",
        "directory",
        "filename",
        "file",
        "target_directory",
        "relative_workspace_path",
    )
)
PATH_LISTS = frozenset(("paths", "file_paths", "files", "filePaths"))
FOLDER_FIELDS = (
    *("cwd", "Cwd", "workdir", "work_dir", "workDir", "working_directory", "workingDirectory"),
    *("dir", "dir_path", "directory", "folder"),
)
FILTER_FIELDS = ("glob", "include", "include_pattern", "includePattern", "file_pattern", "filePattern")
"""Which files a search of contents looks into: they are named, and so are read by name."""
LONGEST_PATH = 4096
DEEPEST = 16
"""Objects and lists inside one another that are looked into; what lies deeper may be any file."""
MOST_PATHS = 800
"""Files that one call may name, from all folders that they may be counted from."""
MOST_PATTERNS = 100
"""Patterns by which one call may name files."""

_TEXTS = frozenset(
    (
        *("content", "contents", "text", "new_string", "old_string", "newString", "oldString", "new_str", "old_str"),
        *("insert_text", "file_text", "file_content", "fileContent", "new_source", "old_source", "code", "code_edit"),
        *(
            "TargetContent",
            "ReplacementContent",
            "CodeContent",
            "replacement",
            "replace",
            "search",
            "find",
            "new",
            "old",
        ),
        *(
            "instruction",
            "instructions",
            "Instruction",
            "explanation",
            "description",
            "Description",
            "prompt",
            "reason",
        ),
        *(
            "pattern",
            "query",
            "regex",
            "search_term",
            "glob_pattern",
            "output_mode",
            "type",
            "language",
            "command",
            "reason",
        ),
        *("patch", "diff", "input", "patchText", "patch_text", "cell_id", "cell_type", "edit_mode", "view_range"),
        *FILTER_FIELDS,
    )
)
"""Fields that hold text or words, whatever stands in them."""
_COUNTS = frozenset(
    ("replace_all", "replaceAll", "offset", "limit", "head_limit", "insert_line", "multiline", "-i", "-n")
)
CONTENT = frozenset(
    (
        *("content", "contents", "text", "new_string", "old_string", "newString", "oldString", "new_str", "old_str"),
        *("insert_text", "file_text", "file_content", "fileContent", "new_source", "old_source", "code", "code_edit"),
        *("TargetContent", "ReplacementContent", "CodeContent", "replacement", "replace", "search", "find", "new"),
        *("old", "pattern", "instruction", "instructions", "Instruction", "explanation", "description", "Description"),
        *("patch", "diff", "input", "patchText", "patch_text", "command", "prompt", "reason"),
    )
)
"""What tools that write are given to write, and words about it."""
SOUGHT = frozenset(
    (
        *("pattern", "query", "regex", "search_term", "glob_pattern", "output_mode", "type", "description"),
        *FILTER_FIELDS,
    )
)
"""What tools that search are given to look for."""
PROSE = frozenset(
    (
        *(
            "todos",
            "content",
            "status",
            "activeForm",
            "id",
            "priority",
            "plan",
            "step",
            "steps",
            "explanation",
            "title",
        ),
        *("questions", "question", "header", "options", "label", "description", "follow_up", "answers", "answer"),
        *("query", "queries", "search_term", "allowed_domains", "blocked_domains", "max_results", "num_results"),
        *("bash_id", "shell_id", "task_id", "filter", "text", "message", "summary", "reason", "prompt", "preview"),
    )
)
"""What tools that only talk are given: words, whatever stands in them."""
_NAMES_A_FILE = re.compile(r"(?i)(?:path|file|folder|directory|dir|uri)(?:_?name)?s?$|^(?:path|file|folder|dir|uri)_")
_MAY_NAME_ONE = re.compile(r"(?i)target|dest|dst|source|src|output|location|^(?:to|from|name)$")
_LOOKS_LIKE_ONE = ("/", "~", "./", "../", "file:", "\\")
_NOT_PLAIN = frozenset("\n\r")
_PLAINLY = re.compile(r"(?:~/)?[\w./][\w./@+,#=!&()\[\] -]*(?<! )")
"""A path that everybody reads alike."""
_NUMBERS = (int, bool, float)
_LONGEST_KEPT = 64
"""Letters of a field's name of which it is kept what it says: longer ones do not come again."""


def named_paths(given: dict[str, Any], place: Place, patched: Collection[str] = ()) -> list[Located]:
    """Return every file that an input names, with those that its patch does; the unknown one if it names none."""
    found = dict.fromkeys((*map(text_of, patched), *sorted(set(_named(given))))) or {UNKNOWN: None}
    if not given.keys() <= _PLAIN:
        found |= dict.fromkeys(sorted(set(_beside(given, 0))))
    bases = [folder.path for folder in folders_in(given, place)]
    check_number(len(found) * (1 + len(bases)))
    if UNKNOWN in found:
        found |= dict.fromkeys(bases)  # it may be the folder itself that is meant
    if not bases and len(found) == 1:
        return [place.locate(*found)]
    return list(dict.fromkeys(place.locate(name, base) for name in found for base in (None, *sorted(bases))))


def only_path(given: dict[str, Any], words: frozenset[str]) -> str | None:
    """Return the one path of an ordinary input, or nothing if it has none; None if the input is not ordinary.

    In an ordinary one the path is spelled plainly, and beside it are words and numbers alone.
    """
    found = ""
    for field, value in given.items():
        kind = type(value)
        if kind is str:
            if field in PATH_FIELDS:
                if found or len(value) > LONGEST_PATH or ".." in value or not _PLAINLY.fullmatch(value):
                    return None
                found = value
            elif field not in words:
                return None
        elif kind not in _NUMBERS or field in _TELLING:
            return None
    return found


def folders_in(given: dict[str, Any], place: Place) -> list[Located]:
    """Return the folders that an input names beside its files."""
    named = [given[field] for field in sorted(_BASES & given.keys()) if given[field] is not None]
    return [place.locate(text) for value in named for text in texts_of(value)]


def text_of(value: Any) -> str:
    """Return a path, or the unknown one."""
    if not isinstance(value, str) or not value:
        return UNKNOWN
    if len(value) > LONGEST_PATH:
        raise CallError(f"a path is longer than {LONGEST_PATH} characters")
    return UNKNOWN if is_foreign(value) else value


def check_number(paths: int, patterns: int = 0) -> None:
    """Refuse a call that names more files than anybody would look at, or more patterns."""
    if paths > MOST_PATHS:
        raise CallError(f"names more than {MOST_PATHS} files")
    if patterns > MOST_PATTERNS:
        raise CallError(f"names files by more than {MOST_PATTERNS} globs")


def other_paths(given: dict[str, Any], place: Place) -> list[Located]:
    """Return what a search's other fields may name beside its folder and its filters."""
    found = set() if given.keys() <= _PLAIN else set(_beside(given, 0))
    check_number(len(found))
    return [place.locate(name) for name in sorted(found)]


_WILD = frozenset("*?[{")
_FOLDERS = frozenset(FOLDER_FIELDS)
_BASES = _FOLDERS - PATH_FIELDS
_TELLING = PATH_FIELDS | PATH_LISTS | _FOLDERS | frozenset(FILTER_FIELDS)
"""Fields that say which files a call is about."""
_SIMPLE = PATH_FIELDS | _TEXTS | _COUNTS
_PLAIN = _SIMPLE | PATH_LISTS | _BASES


def _named(given: dict[str, Any]) -> Iterator[str]:
    """Yield what the known fields name."""
    for field, value in given.items():
        if field in PATH_FIELDS:
            if value is not None:
                yield from texts_of(value)
        elif field in PATH_LISTS and value is not None:
            for item in value if isinstance(value, list) else [None, value]:
                yield from texts_of(item.get("path") if isinstance(item, dict) else item)
                if isinstance(item, dict):
                    yield from _beside(item, 1)


def texts_of(value: Any) -> Iterator[str]:
    """Yield a path; where something else stands in its place, the unknown one and all that it may name."""
    step()
    yield text_of(value)
    if isinstance(value, list | dict):
        yield from _inside("path", value, 1)


def _beside(given: dict[str, Any], depth: int) -> Iterator[str]:
    """Yield what other fields, and objects inside, may name."""
    for field, value in given.items():
        if depth and field.startswith(_LOOKS_LIKE_ONE):
            yield text_of(field)  # an object whose keys are the files
        if field in _TEXTS or (not depth and field in _PLAIN):
            continue
        yield from _inside(field, value, depth)


def _inside(field: str, value: Any, depth: int) -> Iterator[str]:
    step()
    if isinstance(value, str):
        if (depth and field in PATH_FIELDS) or _may_be_file(field, value):
            yield text_of(value)
    elif depth and field in PATH_FIELDS and not isinstance(value, dict | list):
        yield UNKNOWN
    elif isinstance(value, dict | list):
        if depth >= DEEPEST:
            yield UNKNOWN
        elif isinstance(value, dict):
            yield from _beside(value, depth + 1)
        else:
            for item in value:
                yield from _inside(field, item, depth + 1)


def _may_be_file(field: str, value: str) -> bool:
    """Tell whether a field that is not known may name a file: by its own name, or by what stands in it."""
    if _NAMES_A_FILE.search(field):
        return bool(value)
    if not value or len(value) > LONGEST_PATH or not _NOT_PLAIN.isdisjoint(value):
        return False
    return _MAY_NAME_ONE.search(field) is not None or value.startswith(_LOOKS_LIKE_ONE)


def names_a_file(field: str) -> bool:
    """Tell whether a field says by its own name that a file or folder stands in it."""
    return (_is_for_files if len(field) <= _LONGEST_KEPT else _find_use)(field)


def _find_use(field: str) -> bool:
    return field in _FOLDERS or _NAMES_A_FILE.search(field) is not None


_is_for_files = functools.lru_cache(maxsize=1024)(_find_use)


def patterns_in(given: dict[str, Any]) -> Iterator[str]:
    """Yield the patterns by which an input names many files at once; a filter may name just one."""
    for field in (*PATH_LISTS, *FILTER_FIELDS):
        value = given.get(field)
        for item in value if isinstance(value, list) else [value]:
            if item and field in FILTER_FIELDS:
                yield from texts_of(item)
            elif isinstance(item, str) and not _WILD.isdisjoint(item):
                yield text_of(item)
