"""Commands that print numbers and nothing else, so that arithmetic on their output is only arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import assent.regex as re

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from assent.shell.tree import Command

_PRINTING = (
    r"nproc",
    r"wc -[clmw]",
    r"date( -u)? \+(%[sNYmdHMSjy]+)",
    r"id -[ugG]",
    r"grep -[EFGiPqvwx]*c[EFGiPqvwx]* \S+( \S+)?",
    r"stat (-c|--format=?) ?%[sYXZ]( \S+)?",
    r"seq( -?\d+){1,3}",
)
_NUMERIC = re.compile("|".join(f"(?:{each})" for each in _PRINTING))


def prints_number(commands: Sequence[Command], functions: Container[str]) -> bool:
    """Tell whether a substitution of these commands gives a number, whatever they read."""
    if len(commands) != 1 or not commands[0].words:
        return False
    words = commands[0].words
    if words[0].text in functions or any(word.splits or " " in word.text for word in words):
        return False
    return _NUMERIC.fullmatch(" ".join(word.text for word in words)) is not None
