"""The files that a patch would change."""

from __future__ import annotations

import assent.regex as re
from assent.model import UNKNOWN

_ENVELOPE = re.compile(r"^\s*\*{3}\s*(?:(?:Add|Update|Delete)\s+File|Move\s+to)\s*:\s*(.+?)\s*$", re.MULTILINE)
_DELETION = re.compile(r"^\s*\*{3}\s*Delete\s+File\s*:|^deleted file mode|^\+{3} /dev/null|^rename from ", re.MULTILINE)
_UNIFIED = re.compile(r"^(?:---|\+\+\+|Index:) (.+?)(?:\t.*)?\r?$", re.MULTILINE)
_GIT = re.compile(r"^(?:rename|copy) (?:from|to) (.+?)\r?$", re.MULTILINE)
_HEADER = re.compile(r"^diff --git (\S+|\"[^\"]+\") (\S+|\"[^\"]+\")\r?$", re.MULTILINE)
_SIDE = re.compile(r"^[abciow]/")


def patched_paths(patch: str) -> list[str]:
    """Return every path that a patch names; one that names none is no patch."""
    sides = [*_UNIFIED.findall(patch), *(name for pair in _HEADER.findall(patch) for name in pair)]
    found = [*_ENVELOPE.findall(patch), *_GIT.findall(patch), *(_SIDE.sub("", _unquote(s)) for s in sides)]
    return [p for p in dict.fromkeys(map(_unquote, found)) if p != "/dev/null"]


def deletes(patch: str) -> bool:
    """Tell whether a patch takes a file away."""
    return _DELETION.search(patch) is not None


def _unquote(name: str) -> str:
    """Return a name that stands in quotes; one that is spelled with escapes is not known."""
    if not name.startswith('"'):
        return name
    return UNKNOWN if "\\" in name else name.strip('"')
