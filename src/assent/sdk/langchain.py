"""LangChain and LangGraph: a middleware that has every tool call of an agent decided before it runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware.types import AgentMiddleware, ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph.types import Command

from assent.sdk.apps import DEFAULT_SESSION, AgentApp
from assent.sdk.judges import Judgement
from assent.sdk.sessions import AgentSession, ToolFailedError, denial_text


class AssentMiddleware(AgentMiddleware[Any, Any, Any]):
    """Put it last in `create_agent(middleware=[…])`, so that nothing changes a call after it was decided.

    For a `ToolNode`, pass its two methods. A thread of the graph is a session; a call that may not run is an error
    message for the model.
    """

    def __init__(self, app: AgentApp, *, session_id: str = DEFAULT_SESSION) -> None:
        super().__init__()
        self._app = app
        self._session_id = session_id

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Decide one call, then run it or not."""
        session, call = self._session(request), request.tool_call
        judgement, given = self._app.wait_for(_decide(session, request))
        if not judgement.allowed:
            return _refuse(request, judgement)
        try:
            result = handler(_with(request, given))
        except Exception as error:
            session.note_result(call["name"], call["id"] or "", error=error)
            raise
        session.note_result(call["name"], call["id"] or "", error=_fault_of(result))
        return result

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """Decide one call, then run it or not."""
        session, call = self._session(request), request.tool_call
        judgement, given = await _decide(session, request)
        if not judgement.allowed:
            return _refuse(request, judgement)
        try:
            result = await handler(_with(request, given))
        except Exception as error:
            session.note_result(call["name"], call["id"] or "", error=error)
            raise
        session.note_result(call["name"], call["id"] or "", error=_fault_of(result))
        return result

    def _session(self, request: ToolCallRequest) -> AgentSession:
        config: Any = getattr(request.runtime, "config", None) or {}
        thread = config.get("configurable", {}).get("thread_id")
        return self._app.session(str(thread) if thread else self._session_id)


async def _decide(session: AgentSession, request: ToolCallRequest) -> tuple[Judgement, dict[str, Any]]:
    call = request.tool_call
    return await session.decide(call["name"], call["args"], tool_call_id=call["id"])


def _with(request: ToolCallRequest, given: dict[str, Any]) -> ToolCallRequest:
    """Return the request with exactly the input that was decided about."""
    return request.override(tool_call={**request.tool_call, "args": given})


def _fault_of(result: Any) -> Exception | None:
    """Return what a tool, or the check of its input, failed with: the framework may have made a message of it."""
    failed = isinstance(result, ToolMessage) and result.status == "error"
    return ToolFailedError(str(result.content)) if failed else None


def _refuse(request: ToolCallRequest, judgement: Judgement) -> ToolMessage:
    call = request.tool_call
    text = denial_text(call["name"], judgement)
    return ToolMessage(content=text, tool_call_id=call["id"] or "", name=call["name"], status="error")
