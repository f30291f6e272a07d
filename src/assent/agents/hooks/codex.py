"""Codex's hooks: an allow must stay unsaid before a call, a deny needs a reason, grants go to permission requests."""

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
_CHANGED = "the call was changed, which can not be done here; make the changed call instead"
REWRITES: frozenset[Moment] = frozenset({"before"})
"""When the agent runs the input that a hook gives it instead of its own."""


def parse(data: bytes) -> HookCall:
    """Read what the hook sent, or raise `CallError`."""
    return parse_claude_shape(data, EVENTS)


def render(answer: HookAnswer, call: HookCall | None) -> Rendered:
    """Write the answer. Any field too many makes Codex drop the whole of it, and go on.

    A no is said by the code, too, and then Codex reads why on stderr: its words are not read at all where the user's
    shell printed something before them.
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
