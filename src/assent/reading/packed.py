"""JSON inside strings: what some tools are given in place of an object."""

from __future__ import annotations

from typing import Any

import msgspec

DEEPEST = 100
"""Objects and lists inside one another that are looked into."""
LONGEST_JSON = 262_144
"""Characters of a string that is read as JSON; of a longer one only what it mentions counts."""


def read_json(text: str) -> Any:
    """Read an object, a list or a string inside a string; None if it is no such thing."""
    start = text.lstrip()[:1]
    if start not in ("{", "[", '"') or len(text) > LONGEST_JSON:
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
