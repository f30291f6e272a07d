"""The generic format: `{toolName, toolInput, …}` in several spellings, answered by `{allow, tier, reason, …}`."""

from __future__ import annotations

from typing import Any

import msgspec

from assent.agents.hooks.messages import (
    ALLOWED,
    REFUSED,
    HookAnswer,
    HookCall,
    Rendered,
    decode_object,
    take_input,
    take_text,
)
from assent.model import CallError

_TOOL = ("toolName", "tool_name", "tool")
_INPUT = ("toolInput", "tool_input", "input")


def parse(data: bytes) -> HookCall:
    """Parse the hook's input, or raise `CallError`."""
    given = decode_object(data)
    tool = take_text(given, *_TOOL)
    if tool is None:
        raise CallError("Missing toolName")
    _refuse_contradiction(given)
    return HookCall(
        tool=tool,
        input=take_input(given, *_INPUT),
        cwd=take_text(given, "cwd"),
        session=take_text(given, "sessionId", "session_id"),
        call_id=take_text(given, "toolCallId", "tool_call_id", "tool_use_id"),
        agent=take_text(given, "agentId", "agent_id"),
        user=take_text(given, "userId", "user_id"),
        rewritable=given.get("honoursUpdatedInput", given.get("honours_updated_input")) is True,
    )


def render(answer: HookAnswer, call: HookCall | None = None) -> Rendered:  # noqa: ARG001 - the common signature
    """Return the answer in the agent's format."""
    body: dict[str, Any] = {"allow": answer.allow}
    if answer.tier is not None:
        body["tier"] = answer.tier
    body["reason"] = answer.reason
    if answer.request_id is not None:
        body["requestId"] = answer.request_id
    if answer.updated_input is not None:
        body["updatedInput"] = answer.updated_input
    if answer.feedback is not None:
        body["feedback"] = answer.feedback
    return Rendered(msgspec.json.encode(body), ALLOWED if answer.allow else REFUSED)


def _refuse_contradiction(given: dict[str, Any]) -> None:
    """Refuse two spellings with different values: the decided call must be the one that runs."""
    for names in (_TOOL, _INPUT):
        said = [given[name] for name in names if given.get(name) is not None]
        if any(value != said[0] for value in said[1:]):
            raise CallError(f"{' and '.join(name for name in names if name in given)} differ")
