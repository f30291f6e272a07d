"""docker-agent's `pre_tool_use` hook: snake case; only an explicit allow lets a call run."""

from __future__ import annotations

from typing import Any

import msgspec

from assent.agents.hooks.messages import (
    ALLOWED,
    REFUSED,
    HookAnswer,
    HookCall,
    Moment,
    Rendered,
    decode_object,
    take_input,
    take_text,
)
from assent.model import CallError

EVENT = "pre_tool_use"
REWRITES: frozenset[Moment] = frozenset({"before"})
"""The events at which the agent runs the input that the hook returns."""


def parse(data: bytes) -> HookCall:
    """Parse the hook's input, or raise `CallError`, also for other events."""
    given = decode_object(data)
    event = take_text(given, "hook_event_name")
    if event not in (None, EVENT):
        raise CallError(f"Expected hook_event_name to be {EVENT}")
    tool = take_text(given, "tool_name")
    if tool is None:
        raise CallError("Missing tool_name")
    return HookCall(
        tool=tool,
        input=take_input(given, "tool_input"),
        cwd=take_text(given, "cwd"),
        session=take_text(given, "session_id"),
        call_id=take_text(given, "tool_use_id"),
    )


def render(answer: HookAnswer, call: HookCall | None = None) -> Rendered:  # noqa: ARG001 - the common signature
    """Return the answer in the agent's format."""
    details: dict[str, Any] = {
        "hook_event_name": EVENT,
        "permission_decision": "allow" if answer.allow else "deny",
        "permission_decision_reason": answer.message,
    }
    if answer.allow and answer.updated_input is not None:
        details["updated_input"] = answer.updated_input
    head = {} if answer.allow else {"decision": "block", "reason": answer.message}
    body = msgspec.json.encode({**head, "hook_specific_output": details})
    return Rendered(body, ALLOWED if answer.allow else REFUSED)
