"""Codex's hooks: an allow must stay unsaid before a call, a deny needs a reason, grants go to permission requests."""

from __future__ import annotations

from typing import Any

import msgspec

from assent.agents.hook import (
    ALLOWED,
    REFUSAL,
    SILENCE,
    HookAnswer,
    HookCall,
    Moment,
    Rendered,
    parse_claude_shape,
    reason_for_model,
)

EVENTS: dict[str, Moment] = {"PreToolUse": "before", "PermissionRequest": "permission", "PostToolUse": "after"}


def parse(data: bytes) -> HookCall:
    """Read what the hook sent, or raise `CallError`."""
    return parse_claude_shape(data, EVENTS)


def render(answer: HookAnswer, call: HookCall | None) -> Rendered:
    """Write the answer. Any field too many makes Codex drop the whole of it, and go on."""
    if call is None:
        return REFUSAL
    if answer.abstain or call.moment == "after":
        return SILENCE
    said = _permission(answer) if call.moment == "permission" else _before(answer)
    if said is None:
        return SILENCE
    return Rendered(msgspec.json.encode({"hookSpecificOutput": {"hookEventName": call.event, **said}}), ALLOWED)


def _before(answer: HookAnswer) -> dict[str, Any] | None:
    if not answer.allow:
        return {"permissionDecision": "deny", "permissionDecisionReason": reason_for_model(answer)}
    if answer.updated_input is None:
        return None
    return {"permissionDecision": "allow", "updatedInput": answer.updated_input}


def _permission(answer: HookAnswer) -> dict[str, Any]:
    if answer.allow and answer.updated_input is None:
        return {"decision": {"behavior": "allow"}}
    changed = "the call was changed, which can not be done here; make the changed call instead"
    return {"decision": {"behavior": "deny", "message": changed if answer.allow else reason_for_model(answer)}}
