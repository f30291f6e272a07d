"""Lines that are meant for another shell: recognised by their commands, so that the reason can name it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import assent.lazy_regex as re
from assent.model import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assent.analysis.ir import Word

POWERSHELL, PROMPT, FISH, ZSH = "PowerShell", "the Windows command prompt", "fish", "zsh"

_CMDLET = re.compile(r"[A-Z][a-z][A-Za-z]*-[A-Z][A-Za-z]+")
_NAMES = {
    POWERSHELL: "foreach gci gc gi ni ri rni sls iwr irm saps spps",
    PROMPT: "copy xcopy robocopy move ren md attrib setx assoc ftype taskkill tasklist ver cls findstr systeminfo",
    FISH: "and or not begin end set_color string math funced funcsave abbr",
    ZSH: "setopt unsetopt autoload zmv whence noglob nocorrect zstyle zmodload emulate vared rehash zparseopts compdef",
}
_SHELL_OF = {name: shell for shell, names in _NAMES.items() for name in names.split()}
_VARIABLES = {
    **dict.fromkeys(("PSVersionTable", "PSScriptRoot", "PSCommandPath", "PSItem"), POWERSHELL),
    **dict.fromkeys(("argv", "status", "fish_pid", "fish_user_paths", "pipestatus"), FISH),
}
"""Variables that another shell has, and no program."""
_SWITCHED = frozenset({"dir", "tree", "sort", "more", "date", "whoami", "hostname", "ipconfig", "exit", "set", "type"})
"""Programs by a name that the Windows prompt knows too."""
_SWITCH = re.compile(r"/(?:[A-Za-z?]|[A-Za-z]{2}|[A-Za-z][:-].*|all)")
_PLACED = frozenset({"ls", "dir", "cat", "cd", "pushd", "type", "tree", "more"})
_DRIVE = re.compile(r"(?i)(?:[a-z]|env|function|variable|alias|cert|wsman|hk(?:lm|cu|cr|u|cc)):(?!/)")
"""How a place begins that only Windows has; bash takes the backslash behind it away."""
_PARAMETRIZED = frozenset(
    {"ls", "dir", "cat", "cd", "cp", "mv", "rm", "sort", "sleep", "kill", "ps", "echo", "tee", "man"}
)
"""Programs by a name that stands for something else in PowerShell."""
_PARAMETERS = re.compile(
    r"(?i)-(?:recurse|force|filter|(?:literal)?path|name|include|exclude|file|directory|hidden|depth|raw|totalcount|tail"
    r"|encoding|value|erroraction|property|unique|descending|first|last|skip|(?:milli)?seconds|itemtype|destination"
    r"|confirm|whatif)"
)
_QUOTED_BY_PERCENT = frozenset({"echo", "cd", "dir", "type", "path"})
_PERCENT = re.compile(r".*%[A-Z_][A-Z0-9_()]{2,}%.*", re.DOTALL)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:=.*)?", re.ASCII | re.DOTALL)
SHARED = _SWITCHED | _PLACED | _PARAMETRIZED | _QUOTED_BY_PERCENT | {"alias", "find"}
"""Programs of which it matters how they are called."""


def foreign_shell(words: Sequence[Word]) -> str | None:
    """Name the shell that a command of no known program is meant for; None if it could be any program."""
    name = words[0].text
    if _CMDLET.fullmatch(name) or _is_assignment(words):
        return POWERSHELL
    return _SHELL_OF.get(name.lower())


def foreign_call(name: str, words: Sequence[Word]) -> str | None:
    """Name the shell that a command of a known program is meant for by the words behind it, or None."""
    texts = [word.text for word in words[1:]]
    if name in _SWITCHED and any(map(_SWITCH.fullmatch, texts)):
        return PROMPT
    if name == "find" and any(map(_SWITCH.fullmatch, texts[:1])) and texts[1:] and texts[1][:1] != "-":
        return PROMPT
    if name in _PLACED and any(map(_DRIVE.match, texts)):
        return PROMPT if any(text[1:2] == ":" for text in texts) else POWERSHELL
    if name in _QUOTED_BY_PERCENT and any(map(_PERCENT.fullmatch, texts)):
        return PROMPT
    if name in _PARAMETRIZED and any(map(_PARAMETERS.fullmatch, texts)):
        return POWERSHELL
    if name == "set":
        return _setting(texts)
    return FISH if name == "alias" and len(texts) > 1 and any(" " in text for text in texts[1:]) else None


def foreign_variable(word: Word) -> str | None:
    """Name the shell that has the variables which a word takes from outside, or None."""
    if "env" in word.variables and f"{UNKNOWN}:" in word.text:
        return POWERSHELL
    return next((_VARIABLES[name] for name in word.variables if name in _VARIABLES), None)


def _setting(texts: Sequence[str]) -> str | None:
    """Tell whether `set` is given the name of a variable, which bash takes for an argument of the script."""
    first = next((at for at, text in enumerate(texts) if text[:1] not in ("-", "+")), len(texts))
    before, rest = texts[:first], texts[first:]
    if "--" in before or "-" in before or (before and before[-1].endswith("o")) or not rest:
        return None
    if _IDENTIFIER.fullmatch(rest[0]) is None:
        return None
    return PROMPT if "=" in rest[0] else FISH


def _is_assignment(words: Sequence[Word]) -> bool:
    """Tell whether this is `$x = …` or `$env:X = …`."""
    first = words[0]
    return first.text.startswith(UNKNOWN) and bool(first.variables) and len(words) > 1 and words[1].text == "="
