"""Claude Code's hooks: an allow skips its own prompt, a deny reaches the model, a rewrite replaces the input."""

from __future__ import annotations

from typing import Any

import msgspec

from assent.agents.hooks.messages import (
    ALLOWED,
    REFUSAL,
    SILENCE,
    HookAnswer,
    HookCall,
    Moment,
    Rendered,
    code_for,
    parse_claude_shape,
    reason_for_model,
    stop_session,
)
from assent.model import Mode

EVENTS: dict[str, Moment] = {
    "PreToolUse": "before",
    "PermissionRequest": "permission",
    "PostToolUse": "after",
    "PostToolUseFailure": "after",
    "SessionStart": "start",
}
ASKABLE = frozenset({Mode.DEFAULT, Mode.ACCEPT_EDITS, Mode.PLAN})
"""The modes in which an `ask` is sure to reach the user."""
_NEEDS_THE_USER = ("AskUserQuestion", "ExitPlanMode")
"""Tools that ask the user: an allow would answer with nothing."""
REWRITES: frozenset[Moment] = frozenset({"before", "permission"})
"""The events at which the agent runs the input that the hook returns."""


def parse(data: bytes) -> HookCall:
    """Parse the hook's input, or raise `CallError`."""
    return parse_claude_shape(data, EVENTS)


def render(answer: HookAnswer, call: HookCall | None) -> Rendered:
    """Return the answer, always as JSON: a permission request ignores the exit code."""
    if call is None:
        return REFUSAL
    if call.moment == "start":
        return stop_session(answer)
    if answer.abstain or call.moment == "after" or (answer.allow and call.tool in _NEEDS_THE_USER):
        return SILENCE
    if call.moment == "permission" and (answer.ask or (answer.allow and not answer.person)):
        return SILENCE  # the user's own ask rules caused this prompt: only a person may answer it
    said = _permission(answer) if call.moment == "permission" else _before(answer)
    code = code_for(answer) if call.moment == "before" else ALLOWED
    return Rendered(msgspec.json.encode({"hookSpecificOutput": {"hookEventName": call.event, **said}}), code)


def _before(answer: HookAnswer) -> dict[str, Any]:
    said: dict[str, Any] = {
        "permissionDecision": "ask" if answer.ask else "allow" if answer.allow else "deny",
        "permissionDecisionReason": reason_for_model(answer),
    }
    if answer.allow and answer.updated_input is not None:
        said["updatedInput"] = answer.updated_input
    return said


def _permission(answer: HookAnswer) -> dict[str, Any]:
    if not answer.allow:
        return {"decision": {"behavior": "deny", "message": reason_for_model(answer)}}
    rewrite = {} if answer.updated_input is None else {"updatedInput": answer.updated_input}
    return {"decision": {"behavior": "allow", **rewrite}}
