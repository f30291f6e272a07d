"""OpenAI Agents SDK: a guardrail on every function tool, or runs that pause and go on when all is decided."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any

from agents.items import ToolCallOutputItem
from agents.tool import ShellTool, Tool

from agents import (
    Agent,
    FunctionTool,
    Runner,
    RunResult,
    RunState,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolInputGuardrailData,
    ToolOutputGuardrail,
    ToolOutputGuardrailData,
)
from assent.model import ConfigError
from assent.sdk.apps import DEFAULT_SESSION, AgentApp
from assent.sdk.judges import Judgement
from assent.sdk.sessions import denial_text

MOST_PAUSES = 100
_HOSTED = frozenset({
    "WebSearchTool", "FileSearchTool", "CodeInterpreterTool", "HostedMCPTool", "ImageGenerationTool", "ToolSearchTool",
    "ProgrammaticToolCallingTool",
})  # fmt: skip
"""What runs at the model's own provider."""


def guard_tools(app: AgentApp, tools: Sequence[Tool], *, session_id: str = DEFAULT_SESSION) -> list[Tool]:
    """Return the tools with a guardrail on every function tool. Hosted tools run elsewhere: they are not guarded.

    What runs here and takes no guardrail, such as a shell, raises `ConfigError`: it would run without a decision.
    """
    guardrail, record = make_guardrail(app, session_id=session_id), _make_record(app, session_id)
    return [_guard(tool, guardrail, record) if isinstance(tool, FunctionTool) else _pass(tool) for tool in tools]


def _pass(tool: Tool) -> Tool:
    hosted = isinstance(tool, ShellTool) and tool.executor is None
    if not hosted and type(tool).__name__ not in _HOSTED:
        raise ConfigError(f"{type(tool).__name__} takes no guardrail; make a function tool of what it does")
    return tool


def _guard(tool: FunctionTool, guardrail: ToolInputGuardrail[Any], record: ToolOutputGuardrail[Any]) -> FunctionTool:
    guarded = copy.copy(tool)
    guarded.tool_input_guardrails = [guardrail, *(tool.tool_input_guardrails or ())]
    guarded.tool_output_guardrails = [record, *(tool.tool_output_guardrails or ())]
    return guarded


def _make_record(app: AgentApp, session_id: str) -> ToolOutputGuardrail[Any]:
    """Make a guardrail that lets every result pass, and writes down that it came."""

    async def note(data: ToolOutputGuardrailData) -> ToolGuardrailFunctionOutput:
        app.session(session_id).note_result(data.context.tool_name, data.context.tool_call_id)
        return ToolGuardrailFunctionOutput.allow()

    return ToolOutputGuardrail(guardrail_function=note, name="assent-record")


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
    return (await _settle(app, result, session_id))[0]


async def _settle(app: AgentApp, result: RunResult, session_id: str) -> tuple[RunState[Any, Any], dict[str, str]]:
    """Do so, and return the names of the tools that will run by the ids of their calls."""
    state, running = result.to_state(), {}
    for item in result.interruptions:
        name, call_id = item.name or "", _call_id(item.raw_item)
        message = await _check(app, session_id, name, item.arguments, call_id)
        if message is None:
            state.approve(item)
            running[call_id or ""] = name
        else:
            state.reject(item, rejection_message=message)
    return state, running


async def run_guarded(
    app: AgentApp, agent: Agent[Any], given: Any, *, session_id: str = DEFAULT_SESSION, **more: Any
) -> RunResult:
    """Run an agent to its end, deciding each call that it stops for."""
    result = await Runner.run(agent, given, **more)
    for _ in range(MOST_PAUSES):
        if not result.interruptions:
            return result
        state, running = await _settle(app, result, session_id)
        result = await Runner.run(agent, state, **more)
        for item in result.new_items:
            call_id = _call_id(item.raw_item) if isinstance(item, ToolCallOutputItem) else None
            if call_id is not None and call_id in running:
                app.session(session_id).note_result(running.pop(call_id), call_id)
    return result


def _call_id(item: Any) -> str | None:
    if isinstance(item, dict):
        return item.get("call_id") or item.get("id")
    return getattr(item, "call_id", None) or getattr(item, "id", None)


async def _check(app: AgentApp, session_id: str, name: str, arguments: str | None, call_id: str | None) -> str | None:
    """Return why a call may not run; None if it may, exactly as it is."""
    if arguments is None:  # a shell's lines, a patch: they stand elsewhere in the call, and nobody would read them
        return f'Invalid input for tool "{name}": its calls can not be read'
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
