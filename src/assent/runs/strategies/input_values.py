"""What a run is started with, put into its steps: in a path or a file any text, in a command one word."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

from assent.analysis.evaluate.script import parse
from assent.analysis.ir import Script
from assent.runs.tools.files import ToolError
from assent.runs.tools.inputs import ToolInput

INPUT = "${input}"
"""Stands in a step's texts, or a process's words, for what the run was started with."""
_PROBE = "what it is given"
"""Needs quotes, and is in no strategy."""
_NASTY = ("$(a)", "`a`", "';a;'", '";a;"', "\na\n", "\\", "*", "a[$(a)]")
_INTERPRETERS = re.compile(r"(?:.*/)?(?:(?:ba|da|z|k|fi)?sh|python[\d.]*|node|perl|ruby|php)")
_CODE_FOLLOWS = re.compile(r"-[A-Za-z]*[ce]|--eval|--command")
Shape: TypeAlias = list[tuple[str, ...]]


def with_input(given: ToolInput, text: str) -> dict[str, Any]:
    """Return a tool's input with what the run was given, or raise `ToolError` if that is more than a word of a line."""
    filled = {name: value for name, value in msgspec.structs.asdict(given).items() if value is not None}
    for name, value in filled.items():
        if isinstance(value, str) and INPUT in value:
            filled[name] = _fill_line(value, text) if name == "command" else value.replace(INPUT, text)
    return filled


def holds_input(line: str) -> bool:
    """Tell whether what a run is given stays one word of a line, whatever it is: not in quotes, or in a comment."""
    ends = "\n".join(("", *line.replace(INPUT, " ").split(), "a", ""))  # of here-documents
    return INPUT not in line or all(_fits(line, text) for text in (*_NASTY, ends))


def makes_code(words: Sequence[str]) -> bool:
    """Tell whether what a run is given would be part of a program's text, as in `sh -c 'echo ${input}'`."""
    names = (i for i, word in enumerate(words) if _INTERPRETERS.fullmatch(word))
    after = words[next(names, len(words)) :]
    pairs = itertools.pairwise(after)
    return any(_CODE_FOLLOWS.fullmatch(option) and INPUT in code for option, code in pairs)


def _fill_line(line: str, text: str) -> str:
    filled = line.replace(INPUT, shlex.quote(text))
    if not _fits(line, text):
        why = parse(filled).unreadable or "it does not stay one word of the command"
        raise ToolError(f"what the run was given cannot be put in: {why}; nothing was run")
    return filled


def _fits(line: str, text: str) -> bool:
    """Tell whether a line has the same commands and words with a text as with any other, but for the text."""
    probed = _shape(parse(line.replace(INPUT, shlex.quote(_PROBE))))
    filled = _shape(parse(line.replace(INPUT, shlex.quote(text))))
    return probed is not None and filled == [tuple(w.replace(_PROBE, text) for w in words) for words in probed]


def _shape(script: Script) -> Shape | None:
    if script.unreadable is not None:
        return None
    return [
        (
            *(word.text for word in command.words),
            *(f"{name}={word.text}" for name, word in command.assignments),
            *(f"{redirect.direction} {redirect.target.text}" for redirect in command.redirects),
            *command.through,
        )
        for command in script.commands
    ]
