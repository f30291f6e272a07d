"""OpenAI Agents SDK: a guardrail on every function tool, or runs that pause and go on when all is decided."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from agents.tool import Tool

from agents import (
    Agent,
    FunctionTool,
    Runner,
    RunResult,
    RunState,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolInputGuardrailData,
)
from assent.sdk.apps import DEFAULT_SESSION, AgentApp
from assent.sdk.judges import Judgement
from assent.sdk.sessions import denial_text

MOST_PAUSES = 100


def guard_tools(app: AgentApp, tools: Sequence[Tool], *, session_id: str = DEFAULT_SESSION) -> list[Tool]:
    """Put the guardrail on every function tool, and return all of them. Hosted tools run elsewhere: not guarded."""
    guardrail = make_guardrail(app, session_id=session_id)
    for tool in tools:
        if isinstance(tool, FunctionTool):
            tool.tool_input_guardrails = [guardrail, *(tool.tool_input_guardrails or ())]
    return list(tools)


def make_guardrail(app: AgentApp, *, session_id: str = DEFAULT_SESSION) -> ToolInputGuardrail[Any]:
    """Make a tool input guardrail: a call that may not run is rejected, and the model is told why."""

    async def check(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        context = data.context
        message = await _check(app, session_id, context.tool_name, context.tool_arguments, context.tool_call_id)
        return ToolGuardrailFunctionOutput.allow() if message is None else _reject(message)

    return ToolInputGuardrail(guardrail_function=check, name="assent")


async def settle_interruptions(
    app: AgentApp, result: RunResult, *, session_id: str = DEFAULT_SESSION
) -> RunState[Any, Any]:
    """Decide every call that a run stopped for (`needs_approval=True`), and return the state to go on from."""
    state = result.to_state()
    for item in result.interruptions:
        call_id = getattr(item.raw_item, "call_id", None) or getattr(item.raw_item, "id", None)
        message = await _check(app, session_id, item.name or "", item.arguments, call_id)
        if message is None:
            state.approve(item)
        else:
            state.reject(item, rejection_message=message)
    return state


async def run_guarded(
    app: AgentApp, agent: Agent[Any], given: Any, *, session_id: str = DEFAULT_SESSION, **more: Any
) -> RunResult:
    """Run an agent to its end, deciding each call that it stops for."""
    result = await Runner.run(agent, given, **more)
    for _ in range(MOST_PAUSES):
        if not result.interruptions:
            return result
        result = await Runner.run(agent, await settle_interruptions(app, result, session_id=session_id), **more)
    return result


async def _check(app: AgentApp, session_id: str, name: str, arguments: str | None, call_id: str | None) -> str | None:
    """Return why a call may not run; None if it may, exactly as it is."""
    try:
        given = json.loads(arguments or "{}")
    except ValueError:
        return f'Invalid input for tool "{name}": it is not JSON'
    if not isinstance(given, dict):
        return f'Invalid input for tool "{name}": it must be an object'
    judgement, taken = await app.session(session_id).decide(name, given, tool_call_id=call_id)
    if not judgement.allowed:
        return denial_text(name, judgement)
    return None if taken == given else _ask_for(name, taken, judgement)


def _ask_for(name: str, taken: dict[str, Any], judgement: Judgement) -> str:
    """Have the model make the call that was approved: a guardrail can not change an input."""
    said = f" ({judgement.feedback})" if judgement.feedback else ""
    return f"Not run as it was asked{said}. Call {name} again with exactly this input: {json.dumps(taken)}"


def _reject(message: str) -> ToolGuardrailFunctionOutput:
    return ToolGuardrailFunctionOutput.reject_content(message)
