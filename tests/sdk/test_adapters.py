"""Each framework as it is installed, with a scripted model: what may not run does not run, and the model hears why."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from agents.models.interface import Model
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool as langchain_tool
from langgraph.prebuilt import ToolNode
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from pydantic import BaseModel
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import DeferredToolRequests, ToolReturnPart
from pydantic_ai.messages import ModelResponse as PydanticResponse
from pydantic_ai.messages import TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from agents import Agent as OpenAiAgent
from agents import ModelResponse, RunConfig, Runner, Usage, function_tool
from assent import create_agent_app, parse_rules
from assent.model import ALLOW, Answer
from assent.sdk.langchain import AssentMiddleware
from assent.sdk.openai_agents import guard_tools, run_guarded
from assent.sdk.pydantic_ai import AssentCapability, answer_deferred
from keeping import soon

RAN: list[str] = []
POLICY = {"deny": parse_rules(["remove(/etc/**)"]), "ask": parse_rules(["remove(/srv/**)"])}


class Person:
    """Answers as it is told, and changes the input if it is told to."""

    def __init__(self, say="approved") -> None:
        self.say = say
        self.app = None
        self.changed = None

    async def request_approval(self, *, signal, **about):
        if self.changed is None:
            return self.say
        session = self.app.session()
        await soon(lambda: session.waiting)
        (question,) = await session.pending()
        await self.app.judge.answer(question, Answer(verdict=ALLOW, modified_input=self.changed), session.user)
        await signal.wait()
        return "rejected"


@pytest.fixture
def person():
    return Person()


@pytest.fixture
def app(person):
    RAN.clear()
    with create_agent_app(permission_policy=POLICY, approval_handler=person) as made:
        person.app = made
        yield made


def recorded(app):
    app.judge._log._store.write(app.judge._log._write_notes).result()
    return [row[0] for row in app.judge.store.fetch("SELECT type FROM events ORDER BY position")]


def remove(path: str) -> str:
    """Remove a file."""
    RAN.append(path)
    return f"removed {path}"


class Scripted(FakeMessagesListChatModel):
    def bind_tools(self, tools, **_):
        return self


def ask_langchain(app, path, *, is_async):
    call = {"name": "remove", "args": {"path": path}, "id": "call-1", "type": "tool_call"}
    model = Scripted(responses=[AIMessage("", tool_calls=[call]), AIMessage("done")])
    agent = create_agent(model, [langchain_tool(remove)], middleware=[AssentMiddleware(app)])
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


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("ask", [ask_langchain, ask_tool_node], ids=["agent", "tool node"])
def test_langchain(app, person, ask, is_async):
    assert ask(app, "/tmp/a", is_async=is_async).content == "removed /tmp/a"
    refused = ask(app, "/etc/passwd", is_async=is_async)
    assert (refused.status, "denied by remove(/etc/**)" in refused.content) == ("error", True)
    assert ask(app, "/srv/a", is_async=is_async).content == "removed /srv/a"
    person.say = "rejected"
    assert ask(app, "/srv/b", is_async=is_async).status == "error"
    person.changed = {"path": "/srv/other"}
    assert ask(app, "/srv/c", is_async=is_async).content == "removed /srv/other"
    assert RAN == ["/tmp/a", "/srv/a", "/srv/other"]
    assert recorded(app).count("tool.result") == 3


class ScriptedModel(Model):
    """Calls a tool, then says what came back."""

    def __init__(self, *inputs) -> None:
        self.inputs = list(inputs)
        self.heard: list = []

    async def get_response(self, system_instructions, input, *_, **__):  # noqa: A002 - as it is called
        if isinstance(input, list):
            self.heard = [i["output"] for i in input if i.get("type") == "function_call_output"]
        if self.inputs:
            call = ResponseFunctionToolCall(
                name="remove", arguments=self.inputs.pop(0), call_id=f"c{len(self.heard)}", type="function_call", id="x"
            )
            return ModelResponse(output=[call], usage=Usage(), response_id=None)
        said = ResponseOutputText(text="done", type="output_text", annotations=[])
        message = ResponseOutputMessage(id="m", role="assistant", status="completed", type="message", content=[said])
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *_, **__):
        raise NotImplementedError


QUIET = RunConfig(tracing_disabled=True)
PATHS = ['{"path": "/tmp/a"}', '{"path": "/etc/passwd"}', '{"path": "/srv/a"}', "[]", "{"]


def test_openai_agents_guardrail(app, person):
    model = ScriptedModel(*PATHS[:3])
    agent = OpenAiAgent(name="a", model=model, tools=guard_tools(app, [function_tool(remove)]))
    asyncio.run(Runner.run(agent, "go", run_config=QUIET))
    assert model.heard[0] == "removed /tmp/a"
    assert "denied by remove(/etc/**)" in model.heard[1]
    assert model.heard[2] == "removed /srv/a"
    person.changed = {"path": "/srv/other"}
    model = ScriptedModel('{"path": "/srv/b"}')
    agent.model = model
    asyncio.run(Runner.run(agent, "go", run_config=QUIET))
    assert 'again with exactly this input: {"path": "/srv/other"}' in model.heard[0]
    assert RAN == ["/tmp/a", "/srv/a"]
    assert recorded(app).count("tool.result") == 2


def test_openai_agents_interruptions(app, person):
    model = ScriptedModel(*PATHS[:3])
    agent = OpenAiAgent(name="a", model=model, tools=[function_tool(remove, needs_approval=True)])
    result = asyncio.run(run_guarded(app, agent, "go", run_config=QUIET))
    assert result.final_output == "done"
    assert model.heard[0] == "removed /tmp/a"
    assert "denied by remove(/etc/**)" in model.heard[1]
    assert model.heard[2] == "removed /srv/a"
    person.say = "rejected"
    model.inputs = ['{"path": "/srv/b"}']
    asyncio.run(run_guarded(app, agent, "go", run_config=QUIET))
    assert RAN == ["/tmp/a", "/srv/a"]
    assert recorded(app).count("tool.result") == 2


def test_openai_agents_input_that_is_none_does_not_run(app):
    from assent.sdk.openai_agents import _check

    for arguments in PATHS[3:]:
        assert "Invalid input" in asyncio.run(_check(app, "default", "remove", arguments, "c"))
    assert RAN == []


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


def test_pydantic_ai_capability(app, person):
    agent = PydanticAgent(
        pydantic_model("/tmp/a", "/etc/passwd", "/srv/a"), tools=[remove], capabilities=[AssentCapability(app)]
    )
    said = returned(asyncio.run(agent.run("go")))
    assert said[0] == "removed /tmp/a"
    assert "denied by remove(/etc/**)" in said[1]
    assert said[2] == "removed /srv/a"
    person.changed = {"path": "/srv/other"}
    agent = PydanticAgent(pydantic_model("/srv/b"), tools=[remove], capabilities=[AssentCapability(app)])
    assert returned(asyncio.run(agent.run("go"))) == ["removed /srv/other"]
    assert RAN == ["/tmp/a", "/srv/a", "/srv/other"]
    assert recorded(app).count("tool.result") == 3


class Where(BaseModel):
    path: str


def remove_there(where: Where) -> str:
    """Remove a file."""
    RAN.append(where.path)
    if where.path == "/tmp/broken":
        raise ValueError("it is stuck")
    return "removed"


def test_pydantic_ai_decides_about_what_a_hook_made_of_a_call_and_runs_exactly_that(person):
    RAN.clear()
    hook = lambda name, given: {"input": {"path": "/tmp/other"}} if given["path"] == "/tmp/a" else None  # noqa: E731
    with create_agent_app(permission_policy=POLICY, approval_handler=person, hooks=[hook]) as made:
        agent = PydanticAgent(pydantic_model("/tmp/a"), tools=[remove], capabilities=[AssentCapability(made)])
        assert returned(asyncio.run(agent.run("go"))) == ["removed /tmp/other"]
    assert RAN == ["/tmp/other"]


def test_pydantic_ai_arguments_of_the_frameworks_own_types_are_decided_about_as_json(app):
    def model(path):
        def respond(messages, info):
            if len(messages) == 1:
                return PydanticResponse(parts=[ToolCallPart("remove_there", {"where": {"path": path}})])
            return PydanticResponse(parts=[TextPart("done")])

        return FunctionModel(respond)

    for path in ("/tmp/a", "/tmp/broken"):
        agent = PydanticAgent(model(path), tools=[remove_there], capabilities=[AssentCapability(app)])
        with contextlib.suppress(ValueError):
            assert returned(asyncio.run(agent.run("go"))) == ["removed"]
    assert RAN == ["/tmp/a", "/tmp/broken"]
    assert [kind for kind in recorded(app) if kind.startswith("tool.")] == [
        "tool.started", "tool.result", "tool.started", "tool.failed",
    ]  # fmt: skip


def test_pydantic_ai_deferred_calls(app, person):
    agent = PydanticAgent(pydantic_model("/srv/a"), output_type=[str, DeferredToolRequests])
    agent.tool_plain(remove, requires_approval=True)

    def ask(path):
        with agent.override(model=pydantic_model(path)):
            first = asyncio.run(agent.run("go"))
            results = asyncio.run(answer_deferred(app, first.output))
            return returned(asyncio.run(agent.run(message_history=first.all_messages(), deferred_tool_results=results)))

    assert ask("/srv/a") == ["removed /srv/a"]
    assert "denied by remove(/etc/**)" in ask("/etc/passwd")[0]
    person.say = "rejected"
    assert "removed" not in ask("/srv/b")[0]
    assert RAN == ["/srv/a"]
