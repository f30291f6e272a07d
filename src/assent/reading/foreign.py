"""Lines that are meant for another shell: recognised by their commands, so that the reason can name it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import assent.regex as re
from assent.model import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assent.shell.tree import Word

_CMDLET = re.compile(r"[A-Z][a-z][A-Za-z]*-[A-Z][A-Za-z]+")
_POWERSHELL = frozenset({"foreach", "gci", "gc", "gi", "ni", "ri", "rni", "sls", "iwr", "irm", "saps", "spps"})
_PROMPT = frozenset(
    {
        "copy",
        "xcopy",
        "robocopy",
        "move",
        "ren",
        "md",
        "attrib",
        "setx",
        "assoc",
        "ftype",
        "taskkill",
        "tasklist",
        "ver",
    }
)
_FISH = frozenset({"and", "or", "not", "begin", "end", "set_color", "string", "math", "funced", "funcsave", "abbr"})


def foreign_shell(words: Sequence[Word]) -> str | None:
    """Name the shell that a command of no known program is meant for; None if it could be any program."""
    name = words[0].text
    if _CMDLET.fullmatch(name) or name.lower() in _POWERSHELL or _is_assignment(words):
        return "PowerShell"
    if name.lower() in _PROMPT:
        return "the Windows command prompt"
    return "fish" if name in _FISH else None


def _is_assignment(words: Sequence[Word]) -> bool:
    """Tell whether this is `$x = …` or `$env:X = …`."""
    first = words[0]
    return first.text.startswith(UNKNOWN) and bool(first.variables) and len(words) > 1 and words[1].text == "="
