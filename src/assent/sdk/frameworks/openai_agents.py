"""OpenAI Agents SDK: a guardrail on every function tool, or runs that pause and go on when all is decided."""

from __future__ import annotations

import copy
import json
import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, TypeAlias

from agents.items import ToolCallOutputItem
from agents.tool import ShellTool, Tool
from agents.tool_context import ToolContext

from agents import (
    Agent,
    FunctionTool,
    Handoff,
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
from assent.sdk.frameworks.openai_functions import Parts, ToolFunction
from assent.sdk.frameworks.openai_handoffs import GuardedHandoff, Handoffs
from assent.sdk.sessions.app import DEFAULT_SESSION, AgentApp
from assent.sdk.sessions.backends import BackendDecision
from assent.sdk.sessions.results import ToolFailedError, denial_text
from assent.sdk.sessions.session import MOST_REMEMBERED, AgentSession
from assent.sdk.tools.json_schema import InputError
from assent.sdk.tools.json_values import EncodedValue

MOST_PAUSES = 100
_NAME = "assent"
"""How its guardrails are called."""
Read: TypeAlias = Callable[[dict[str, Any]], EncodedValue]
"""Says what a tool is called with where the model sent an input, or raises `InputError`."""
_HOSTED = frozenset({
    "WebSearchTool", "FileSearchTool", "CodeInterpreterTool", "HostedMCPTool", "ImageGenerationTool", "ToolSearchTool",
    "ProgrammaticToolCallingTool",
})  # fmt: skip
"""What runs at the model's own provider."""


def guard_tools(app: AgentApp, tools: Sequence[Tool], *, session_id: str = DEFAULT_SESSION) -> list[Tool]:
    """Return the tools with a guardrail on every function tool. Hosted tools run elsewhere: they are not guarded.

    What runs here and takes no guardrail, such as a shell, raises `ConfigError`: it would run without a decision. So
    does an agent as a tool whose own tools would.
    """
    return [_guard(app, tool, session_id) if isinstance(tool, FunctionTool) else _pass(tool) for tool in tools]


def guard_handoffs(app: AgentApp, agent: Agent[Any], *, session_id: str = DEFAULT_SESSION) -> Agent[Any]:
    """Return a copy of the agent, and of those it may hand over to, whose handoffs are decided as calls of a tool are.

    A handoff goes by its tool's name (`transfer_to_…`). The model hears why one was refused, and goes on.
    """

    async def check(name: str, arguments: str) -> str | None:
        return await _check(app.session(session_id), name, arguments or "", None)

    return Handoffs(app, session_id, check).guard(agent)


def _pass(tool: Tool) -> Tool:
    if not _is_hosted(tool):
        raise ConfigError(f"{type(tool).__name__} takes no guardrail; make a function tool of what it does")
    return tool


def _is_hosted(tool: Tool) -> bool:
    return (isinstance(tool, ShellTool) and tool.executor is None) or type(tool).__name__ in _HOSTED


def _guard(app: AgentApp, tool: FunctionTool, session_id: str) -> FunctionTool:
    _refuse_undecided_in(tool, set())
    guarded = copy.copy(tool)
    function = ToolFunction.of(tool)
    if function is None:
        guardrail, record = make_guardrail(app, session_id=session_id), _make_record(app, session_id)
        guarded.tool_output_guardrails = [record, *(tool.tool_output_guardrails or ())]
    else:
        made = _Guarded(app, session_id, function)
        guardrail, guarded.on_invoke_tool = made.guardrail, made.invoke
    guarded.tool_input_guardrails = [guardrail, *(tool.tool_input_guardrails or ())]
    return guarded


class _Guarded:
    """A tool made of a function. Its guardrail reads a call as the function would get it, and decides just that.

    The framework reads the call once more before it runs. What comes of that counts for nothing: the function gets the
    very values that were decided about, and without those it does not run.
    """

    def __init__(self, app: AgentApp, session_id: str, function: ToolFunction) -> None:
        self._session = app.session
        self._id = session_id
        self._function = function
        self._decided: OrderedDict[tuple[str, str], list[Parts]] = OrderedDict()
        self._inner = function.rebuild(self._run)
        self.guardrail: ToolInputGuardrail[Any] = ToolInputGuardrail(guardrail_function=self._check, name=_NAME)

    async def _check(self, data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        context, found = data.context, []

        def read(given: dict[str, Any]) -> EncodedValue:
            parts = self._function.read(given)
            found.append(parts)
            return self._function.write(parts)

        session, call_id = self._session(self._id), context.tool_call_id
        message = await _check(session, context.tool_name, context.tool_arguments, call_id, read)
        if message is not None:
            return ToolGuardrailFunctionOutput.reject_content(message)
        self._decided.setdefault((call_id, context.tool_arguments), []).append(found[0])
        if len(self._decided) > MOST_REMEMBERED:
            self._decided.popitem(last=False)
        return ToolGuardrailFunctionOutput.allow()

    async def invoke(self, context: ToolContext[Any], given: str) -> Any:
        """Have the framework call the function, and write down what became of it."""
        key = (context.tool_call_id, given)
        waiting = self._decided.get(key)
        if not waiting:
            raise ToolFailedError(f"this call of {context.tool_name} was not decided about")
        token = _CALL.set(_Running(waiting.pop()))
        if not waiting:
            del self._decided[key]
        try:
            return await self._inner.on_invoke_tool(context, given)
        finally:
            running = _CALL.get()
            error = None if running is None else running.error
            self._session(self._id).note_result(context.tool_name, context.tool_call_id, error=error)
            _CALL.reset(token)

    async def _run(self, *given: Any, **_: Any) -> Any:
        running = _CALL.get()
        if running is None:
            raise ToolFailedError("it was not decided about")
        args, named = running.parts
        running.error = ToolFailedError("the call was aborted")
        try:
            result = await self._function.call(*(given[:1] if self._function.takes_context else ()), *args, **named)
        except Exception as error:
            running.error = error
            raise
        running.error = None
        return result


class _Running:
    """A call under way: what the function gets, and what became of it."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.error: Exception | None = ToolFailedError("the framework did not call it")


_CALL: ContextVar[_Running | None] = ContextVar("assent-openai-call", default=None)


def _make_record(app: AgentApp, session_id: str) -> ToolOutputGuardrail[Any]:
    """Make a guardrail that lets every result pass, and writes down that it came."""

    async def note(data: ToolOutputGuardrailData) -> ToolGuardrailFunctionOutput:
        app.session(session_id).note_result(data.context.tool_name, data.context.tool_call_id)
        return ToolGuardrailFunctionOutput.allow()

    return ToolOutputGuardrail(guardrail_function=note, name="assent-record")


def make_guardrail(app: AgentApp, *, session_id: str = DEFAULT_SESSION) -> ToolInputGuardrail[Any]:
    """Make a tool input guardrail: a call that may not run is rejected, and the model is told why.

    It decides a call as the model sent it; `guard_tools` decides what a function makes of that.
    """

    async def check(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        context, session = data.context, app.session(session_id)
        message = await _check(session, context.tool_name, context.tool_arguments, context.tool_call_id)
        allow, reject = ToolGuardrailFunctionOutput.allow, ToolGuardrailFunctionOutput.reject_content
        return allow() if message is None else reject(message)

    return ToolInputGuardrail(guardrail_function=check, name=_NAME)


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
        message = await _check(app.session(session_id), name, item.arguments, call_id, _reader(item.agent, name))
        if message is None:
            state.approve(item)
            running[call_id or ""] = name
        else:
            state.reject(item, rejection_message=message)
    return state, running


def _reader(agent: Agent[Any], name: str) -> Read:
    """Return what reads the calls of an agent's tool: its function's own types, where there is one."""
    tools = [tool for tool in getattr(agent, "tools", ()) if isinstance(tool, FunctionTool) and tool.name == name]
    function = ToolFunction.of(tools[0]) if len(tools) == 1 else None

    def read(given: dict[str, Any]) -> EncodedValue:
        if function is None:
            return EncodedValue(given)
        written = function.write(function.read(given))
        # The framework reads it once more when it runs.
        if function.write(function.read(given)) != written:
            raise InputError("its types make something else of it each time")
        return written

    return read


async def run_guarded(
    app: AgentApp, agent: Agent[Any], given: Any, *, session_id: str = DEFAULT_SESSION, **more: Any
) -> RunResult:
    """Run an agent to its end, deciding each call that it stops for, and each handoff.

    A tool that runs here and does not stop a run for every call raises `ConfigError`: it would run without a decision.
    """
    _refuse_undecided(agent, set())
    session, agent = app.session(session_id), guard_handoffs(app, agent, session_id=session_id)
    result = await Runner.run(agent, given, **more)
    for _ in range(MOST_PAUSES):
        if not result.interruptions:
            return result
        state, running = await _settle(app, result, session_id)
        try:
            result = await Runner.run(agent, state, **more)
        except BaseException as error:  # a run that is aborted has ended too
            failed = error if isinstance(error, Exception) else ToolFailedError("the call was aborted")
            for called, name in running.items():
                session.note_result(name, called, error=failed)
            raise
        for item in result.new_items:
            call_id = _call_id(item.raw_item) if isinstance(item, ToolCallOutputItem) else None
            if call_id is not None and call_id in running:
                session.note_result(running.pop(call_id), call_id)
    return result


def _refuse_undecided(agent: Any, seen: set[int]) -> None:
    """See to it that every tool stops the run, or is decided in its middle; so too of agents it passes on to."""
    if id(agent) in seen:
        return
    seen.add(id(agent))
    if not isinstance(agent, Agent):
        raise ConfigError("an agent that this one hands over to cannot be known: its tools would run undecided")
    if getattr(agent, "capabilities", None):
        raise ConfigError(f"the capabilities of `{agent.name}` bring tools that would run undecided")
    for tool in agent.tools:
        if getattr(tool, "needs_approval", None) is not True and not _is_hosted(tool) and not _is_guarded(tool):
            raise ConfigError(f"`{tool.name}` has neither needs_approval=True nor a guard (see guard_tools)")
        _refuse_undecided_in(tool, seen)
    for server in agent.mcp_servers:
        if not _stops_for_every_call(server):
            raise ConfigError(f'`{server.name}` has neither require_approval="always" nor `assent mcp` before it')
    for other in agent.handoffs:
        _refuse_undecided(_next_agent(other), seen)


def _refuse_undecided_in(tool: Tool, seen: set[int]) -> None:
    """Look at the agent that a tool is made of (`as_tool`): what it does is not decided by that tool's decision."""
    if not getattr(tool, "_is_agent_tool", False):
        return
    agent = getattr(tool, "_agent_instance", None)
    _refuse_undecided(agent, seen)
    if not all(isinstance(each, GuardedHandoff) for each in getattr(agent, "handoffs", ())):
        raise ConfigError(f"`{tool.name}` is an agent whose handoffs are not decided (see guard_handoffs)")


def _next_agent(other: Any) -> Any:
    """Return the agent that is handed over to; None if whoever made that does not say."""
    if not isinstance(other, Handoff):
        return other
    known = getattr(other, "_agent_ref", None)
    return None if known is None else known()


def _stops_for_every_call(server: Any) -> bool:
    """Tell whether a run stops for every tool of an MCP server, or Assent stands before it."""
    start = getattr(server, "params", None)
    command, args = getattr(start, "command", ""), getattr(start, "args", None) or ()
    guarded = os.path.basename(str(command)) == "assent" and tuple(args[:1]) == ("mcp",)  # noqa: PTH119 - a word
    return guarded or getattr(server, "_needs_approval_policy", None) is True


def _is_guarded(tool: Tool) -> bool:
    guardrails = tool.tool_input_guardrails if isinstance(tool, FunctionTool) else None
    return any(guardrail.name == _NAME for guardrail in guardrails or ())


def _call_id(item: Any) -> str | None:
    if isinstance(item, dict):
        return item.get("call_id") or item.get("id")
    return getattr(item, "call_id", None) or getattr(item, "id", None)


async def _check(
    session: AgentSession, name: str, arguments: str | None, call_id: str | None, read: Read = EncodedValue
) -> str | None:
    """Return why a call may not run; None if it may, exactly as it was read."""
    if arguments is None:  # a shell's lines, a patch: they stand elsewhere in the call, and nobody would read them
        return session.refuse_input(name, call_id, InputError("its calls cannot be read")).reason
    try:
        given = json.loads(arguments or "{}")
        if not isinstance(given, dict):
            raise InputError("it must be an object")  # noqa: TRY301 - what is no input has one end
        written = read(given)
    except InputError as error:
        return session.refuse_input(name, call_id, error).reason
    except (ValueError, RecursionError):
        return session.refuse_input(name, call_id, InputError("it is not JSON")).reason
    judgement, taken = await session.decide(name, written.plain, tool_call_id=call_id, secret=written.secrets)
    if not judgement.allowed:
        return denial_text(name, judgement)
    return None if taken == written.plain else _ask_for(name, taken, judgement)


def _ask_for(name: str, taken: dict[str, Any], judgement: BackendDecision) -> str:
    """Have the model make the call that was approved: a guardrail cannot change an input."""
    said = f" ({judgement.feedback})" if judgement.feedback else ""
    return f"Not run as it was asked{said}. Call {name} again with exactly this input: {json.dumps(taken)}"
