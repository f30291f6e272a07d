"""The files that a patch would change."""

from __future__ import annotations

from typing import NamedTuple

import assent.lazy_regex as re
from assent.budget import check, step
from assent.model import UNKNOWN, CallError

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
_OTHER_END = re.compile("[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_TELLING = re.compile(
    r"\*\*\*|---|\+\+\+|Index:|copy |r(?i:ename )|R(?i:ename )|d(?:iff --git |(?i:eleted file))|D(?i:eleted file)"
)
"""What each of the expressions above begins with; quickly found, since every branch has a first letter of its own."""

_MOST_LINES = 8_000
"""Lines of a patch that say more than what is in a file …"""
_LONGEST_LINE = 16_384
"""… and characters of each."""


class Patched(NamedTuple):
    """What a patch says."""

    paths: tuple[str, ...]
    """Every path that it names; one that names none is no patch."""
    deletes: bool
    """It takes a file away."""


def read_patch(patch: str) -> Patched:
    """Find out what a patch is about.

    Where it says what is not known here, which others might, or names a file unclearly, the unknown path is among them.
    """
    said = _said(patch)
    check()
    heads = _HEADER.findall(said)
    sides = [*_UNIFIED.findall(said), *(name for pair in heads for name in pair)]
    found = [
        *filter(None, map(str.strip, _ENVELOPE.findall(said))),
        *_GIT.findall(said),
        *(_SIDE.sub("", _unquote(s)) for s in sides),
    ]
    check()
    if len(heads) < len(_HEAD.findall(said)) or any(map(_is_unknown, _DIRECTIVE.findall(said))):
        found.append(UNKNOWN)
    check()
    paths = tuple(p for p in dict.fromkeys(map(_unquote, found)) if p != "/dev/null")
    return Patched(paths, _DELETION.search(said) is not None)


def _said(patch: str) -> str:
    """Return the lines of a patch that say more than what is in a file: of a large one, few."""
    text = _in_lines(patch)
    lines: list[str] = []
    found = _TELLING.search(text)
    while found is not None:
        step()
        begin, end = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end())
        before = text[begin : found.start()]
        end = len(text) if end < 0 else end
        if not before or before.isspace():
            if end - begin > _LONGEST_LINE or len(lines) >= _MOST_LINES:
                raise CallError("the patch is too long to analyse")
            lines.append(text[begin:end])
        found = _TELLING.search(text, end)
    return "\n".join(lines)


def _in_lines(patch: str) -> str:
    """Return a patch as it reads to whoever ends lines at newlines alone, and to whoever knows other ends as well."""
    return f"{patch}\n" + "\n".join(patch.splitlines()) if _OTHER_END.search(patch) else patch


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
