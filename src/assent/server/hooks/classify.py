"""`POST /api/hooks/classify`: decide whether a call may run, at once or after a person answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from assent.agents.hooks.messages import HookCall
from assent.model import MODE_ALIASES, Mode, Tier
from assent.server.hooks.answers import answer_of
from assent.server.hooks.judge import judge
from assent.server.http.messages import Request, reply
from assent.wire.hooks import Classified, ClassifyBody
from assent.wire.refusal import Refusal

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.agents.hooks.messages import HookAnswer
    from assent.server.daemon import Daemon

MODES: dict[str, Mode] = {mode.value: mode for mode in Mode} | MODE_ALIASES


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
    """Refuse in this dialect: 401 and 403 are errors, every other refusal is a call that is not allowed."""
    if refusal.status in (401, 403):
        return reply({"error": refusal.message}, refusal.status)
    return reply({"allow": False, "reason": refusal.message}, refusal.status)
