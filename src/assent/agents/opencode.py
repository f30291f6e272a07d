"""OpenCode, by a plugin of ours: it sends what it is about to run, stops it by raising, and can change the input."""

from __future__ import annotations

from typing import Any

import msgspec

from assent.agents.hook import (
    ALLOWED,
    REFUSED,
    SILENCE,
    HookAnswer,
    HookCall,
    Moment,
    Rendered,
    parse_claude_shape,
    reason_for_model,
)

EVENTS: dict[str, Moment] = {
    "tool.execute.before": "before",
    "permission.asked": "permission",
    "tool.execute.after": "after",
}


def parse(data: bytes) -> HookCall:
    """Read what the plugin sent, or raise `CallError`."""
    return parse_claude_shape(data, EVENTS)


def render(answer: HookAnswer, call: HookCall | None) -> Rendered:
    """Write the answer for the plugin: `allow`, the reason, and what to run instead."""
    if call is not None and (answer.abstain or call.moment == "after"):
        return SILENCE
    if call is not None and call.moment == "permission" and answer.allow and not answer.person:
        return SILENCE  # the user's own ask rules brought it here: only a person may answer for them
    said: dict[str, Any] = {"allow": answer.allow, "reason": reason_for_model(answer)}
    if answer.allow and answer.updated_input is not None:
        said["updatedInput"] = answer.updated_input
    return Rendered(msgspec.json.encode(said), ALLOWED if answer.allow else REFUSED)
