"""Codex's hooks: silence allows a call, a deny needs a reason, permission requests take an explicit allow."""

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
    stop_session,
)

EVENTS: dict[str, Moment] = {
    "PreToolUse": "before",
    "PermissionRequest": "permission",
    "PostToolUse": "after",
    "SessionStart": "start",
}
_CHANGED = "the call was changed, which is not possible here; make the changed call instead"
REWRITES: frozenset[Moment] = frozenset({"before"})
"""The events at which the agent runs the input that the hook returns."""


def parse(data: bytes) -> HookCall:
    """Parse the hook's input, or raise `CallError`."""
    return parse_claude_shape(data, EVENTS)


def render(answer: HookAnswer, call: HookCall | None) -> Rendered:
    """Return the answer. An unknown field makes Codex ignore all of it and run the call.

    A denial also sets the exit code, with the reason on stderr: Codex ignores stdout if the user's shell printed
    something first.
    """
    if call is None:
        return REFUSAL
    if call.moment == "start":
        return stop_session(answer)
    if answer.abstain or call.moment == "after":
        return SILENCE
    before, changed = call.moment == "before", answer.updated_input is not None
    if answer.allow and before and not changed:
        return SILENCE
    if answer.allow and (before or not changed):
        said = {"permissionDecision": "allow", "updatedInput": answer.updated_input} if before else _decide("allow")
        return Rendered(_encode(call, said), ALLOWED)
    reason = _CHANGED if answer.allow else reason_for_model(answer)
    said = {"permissionDecision": "deny", "permissionDecisionReason": reason} if before else _decide("deny", reason)
    return Rendered(_encode(call, said), REFUSED, reason)


def _decide(behavior: str, message: str = "") -> dict[str, Any]:
    return {"decision": {"behavior": behavior, **({"message": message} if message else {})}}


def _encode(call: HookCall, said: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"hookSpecificOutput": {"hookEventName": call.event, **said}})
