"""JSON inside strings: what some tools are given in place of an object."""

from __future__ import annotations

from typing import Any

import msgspec

import assent.lazy_regex as re

DEEPEST = 100
"""Objects and lists inside one another that are looked into."""
LONGEST_JSON = 262_144
"""Characters of a string that is read as JSON; of a longer one only what it mentions counts."""

_JSON = re.compile(r"\s*+[{\[\"]")
"""How an object, a list or a string inside a string begins."""


def may_be_json(text: str) -> bool:
    """Tell whether a string begins as JSON does that has parts, or holds a string."""
    return _JSON.match(text) is not None


def read_json(text: str) -> Any:
    """Read an object, a list or a string inside a string; None if it is no such thing."""
    if len(text) > LONGEST_JSON or not may_be_json(text):
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
