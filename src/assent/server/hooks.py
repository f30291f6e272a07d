"""`POST /api/hooks/{agent}`: an agent's own hook, in its own words, with the code its process must end with."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from assent.agents import docker_agent, generic
from assent.agents.hook import HookAnswer
from assent.model import CallError
from assent.server.classify import rule
from assent.server.messages import JSON, Refusal, Reply, Request, reply

if TYPE_CHECKING:
    from assent.server.daemon import Daemon

AGENTS: dict[str, ModuleType] = {"docker-agent": docker_agent, "generic": generic}


async def ask_as_agent(daemon: Daemon, request: Request) -> Reply:
    """Decide one call for an agent's hook.

    What is wrong with the call itself is answered with 200 and a denial: there are agents that take any other
    status for a yes.
    """
    agent = AGENTS.get(request.params["agent"])
    if agent is None:
        raise Refusal(404, "There is no agent by that name")
    try:
        asked = agent.parse(request.body)
        answer = await rule(daemon, request, asked)
    except CallError as error:
        answer = HookAnswer(allow=False, reason=f"Blocked: {error}")
    rendered = agent.render(answer)
    return Reply(200, rendered.body, JSON, ((b"x-assent-exit", b"%d" % rendered.exit),))


def refuse_hook(refusal: Refusal) -> Reply:
    """Say no so that every agent's hook takes it for one."""
    reason = f"Blocked: {refusal.message}"
    details = {
        "hook_event_name": docker_agent.EVENT,
        "permission_decision": "deny",
        "permission_decision_reason": reason,
    }
    body = {"error": refusal.message, "allow": False, "decision": "block", "reason": reason}
    return reply({**body, "hook_specific_output": details}, refusal.status, ((b"x-assent-exit", b"2"),))
