"""`/api/policy` and `/api/decide`: what is in force, and what would be decided, without a record or a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from assent.agents.hooks.messages import HookCall
from assent.model import UNKNOWN, Decision, Mode, Outcome, Policy, Source, Tier, encode
from assent.model.principal import Principal, Role
from assent.server.hooks.calls import place_call
from assent.server.http.messages import Refusal, Request, reply, respond

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.server.daemon import Daemon

_UNKNOWN, _SHOWN = UNKNOWN.encode(), "…".encode()


class PolicyView(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The layers as merged, and what is wrong with their files."""

    version: str
    modes: tuple[Mode, ...]
    sources: tuple[str, ...]
    policies: tuple[Policy, ...]
    workspace: tuple[str, ...]
    notices: tuple[str, ...] = ()
    fault: str | None = None
    """Why the files as they are now are not in force; the rules before the last change are."""


class DecideBody(msgspec.Struct, frozen=True, rename="camel"):
    """A call to be decided as if this agent made it."""

    tool_name: str = ""
    tool_input: dict[str, Any] = {}
    cwd: str | None = None
    agent_id: str | None = None
    session_id: str | None = None


class Preview(msgspec.Struct, frozen=True, rename="camel"):
    """What would be decided, and the whole record of why."""

    decision: Outcome
    tier: Tier
    reason: str
    decision_source: Source
    record: Decision


_BODY = msgspec.json.Decoder(DecideBody)


async def show_policy(daemon: Daemon, request: Request) -> Response:
    """Show what is in force, for a folder or for agents elsewhere."""
    bench = daemon.projects.bench(request.query.get("cwd", ""), at_once=True)
    merged = bench.engine.merged
    view = PolicyView(
        merged.version,
        tuple(merged.modes),
        merged.sources,
        bench.found.policies,
        bench.found.workspace.roots,
        bench.found.notices,
        bench.fault,
    )
    return reply(view)


async def preview(daemon: Daemon, request: Request) -> Response:
    """Decide a call without a record and without a question."""
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
