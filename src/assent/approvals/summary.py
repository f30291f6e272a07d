"""A call in one line, for people."""

from __future__ import annotations

from assent.model import Reading, ToolCall
from assent.policy.guard import command_text

LONGEST = 2000


def summarise(call: ToolCall, reading: Reading) -> str:
    """Return the command of a shell call, else the tool and what it is mainly about."""
    text = command_text(call) if reading.tool == "Bash" else None
    if text is None:
        main = reading.operations[0].resource if reading.operations else ""
        text = reading.tool if main in ("", reading.tool) else f"{reading.tool} {main}"
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"
