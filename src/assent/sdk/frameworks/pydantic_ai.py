"""Pydantic AI: a capability that has every function tool decided before it runs, and answers for deferred calls."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any
from weakref import WeakKeyDictionary

from pydantic_ai import DeferredToolRequests, DeferredToolResults, RunContext, ToolApproved, ToolDenied
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, SkipToolExecution, ToolFailed
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.output import OutputContext
from pydantic_ai.tools import ToolDefinition
from pydantic_core import to_jsonable_python

from assent.sdk.sessions.app import DEFAULT_SESSION, AgentApp
from assent.sdk.sessions.results import ToolFailedError, denial_text
from assent.sdk.sessions.session import AgentSession
from assent.sdk.tools.json_schema import InputError
from assent.sdk.tools.json_values import write_out
from assent.sdk.tools.tool import complain

_SETTLED: WeakKeyDictionary[AgentSession, dict[str, Any]] = WeakKeyDictionary()
"""What was decided about a session's deferred calls that did not run yet, by the ids of the calls."""


class _NotAllowed(ToolFailed):
    """The call was never made."""


class _NotProcessed(ModelRetry):
    """The output function was never called."""


class AssentCapability(AbstractCapability[Any]):
    """Decides what every other capability has made of a call, wherever it stands in `Agent(capabilities=[…])`.

    A call that may not run is a failed result for the model.
    """

    def __init__(self, app: AgentApp, *, session_id: str = DEFAULT_SESSION) -> None:
        super().__init__()
        self._app = app
        self._session_id = session_id

    def get_ordering(self) -> CapabilityOrdering:
        """Come last, so that nothing changes a call after it was decided."""
        return CapabilityOrdering(position="innermost")

    async def before_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        """Decide one call; the tool runs with exactly the input that was decided about."""
        session, name, call_id = self._app.session(self._session_id), tool_def.name, call.tool_call_id
        try:
            written = write_out(args, to_jsonable_python)
        except InputError as error:
            raise _NotAllowed(session.refuse_input(name, call_id, error).reason) from None
        if ctx.tool_call_approved and _SETTLED.get(session, {}).pop(call_id, None) == written.plain:
            return args  # decided already, by `answer_deferred`, and just so
        judgement, given = await session.decide(name, written.plain, tool_call_id=call_id, secret=written.secrets)
        if not judgement.allowed:
            raise _NotAllowed(denial_text(name, judgement))
        if given == written.plain:
            return args  # as the framework validated it
        try:
            return _validate(ctx, name, given)
        except InputError as error:
            session.note_result(name, call_id, error=error)
            raise _NotAllowed(str(error)) from None

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Awaitable[Any]],
    ) -> Any:
        """Write down what became of a call that ran."""
        del ctx
        session = self._app.session(self._session_id)
        try:
            result = await handler(args)
        except (_NotAllowed, SkipToolExecution, CallDeferred, ApprovalRequired):
            raise
        except BaseException as error:  # a call that is aborted has ended too
            failed = error if isinstance(error, Exception) else ToolFailedError("the call was aborted")
            session.note_result(tool_def.name, call.tool_call_id, error=failed)
            raise
        session.note_result(tool_def.name, call.tool_call_id)
        return result

    async def before_output_process(self, ctx: RunContext[Any], *, output_context: OutputContext, output: Any) -> Any:
        """Decide the call of an output function by its name, as that of a tool; a model that is refused tries again."""
        del ctx
        if not output_context.has_function:
            return output
        session, (name, call_id) = self._app.session(self._session_id), _output_call(output_context)
        try:
            written = write_out(_output_input(output_context, output), to_jsonable_python)
        except InputError as error:
            raise _NotProcessed(session.refuse_input(name, call_id, error).reason) from None
        judgement, given = await session.decide(name, written.plain, tool_call_id=call_id, secret=written.secrets)
        if not judgement.allowed:
            raise _NotProcessed(denial_text(name, judgement))
        if given != written.plain:
            raise _NotProcessed(f"Not run as it was asked. Answer again with exactly this input: {json.dumps(given)}")
        return output

    async def wrap_output_process(
        self,
        ctx: RunContext[Any],
        *,
        output_context: OutputContext,
        output: Any,
        handler: Callable[[Any], Awaitable[Any]],
    ) -> Any:
        """Write down what became of an output function that ran."""
        del ctx
        if not output_context.has_function:
            return await handler(output)
        session, (name, call_id) = self._app.session(self._session_id), _output_call(output_context)
        try:
            result = await handler(output)
        except _NotProcessed:
            raise
        except BaseException as error:  # a call that is aborted has ended too
            failed = error if isinstance(error, Exception) else ToolFailedError("the call was aborted")
            session.note_result(name, call_id or "", error=failed)
            raise
        session.note_result(name, call_id or "")
        return result


def _output_call(about: OutputContext) -> tuple[str, str | None]:
    """Return how the call of an output function goes: by its own name, or that of its tool where that is not known."""
    call, made = about.tool_call, about.tool_def
    return about.function_name or ("output" if made is None else made.name), None if call is None else call.tool_call_id


def _output_input(about: OutputContext, output: Any) -> dict[str, Any]:
    """Return what an output function gets, by the names of its parameters."""
    if isinstance(output, dict):
        return output
    names = list((about.object_def.json_schema if about.object_def is not None else {}).get("properties", {}))
    return {names[0] if len(names) == 1 else "output": output}


def _validate(ctx: RunContext[Any], name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Have the tool's types read what somebody changed, or raise `InputError` if they make something else of it."""
    tools = {} if ctx.tool_manager is None else ctx.tool_manager.tools or {}
    if name not in tools:
        return given
    try:
        validator, context = tools[name].args_validator, ctx.validation_context
        args: dict[str, Any] = validator.validate_python(given, context=context, by_alias=True, by_name=True)
    except ValueError as error:
        raise InputError(f"the changed input does not fit: {complain(error)}") from None
    if write_out(args, to_jsonable_python).plain != given:
        raise InputError("what the tool makes of the changed input is not what was approved")
    return args


async def answer_deferred(
    app: AgentApp, requests: DeferredToolRequests, *, session_id: str = DEFAULT_SESSION
) -> DeferredToolResults:
    """Decide the calls of tools with `requires_approval=True`, at which a run has ended, so that it can be resumed."""
    results = DeferredToolResults()
    session = app.session(session_id)
    for call in requests.approvals:
        plain = call.args_as_dict()
        judgement, given = await session.decide(call.tool_name, plain, tool_call_id=call.tool_call_id)
        if judgement.allowed:
            _SETTLED.setdefault(session, {})[call.tool_call_id] = given
        if not judgement.allowed:
            results.approvals[call.tool_call_id] = ToolDenied(denial_text(call.tool_name, judgement))
        else:
            changed = None if given == plain else given
            results.approvals[call.tool_call_id] = ToolApproved(override_args=changed)
    return results
