"""Find project files that make a tool run code, for each tool."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH112, PTH118, PTH120

from __future__ import annotations

import os

import assent.lazy_regex as re
from assent.catalog.project_code import ENDINGS, IMPORTED, SIGNS, Sign
from assent.platform.files import find_file

MOST_FOLDERS = 64
MOST_NAMES = 10_000


_SPELT = re.compile(r"\\(?:u00|x|U000000)(?:2[dD]|4[1-9a-fA-F]|5[0-9aAfF]|6[1-9a-fA-F]|7[0-9aA])")
"""A letter, dash or underscore as a numeric escape, which can hide any key and has no honest use."""


def find_project_code(tool: str, folder: str, home: str | None) -> str | None:
    """Return a file that makes a tool run project code; None if there is none or the tool is unknown.

    The home directory and what is above it belong to no project: what is there is the user's own.
    """
    current = folder
    for level in range(MOST_FOLDERS):
        if current == home:
            break
        for sign in SIGNS.get(tool, ()):
            if (sign.upward or not level) and _is_there(os.path.join(current, sign.name), sign):
                return f"the project's {sign.name} {sign.does}"
        parent = os.path.dirname(current)
        if parent == current:
            break
        current = parent
    return None


def _is_there(path: str, sign: Sign) -> bool:
    if not sign.text:
        return os.path.lexists(path)
    content = find_file(path)
    text = "" if content is None else content.data.decode("utf-8", "replace")
    return re.search(sign.text, text) is not None or _SPELT.search(text) is not None


def find_shadow(folder: str) -> str | None:
    """Return a file in a folder that Python would import instead of a standard module."""
    if not os.path.isdir(folder):
        return None
    with os.scandir(folder) as names:
        for seen, entry in enumerate(names):
            if seen >= MOST_NAMES:
                return "the folder holds more files than are looked at"
            stem = entry.name.partition(".")[0]
            if stem in IMPORTED and _is_module(entry):
                return f"Python would load {entry.name} from the folder it runs in"
    return None


def _is_module(entry: os.DirEntry[str]) -> bool:
    if entry.is_dir():
        return any(os.path.lexists(os.path.join(entry.path, f"__init__{end}")) for end in (".py", ".pyc", ".so"))
    return entry.name.endswith(ENDINGS)
