"""The exit codes. Of decisions, only an allow ends with 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assent.model import Outcome

OK = 0
FOUND = 1
"""A check found a problem, or a person said no."""
USAGE = 2
ASK = 3
DENY = 4
UNPROVEN = 5
"""No record of the log is wrong, but not all of them are proven."""
TIMED_OUT = 124
"""A command in the sandbox exceeded its time limit."""
INTERRUPTED = 130
PIPE_CLOSED = 141

_BY_OUTCOME: dict[Outcome, int] = {"allow": OK, "sandboxed": OK, "ask": ASK, "deny": DENY, "unavailable": DENY}


def exit_code(outcome: Outcome) -> int:
    """Return the code for a decision."""
    return _BY_OUTCOME[outcome]
