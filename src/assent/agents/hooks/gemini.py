"""Gemini CLI's hooks: a deny blocks, an allow leaves its own policy in force, a rewrite is merged into the input."""

from __future__ import annotations

from typing import Any

import msgspec

from assent.agents.hooks.messages import (
    ALLOWED,
    REFUSAL,
    REFUSED,
    SILENCE,
    HookAnswer,
    HookCall,
    Moment,
    Rendered,
    parse_claude_shape,
    reason_for_model,
)
from assent.model import Mode

ASKABLE = frozenset({Mode.DEFAULT, Mode.ACCEPT_EDITS})
"""The modes in which an `ask` is sure to reach the user."""
EVENTS: dict[str, Moment] = {"BeforeTool": "before", "AfterTool": "after", "SessionStart": "start"}
REWRITES: frozenset[Moment] = frozenset({"before"})
"""The events at which the agent runs the input that the hook returns."""


def parse(data: bytes) -> HookCall:
    """Parse the hook's input, or raise `CallError`."""
    return parse_claude_shape(data, EVENTS)


def render(answer: HookAnswer, call: HookCall | None) -> Rendered:
    """Return the answer in the agent's format."""
    if call is None:
        return REFUSAL
    if answer.abstain or call.moment == "after":
        return SILENCE
    if call.moment == "start":
        return _warn(call, answer)
    if answer.ask:
        return _say({"decision": "ask", "reason": reason_for_model(answer), "systemMessage": reason_for_model(answer)})
    if not answer.allow:
        return _deny(reason_for_model(answer))
    rewrite = answer.updated_input
    if rewrite is None:
        return _say({"decision": "allow"})
    if call.input.keys() - rewrite.keys():
        # Merging cannot remove a field, so a different call than the decided one would run.
        lost = ", ".join(sorted(call.input.keys() - rewrite.keys()))
        return _deny(f"the changed call leaves out {lost}; make the changed call instead")
    return _say({"decision": "allow", "hookSpecificOutput": {"hookEventName": call.event, "tool_input": rewrite}})


def _warn(call: HookCall, answer: HookAnswer) -> Rendered:
    """Tell the user and the model that every call will be denied: no hook can stop a session of Gemini CLI."""
    if answer.allow:
        return SILENCE
    reason = reason_for_model(answer)
    said = {"hookEventName": call.event, "additionalContext": reason}
    return _say({"systemMessage": reason, "hookSpecificOutput": said})


def _deny(reason: str) -> Rendered:
    """Deny, also by exit code: Gemini CLI ignores stdout if the user's shell printed something first."""
    return Rendered(msgspec.json.encode({"decision": "deny", "reason": reason}), REFUSED, reason)


def _say(said: dict[str, Any]) -> Rendered:
    return Rendered(msgspec.json.encode(said), ALLOWED)
