"""What a process says by ending: the exit codes. Nothing but a clear allow ends with 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assent.model import Outcome

OK = 0
FOUND = 1
"""Something was looked for and found wanting, or a person said no."""
USAGE = 2
ASK = 3
DENY = 4
UNPROVEN = 5
"""Nothing is wrong with the log, and not all of it is proven."""
TIMED_OUT = 124
"""The time of a command in the sandbox was up."""
INTERRUPTED = 130
PIPE_CLOSED = 141

_BY_OUTCOME: dict[Outcome, int] = {"allow": OK, "sandboxed": OK, "ask": ASK, "deny": DENY, "unavailable": DENY}


def exit_code(outcome: Outcome) -> int:
    """Return the code for a decision."""
    return _BY_OUTCOME[outcome]
