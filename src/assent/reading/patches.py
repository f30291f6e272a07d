"""The files that a patch would change."""

from __future__ import annotations

import assent.regex as re
from assent.model import UNKNOWN

_BLANK = r"[^\S\n]*"
_STARS = rf"^{_BLANK}\*{{3}}{_BLANK}"
_ENVELOPE = re.compile(rf"(?im){_STARS}(?:(?:Add|Update|Delete){_BLANK}File|Move{_BLANK}to){_BLANK}:(.*)$")
_DELETION = re.compile(rf"(?im){_STARS}Delete{_BLANK}File{_BLANK}:|^deleted file mode|^\+{{3}} /dev/null|^rename from ")
_DIRECTIVE = re.compile(rf"(?im)(?:^\*{{3}}{_BLANK}|{_STARS}(?=[A-Za-z][A-Za-z ]*:))([A-Za-z][A-Za-z ]*)")
_DIRECTIVES = frozenset(("begin patch", "end patch", "end of file", "environment id"))
_CHANGES = ("add file", "update file", "delete file", "move to")
_UNIFIED = re.compile(r"^[ \t]*(?:---|\+\+\+|Index:) (.+?)(?:\t.*)?\r?$", re.MULTILINE)
_GIT = re.compile(r"^(?:rename|copy) (?:from|to) (.+?)\r?$", re.MULTILINE)
_HEADER = re.compile(r"^diff --git (\S+|\"[^\"]+\") (\S+|\"[^\"]+\")\r?$", re.MULTILINE)
_HEAD = re.compile(r"^diff --git ", re.MULTILINE)
_SIDE = re.compile(r"^[abciow]/")


def patched_paths(patch: str) -> list[str]:
    """Return every path that a patch names; one that names none is no patch.

    Where it says what is not known here, which others might, or names a file unclearly, the unknown one is among them.
    """
    patch = _in_lines(patch)
    heads = _HEADER.findall(patch)
    sides = [*_UNIFIED.findall(patch), *(name for pair in heads for name in pair)]
    found = [
        *filter(None, map(str.strip, _ENVELOPE.findall(patch))),
        *_GIT.findall(patch),
        *(_SIDE.sub("", _unquote(s)) for s in sides),
    ]
    if len(heads) < len(_HEAD.findall(patch)) or any(map(_is_unknown, _DIRECTIVE.findall(patch))):
        found.append(UNKNOWN)
    return [p for p in dict.fromkeys(map(_unquote, found)) if p != "/dev/null"]


def deletes(patch: str) -> bool:
    """Tell whether a patch takes a file away."""
    return _DELETION.search(_in_lines(patch)) is not None


def _in_lines(patch: str) -> str:
    """Return a patch as it reads to whoever ends lines at newlines alone, and to whoever knows other ends as well."""
    split = "\n".join(patch.splitlines())
    return patch if split == patch.removesuffix("\n") else f"{patch}\n{split}"


def _is_unknown(directive: str) -> bool:
    said = " ".join(directive.lower().split())
    return said not in _DIRECTIVES and not said.startswith(_CHANGES)


def _unquote(name: str) -> str:
    """Return a name that stands in quotes; one that is spelled with escapes, or in other quotes, is not known."""
    if name.startswith(("'", "`")):
        return UNKNOWN
    if not name.startswith('"'):
        return name
    return UNKNOWN if "\\" in name else name.strip('"')
