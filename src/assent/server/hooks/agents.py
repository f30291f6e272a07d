"""`POST /api/hooks/{agent}`: decide for an agent's hook, in the agent's format, with the exit code of the hook."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

import msgspec

from assent.agents.hooks import claude_code, codex, docker_agent, gemini, opencode
from assent.agents.hooks.messages import REFUSED, HookAnswer, HookCall, Moment, Rendered
from assent.agents.hooks.registry import AGENTS
from assent.agents.shells import shell_of
from assent.agents.wiring.project_variables import find_turning, tell_turning
from assent.model import ASK, CallError, ConfigError, Mode
from assent.server.hooks.decision_index import record_outcome
from assent.server.hooks.dedup import answer_once
from assent.server.hooks.environment_header import HEADER, read_environment
from assent.server.hooks.judge import judge, place
from assent.server.http.messages import JSON, Request, reply, respond
from assent.wire.refusal import Refusal

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.server.daemon import Daemon

_REWRITERS = (claude_code, codex, gemini, opencode)
"""Agents that let a hook change what they run."""
_HELD = "it runs inside the sandbox"
_SILENT = HookAnswer(allow=False, abstain=True, reason="")
_LONGEST_HEADER = 2000
_STILL_THE_SAME = 900.0
"""For how many seconds a decision also answers the agent's own question about that call."""


async def ask_as_agent(daemon: Daemon, request: Request) -> Response:
    """Decide one call for an agent's hook.

    An invalid call is answered with 200 and a denial: some agents treat any other status as a yes.
    """
    agent = AGENTS.get(request.path_params["agent"])
    if agent is None:
        raise Refusal(404, "There is no agent by that name")
    asked: HookCall | None = None
    try:
        asked = agent.parse(request.payload)
        asked = _with_shell(_with_rewriting(asked, request, agent), request)
        answer = _refuse_project(daemon, request, asked) or await _answer_once(daemon, request, asked, agent)
    except CallError as error:
        answer = HookAnswer(allow=False, reason=f"Blocked: {error}")
    rendered: Rendered = agent.render(answer, asked)
    code = (b"x-assent-exit", b"%d" % rendered.exit)
    why = ((b"x-assent-reason", _one_line(rendered.reason or answer.message)),) if rendered.exit == REFUSED else ()
    return respond(rendered.body, JSON, (code, *why))


def _refuse_project(daemon: Daemon, request: Request, asked: HookCall) -> HookAnswer | None:
    """Refuse sessions and calls in a project whose settings change environment variables of all programs."""
    folder = request.fields.get(b"x-assent-project", b"").decode("utf-8", "replace") or asked.cwd or ""
    trial = request.query.get("observe", "false") not in ("", "0", "false")
    if asked.moment == "after" or trial or request.who.remote or not folder.startswith("/"):
        return _SILENT if asked.moment == "start" else None
    name = request.path_params["agent"]
    try:
        found = find_turning(name, folder)
        why = tell_turning(name, found) if found else ""
    except ConfigError as error:
        why = f"{error.file}: {error.message} {error.suggestion or ''}".rstrip()
    if not why:
        return _SILENT if asked.moment == "start" else None
    daemon.journal.note("warning", "project.refused", agent=name, folder=folder, reason=why)
    return HookAnswer(allow=False, reason=f"Blocked: {why}")


async def _answer_once(daemon: Daemon, request: Request, asked: HookCall, agent: ModuleType) -> HookAnswer:
    if asked.session is None or request.who.agent is None:
        return await _answer(daemon, request, asked, agent)
    return await answer_once(daemon, request, asked, lambda: _answer(daemon, request, asked, agent))


async def _answer(daemon: Daemon, request: Request, asked: HookCall, agent: ModuleType) -> HookAnswer:
    if asked.moment == "after":
        call, session = place(daemon, request, asked)
        await record_outcome(daemon, call, session, asked)
        return _SILENT
    if request.query.get("observe", "false") not in ("", "0", "false"):
        call, session = place(daemon, request, asked)
        await daemon.decisions.decide(call, session, observe="trial")
        return _SILENT
    if asked.moment == "permission":
        call, session = place(daemon, request, asked)
        ruled = daemon.recent_decisions.confirm(call, session, within=_STILL_THE_SAME)
        if ruled is not None:  # it was decided when the agent announced the call
            return HookAnswer(allow=True, reason="allowed before the agent asked", person=ruled.person)
    heard = _is_heard(request)
    if daemon.settings.agent_prompt == "defer" and request.who.run is None and heard and _can_ask(asked, agent):
        call, session = place(daemon, request, asked)
        decision = daemon.decisions.preview(call, session)
        if decision.verdict is ASK:
            if asked.moment == "before":  # when the agent itself asks, it has been recorded already
                decision = (await daemon.decisions.decide(call, session, observe="deferred")).decision
            return HookAnswer(allow=False, ask=decision.verdict is ASK, reason=decision.decision_reason)
    judged = await judge(daemon, request, asked)
    daemon.recent_decisions.keep(judged.call, judged.session, judged.ruling)
    answer = judged.answer
    if answer.instead is not None and asked.moment == "before" and agent in _REWRITERS and heard:
        # The agent runs the same command, rewritten to run inside its boundary.
        return msgspec.structs.replace(answer, allow=True, updated_input=answer.instead, reason=_HELD)
    return msgspec.structs.replace(answer, person=answer.allow and judged.ruling.approval is not None)


def _with_rewriting(asked: HookCall, request: Request, agent: ModuleType) -> HookCall:
    """Set whether the agent would run a changed input: never where another program may hide the hook's output."""
    rewrites: frozenset[Moment] = getattr(agent, "REWRITES", frozenset())
    rewritable = (asked.rewritable or asked.moment in rewrites) and _is_heard(request)
    return msgspec.structs.replace(asked, rewritable=rewritable)


def _is_heard(request: Request) -> bool:
    """Tell whether the agent surely reads the hook's output, and not only its exit code."""
    return request.fields.get(b"x-assent-heard") != b"code"


def _with_shell(asked: HookCall, request: Request) -> HookCall:
    told = request.fields.get(b"x-assent-shell", b"").decode("ascii", "replace")
    if not told and HEADER in request.fields:
        told = dict(read_environment(request.fields[HEADER]).variables).get("SHELL") or ""
    shell = shell_of(request.path_params["agent"], told)
    return msgspec.structs.replace(asked, shell=shell) if shell else asked


def _can_ask(asked: HookCall, agent: ModuleType) -> bool:
    """Tell whether the agent surely asks its user when told to."""
    askable: frozenset[Mode] = getattr(agent, "ASKABLE", frozenset())
    return (asked.reported or Mode.DEFAULT) in askable


def _one_line(text: str) -> bytes:
    """Write a reason as one line that fits into a header."""
    return " ".join(text.split())[:_LONGEST_HEADER].encode("utf-8", "backslashreplace")


def refuse_hook(refusal: Refusal) -> Response:
    """Refuse in a form that every agent's hook reads as a denial."""
    reason = f"Blocked: {refusal.message}"
    details = {
        "hook_event_name": docker_agent.EVENT,
        "permission_decision": "deny",
        "permission_decision_reason": reason,
    }
    body = {"error": refusal.message, "allow": False, "decision": "block", "reason": reason}
    return reply({**body, "hook_specific_output": details}, refusal.status, ((b"x-assent-exit", b"2"),))
