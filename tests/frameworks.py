"""The frameworks that the adapters are for, as installed, each with a scripted model. To import them takes long."""

from __future__ import annotations

import asyncio
from typing import Annotated

from agents.models.interface import Model
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId
from langchain_core.tools import tool as langchain_tool
from langgraph.prebuilt import InjectedState, ToolNode
from openai.types.responses import (
    ResponseFunctionShellToolCall,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from pydantic import BaseModel, BeforeValidator, SecretStr, field_validator
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import DeferredToolRequests, ToolReturnPart
from pydantic_ai import Tool as PydanticTool
from pydantic_ai.messages import ModelResponse as PydanticResponse
from pydantic_ai.messages import TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from agents import Agent as OpenAiAgent
from agents import ModelResponse, RunConfig, RunContextWrapper, Runner, Usage, function_tool
from assent.sdk.frameworks.langchain import AssentMiddleware
from assent.sdk.frameworks.openai_agents import guard_handoffs, guard_tools, run_guarded
from assent.sdk.frameworks.pydantic_ai import AssentCapability, answer_deferred

__all__ = [
    "AssentCapability",
    "DeferredToolRequests",
    "OpenAiAgent",
    "PydanticAgent",
    "PydanticTool",
    "Runner",
    "answer_deferred",
    "function_tool",
    "guard_handoffs",
    "guard_tools",
    "run_guarded",
]

RAN: list[str] = []


def remove(path: str) -> str:
    """Remove a file."""
    RAN.append(path)
    return f"removed {path}"


class Scripted(FakeMessagesListChatModel):
    def bind_tools(self, tools, **_):
        return self


class Below(BaseModel):
    """Makes something else of a path, and of some another thing each time that it reads them."""

    path: str
    pin: SecretStr = SecretStr("0000")

    @field_validator("path")
    @classmethod
    def put_below(cls, path: str) -> str:
        READ.append(path)
        return {"passwd": "/etc/passwd", "odd": f"/tmp/{len(READ)}"}.get(path, path)


class Counting(BaseTool):
    """A tool of its own kind: with a state, and with what the framework gives it besides."""

    name: str = "remove"
    description: str = "Remove a file."
    args_schema: type[BaseModel] = Below
    count: int = 0

    def _run(self, path: str, pin: SecretStr) -> str:
        self.count += 1
        assert isinstance(pin, SecretStr)
        return remove(path)


def remove_here(
    path: str, state: Annotated[dict, InjectedState], tool_call_id: Annotated[str, InjectedToolCallId]
) -> str:
    """Remove a file."""
    assert (state["messages"], tool_call_id) != ([], "")
    return remove(path)


READ: list[str] = []


def read_path(path: str) -> str:
    """As `Below` does."""
    READ.append(path)
    return {"passwd": "/etc/passwd", "odd": f"/tmp/{len(READ)}"}.get(path, path)


def remove_read(path: Annotated[str, BeforeValidator(read_path)]) -> str:
    """Remove a file."""
    return remove(path)


async def remove_by_default(context: RunContextWrapper, path: str = "/etc/shadow") -> str:
    """Remove a file."""
    return remove(path)


def remove_plainly(path: str = "/etc/shadow") -> str:
    """Remove a file."""
    return remove(path)


LANGCHAIN_TOOLS = {
    "a function": lambda: langchain_tool("remove", args_schema=Below)(lambda path, pin: remove(path)),
    "a class": Counting,
}


def ask_langchain(app, path, *, is_async, tool=None):
    call = {"name": "remove", "args": {} if path is None else {"path": path}, "id": "call-1", "type": "tool_call"}
    model = Scripted(responses=[AIMessage("", tool_calls=[call]), AIMessage("done")])
    agent = create_agent(model, [tool or langchain_tool(remove)], middleware=[AssentMiddleware(app)])
    given = {"messages": [("user", "go")]}
    found = asyncio.run(agent.ainvoke(given)) if is_async else agent.invoke(given)
    return next(m for m in found["messages"] if isinstance(m, ToolMessage))


def ask_tool_node(app, path, *, is_async):
    call = {"name": "remove", "args": {"path": path}, "id": "call-1", "type": "tool_call"}
    guard = AssentMiddleware(app)
    node = ToolNode(
        [langchain_tool(remove)], wrap_tool_call=guard.wrap_tool_call, awrap_tool_call=guard.awrap_tool_call
    )
    from langgraph.graph import END, START, MessagesState, StateGraph

    graph = StateGraph(MessagesState)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    given = {"messages": [AIMessage("", tool_calls=[call])]}
    compiled = graph.compile()
    found = asyncio.run(compiled.ainvoke(given)) if is_async else compiled.invoke(given)
    return found["messages"][-1]


class ScriptedModel(Model):
    """Calls a tool, then says what came back."""

    def __init__(self, *inputs, same_id=False) -> None:
        self.inputs = list(inputs)
        self.heard: list = []
        self.same_id = same_id

    async def get_response(self, system_instructions, input, *_, **__):  # noqa: A002 - as it is called
        if isinstance(input, list):
            self.heard = [i["output"] for i in input if i.get("type", "").endswith("_call_output")]
        if self.inputs:
            call_id = "same" if self.same_id else f"c{len(self.heard)}"
            return ModelResponse(output=[self.make_call(self.inputs.pop(0), call_id)], usage=Usage(), response_id=None)
        said = ResponseOutputText(text="done", type="output_text", annotations=[])
        message = ResponseOutputMessage(id="m", role="assistant", status="completed", type="message", content=[said])
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def make_call(self, given, call_id):
        return ResponseFunctionToolCall(name="remove", arguments=given, call_id=call_id, type="function_call", id="x")

    def stream_response(self, *_, **__):
        raise NotImplementedError


class ScriptedShell(ScriptedModel):
    """Calls a shell."""

    def make_call(self, given, call_id):
        action = {"commands": [given], "timeout_ms": None, "max_output_length": None}
        return ResponseFunctionShellToolCall(
            action=action, call_id=call_id, type="shell_call", id="x", status="completed", environment=None
        )


class ScriptedHandoff(ScriptedModel):
    """Hands over to another agent."""

    def __init__(self, *inputs, name="remove") -> None:
        super().__init__(*inputs)
        self.name = name

    def make_call(self, given, call_id):
        return ResponseFunctionToolCall(name=self.name, arguments=given, call_id=call_id, type="function_call", id="x")


QUIET = RunConfig(tracing_disabled=True)


def pydantic_model(*paths):
    left = list(paths)

    def respond(messages, info):
        if left:
            return PydanticResponse(parts=[ToolCallPart("remove", {"path": left.pop(0)})])
        return PydanticResponse(parts=[TextPart("done")])

    return FunctionModel(respond)


def returned(result):
    parts = [p for m in result.all_messages() for p in m.parts if isinstance(p, ToolReturnPart)]
    return [str(p.content) for p in parts]


class Where(BaseModel):
    path: str


def remove_there(where: Where) -> str:
    """Remove a file."""
    RAN.append(where.path)
    if where.path == "/tmp/broken":
        raise ValueError("it is stuck")
    return "removed"
