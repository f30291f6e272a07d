"""`POST /api/hooks/classify`: may this call run? Answered at once, or held until a person has said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from assent.agents.hooks.messages import HookCall
from assent.model import MODE_ALIASES, Mode, Tier
from assent.server.hooks.answers import answer_of
from assent.server.hooks.judge import judge
from assent.server.http.messages import Refusal, Request, reply

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.agents.hooks.messages import HookAnswer
    from assent.server.daemon import Daemon

MODES: dict[str, Mode] = {mode.value: mode for mode in Mode} | MODE_ALIASES


class ClassifyBody(msgspec.Struct, frozen=True, rename="camel"):
    """A tool call that an agent wants to make."""

    tool_name: str | None = None
    tool_input: dict[str, Any] | None = None
    agent_id: str | None = None
    user_id: str | None = None
    cwd: str | None = None
    session_id: str | None = None
    tool_call_id: str | None = None
    mode: str | None = None
    """A mode that the agent is in; it may only tighten."""
    honours_updated_input: bool = False
    """The caller runs `updatedInput` where the answer has one; else it is told to make the changed call."""


class Classified(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Whether the call may run, how bad it is, and why."""

    allow: bool
    tier: Tier
    reason: str
    request_id: str | None = None
    """The question that is pending."""
    updated_input: dict[str, Any] | None = None
    """What to run instead: a person changed it. Only for callers that said they honour it."""
    feedback: str | None = None


_BODY = msgspec.json.Decoder(ClassifyBody)


async def classify(daemon: Daemon, request: Request) -> Response:
    """Decide one call."""
    judged = await judge(daemon, request, _read(request))
    return reply(_classified(answer_of(judged.ruling, waited=judged.waited, tiered=True)))


def _read(request: Request) -> HookCall:
    body = request.decode(_BODY)
    if not body.tool_name:
        raise Refusal(400, "Missing toolName")
    if body.mode is not None and body.mode not in MODES:
        raise Refusal(400, "Invalid mode")
    return HookCall(
        tool=body.tool_name,
        input=body.tool_input or {},
        cwd=body.cwd,
        session=body.session_id,
        call_id=body.tool_call_id,
        agent=body.agent_id,
        user=body.user_id,
        modes=(MODES[body.mode],) if body.mode is not None else (),
        rewritable=body.honours_updated_input,
    )


def _classified(answer: HookAnswer) -> Classified:
    return Classified(
        allow=answer.allow,
        tier=answer.tier or Tier.DANGEROUS,
        reason=answer.reason,
        request_id=answer.request_id,
        updated_input=answer.updated_input,
        feedback=answer.feedback,
    )


def refuse_call(refusal: Refusal) -> Response:
    """Say no in this dialect: who asks wrongly gets an error, every other refusal is a call not allowed."""
    if refusal.status in (401, 403):
        return reply({"error": refusal.message}, refusal.status)
    return reply({"allow": False, "reason": refusal.message}, refusal.status)
