"""Pydantic AI: a capability that has every function tool decided before it runs, and answers for deferred calls."""

from __future__ import annotations

from typing import Any

from pydantic_ai import DeferredToolRequests, DeferredToolResults, RunContext, ToolApproved, ToolDenied
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolDefinition

from assent.sdk.apps import DEFAULT_SESSION, AgentApp
from assent.sdk.sessions import denial_text


class AssentCapability(AbstractCapability[Any]):
    """Put it into `Agent(capabilities=[…])`; a call that may not run is a failed result for the model."""

    def __init__(self, app: AgentApp, *, session_id: str = DEFAULT_SESSION) -> None:
        super().__init__()
        self._app = app
        self._session_id = session_id

    async def before_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        """Decide one call; the tool runs with exactly the input that was decided about."""
        session = self._app.session(self._session_id)
        judgement, given = await session.decide(tool_def.name, args, tool_call_id=call.tool_call_id)
        if not judgement.allowed:
            raise ToolFailed(denial_text(tool_def.name, judgement))
        del ctx
        # What was not changed stays as the framework validated it.
        return args if judgement.input is None else given

    async def after_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any], result: Any
    ) -> Any:
        """Write down that it ran."""
        del ctx, args
        self._app.session(self._session_id).note_result(tool_def.name, call.tool_call_id)
        return result


async def answer_deferred(
    app: AgentApp, requests: DeferredToolRequests, *, session_id: str = DEFAULT_SESSION
) -> DeferredToolResults:
    """Decide the calls of tools with `requires_approval=True`, at which a run has ended, so that it can be resumed."""
    results = DeferredToolResults()
    session = app.session(session_id)
    for call in requests.approvals:
        judgement, given = await session.decide(call.tool_name, call.args_as_dict(), tool_call_id=call.tool_call_id)
        if not judgement.allowed:
            results.approvals[call.tool_call_id] = ToolDenied(denial_text(call.tool_name, judgement))
        else:
            changed = None if judgement.input is None else given
            results.approvals[call.tool_call_id] = ToolApproved(override_args=changed)
    return results
