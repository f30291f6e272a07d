"""How much work something is, in a measure that no busy machine can change."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def steps(decided: Callable[[], object]) -> int:
    """Count the functions that are called, ours and the interpreter's own. Nobody else watches meanwhile."""
    watching = sys.gettrace()
    count = 0

    def note(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.settrace(None)
    sys.setprofile(note)
    try:
        decided()
    finally:
        sys.setprofile(None)
        sys.settrace(watching)
    return count
