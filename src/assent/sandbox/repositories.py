"""What a repository's settings make git run or obey from the workspace itself: as good as its own hooks and config."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from assent.config.files import find_file
from assent.model import ConfigError

_SETTINGS = (".gitconfig", ".config/git/config")
_SET = re.compile(r"(?im)^[ \t]*(?:\[[^\n]*?\][ \t]*)?(hookspath|path)[ \t]*=[ \t]*(.*)$")
_COMMENT = re.compile(r"[ \t]+[#;].*$")


def find_obeyed(root: str, homes: Iterable[str]) -> Iterator[str]:
    """Yield the folder of hooks and the files of settings that are named elsewhere; they need not lie in the root."""
    own = os.path.join(root, ".git", "config")
    users = [os.path.join(home, name) for home in homes for name in _SETTINGS]
    for file in (own, *users, "/etc/gitconfig"):
        for name, value in _SET.findall(_read(file)):
            path = os.path.expanduser(_COMMENT.sub("", value).strip().strip('"'))
            if name.lower() == "hookspath":
                yield os.path.normpath(os.path.join(root, path))
            elif os.path.isfile(found := os.path.normpath(os.path.join(os.path.dirname(file), path))):
                yield found  # what it includes, if it is there: a stand-in would be read


def _read(file: str) -> str:
    if not os.path.isfile(file):
        return ""
    try:
        found = find_file(file)
    except ConfigError:
        return ""
    return "" if found is None else found.data.decode("utf-8", "surrogateescape")
