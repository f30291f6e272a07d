"""`/api/policy` and `/api/decide`: show the policy in force, and preview a decision without recording or asking."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from assent.agents.hooks.messages import HookCall
from assent.model import UNKNOWN, encode
from assent.model.principal import Principal, Role
from assent.server.hooks.calls import place_call
from assent.server.http.messages import Request, reply, respond
from assent.wire.policy import DecideBody, PolicyView, Preview
from assent.wire.refusal import Refusal

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.server.daemon import Daemon

_UNKNOWN, _SHOWN = UNKNOWN.encode(), "…".encode()


_BODY = msgspec.json.Decoder(DecideBody)


async def show_policy(daemon: Daemon, request: Request) -> Response:
    """Show the policy in force for a folder; without one, for remote agents."""
    project = daemon.projects.policy_of(request.query.get("cwd", ""), at_once=True)
    merged = project.engine.merged
    view = PolicyView(
        merged.version,
        tuple(merged.modes),
        merged.sources,
        project.found.policies,
        project.found.workspace.roots,
        project.found.notices,
        project.fault,
    )
    return reply(view)


async def preview(daemon: Daemon, request: Request) -> Response:
    """Decide a call without recording it or asking a person."""
    body, who = request.decode(_BODY), request.who
    if not body.tool_name:
        raise Refusal(400, "Missing toolName")
    asked = HookCall(tool=body.tool_name, input=body.tool_input, cwd=body.cwd, session=body.session_id)
    agent = Principal(token=who.token, role=Role.AGENT, user=who.user, agent=body.agent_id or "", remote=who.remote)
    call, session = place_call(asked, agent, daemon.projects)
    decision = daemon.decisions.preview(call, session)
    shown = Preview(
        decision.decision, decision.reading.tier, decision.decision_reason, decision.decision_source, decision
    )
    return respond(encode(shown).replace(_UNKNOWN, _SHOWN))
