"""The command of an approval, in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assent.analysis.tools.names import find_tool
from assent.policy.guard import command_text

if TYPE_CHECKING:
    from assent.model import Approval


def command_of(approval: Approval) -> str:
    """Return the command of a pending shell call, else the summary of the call."""
    call = approval.call
    if call is not None and find_tool(call.tool).shape == "command" and (text := command_text(call)):
        return text
    return approval.summary
