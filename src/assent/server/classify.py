"""`POST /api/hooks/classify`: may this call run? Answered at once, or held until a person has said."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import msgspec

from assent.agents.hook import HookCall
from assent.model import MODE_ALIASES, Mode, Tier
from assent.server.asking import judge, place
from assent.server.messages import Refusal, Reply, Request, reply
from assent.server.rulings import answer_of

if TYPE_CHECKING:
    from assent.agents.hook import HookAnswer
    from assent.gate import Ruling
    from assent.model import Session, ToolCall
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


_LONGEST_KEPT = 200
"""Characters of a reason with which an answer is kept."""
_BODY = msgspec.json.Decoder(ClassifyBody)


async def classify(daemon: Daemon, request: Request) -> Reply:
    """Decide one call."""
    return reply(_classified((await judge(daemon, request, _read(request))).answer))


def read_call(daemon: Daemon, request: Request) -> tuple[ToolCall, Session]:
    """Find out which call is asked about, and in which session."""
    return place(daemon, request, _read(request))


def write_ruling(ruling: Ruling) -> Reply:
    """Say what was ruled, to a caller who does not wait."""
    decision = ruling.decision
    if decision.decision == "allow" and ruling.approval is None and len(decision.decision_reason) <= _LONGEST_KEPT:
        return _allowed(decision.reading.tier, decision.decision_reason)
    return reply(_classified(answer_of(ruling)))


@functools.lru_cache(maxsize=256)
def _allowed(tier: Tier, reason: str) -> Reply:
    """Say yes to a call that nobody was asked about: most have one of few reasons."""
    return reply(Classified(allow=True, tier=tier, reason=reason))


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


def refuse_call(refusal: Refusal) -> Reply:
    """Say no in this dialect: who asks wrongly gets an error, every other refusal is a call not allowed."""
    if refusal.status in (401, 403):
        return reply({"error": refusal.message}, refusal.status)
    return reply({"allow": False, "reason": refusal.message}, refusal.status)
