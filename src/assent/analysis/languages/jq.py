"""Programs of jq and yq: whether they do more than print what they are given. What is not understood counts as more."""

from __future__ import annotations

import assent.lazy_regex as re

_STRING = re.compile(r'"[^"]*"')
_APART = re.compile(r"\$(?:\s|#[^\n]*+(?:\n|\Z))++")
"""What may stand between the sign of a variable and its name."""
_NAME = re.compile(r"(?P<field>(?<!\.)\.)?(?<![\w$])(?P<name>\$?[A-Za-z_]\w*)", re.ASCII)
_OUTSIDE = {
    "env": "reads the environment in its program",
    "strenv": "reads the environment in its program",
    "envsubst": "reads the environment in its program",
    "$ENV": "reads the environment in its program",
    "input_filename": "reads more than its input in its program",
    "filename": "reads more than its input in its program",
    "$__prog_args": "reads more than its input in its program",
    "get_search_list": "reads more than its input in its program",
    "import": "loads code from other files",
    "include": "loads code from other files",
    "modulemeta": "loads code from other files",
    "eval": "runs a program that it builds at run time",
    "system": "runs commands from its program",
    "exec": "runs commands from its program",
}


def read_jq(program: str) -> str | None:
    """Return what a program of jq or yq does besides printing its input, or None if that is all."""
    text = program if _has_escapes(program) else _STRING.sub('""', program)
    for found in _NAME.finditer(_APART.sub("$", text)):
        fault = None if found["field"] else _fault(found["name"])
        if fault is not None:
            return fault
    return None


def _has_escapes(program: str) -> bool:
    """Tell whether it is unsure where strings begin and end: programs stand in them, and quotes in comments."""
    return "\\" in program or "#" in program or "'" in program or program.count('"') % 2 == 1


def _fault(name: str) -> str | None:
    if name.startswith("load"):
        return "reads other files in its program"
    return _OUTSIDE.get(name)
