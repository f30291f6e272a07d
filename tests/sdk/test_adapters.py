"""Each framework as it is installed, with a scripted model: what may not run does not run, and the model hears why."""

from __future__ import annotations

import asyncio
import contextlib
import json

import pytest

from assent import create_agent_app, parse_rules
from assent.model import ALLOW, Answer, ConfigError
from keeping import soon

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


@pytest.fixture(scope="module")
def frameworks():
    """What is tested, loaded by who runs the tests and not by everybody who collects them."""
    import frameworks as loaded

    return loaded


@pytest.fixture
def person():
    return Person()


@pytest.fixture
def app(frameworks, person):
    frameworks.RAN.clear()
    with create_agent_app(permission_policy=POLICY, approval_handler=person) as made:
        person.app = made
        yield made


def recorded(app):
    app.judge._log._store.write(app.judge._log._write_notes).result()
    return [row[0] for row in app.judge.store.fetch("SELECT type FROM events ORDER BY position")]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("ask", ["ask_langchain", "ask_tool_node"], ids=["agent", "tool node"])
def test_langchain(frameworks, app, person, ask, is_async):
    ask = getattr(frameworks, ask)
    assert ask(app, "/tmp/a", is_async=is_async).content == "removed /tmp/a"
    refused = ask(app, "/etc/passwd", is_async=is_async)
    assert (refused.status, "denied by remove(/etc/**)" in refused.content) == ("error", True)
    assert ask(app, "/srv/a", is_async=is_async).content == "removed /srv/a"
    person.say = "rejected"
    assert ask(app, "/srv/b", is_async=is_async).status == "error"
    person.changed = {"path": "/srv/other"}
    assert ask(app, "/srv/c", is_async=is_async).content == "removed /srv/other"
    assert frameworks.RAN == ["/tmp/a", "/srv/a", "/srv/other"]
    assert recorded(app).count("tool.result") == 3


PATHS = ['{"path": "/tmp/a"}', '{"path": "/etc/passwd"}', '{"path": "/srv/a"}', "[]", "{"]


def test_openai_agents_guardrail(frameworks, app, person):
    model = frameworks.ScriptedModel(*PATHS[:3])
    agent = frameworks.OpenAiAgent(
        name="a", model=model, tools=frameworks.guard_tools(app, [frameworks.function_tool(frameworks.remove)])
    )
    asyncio.run(frameworks.Runner.run(agent, "go", run_config=frameworks.QUIET))
    assert model.heard[0] == "removed /tmp/a"
    assert "denied by remove(/etc/**)" in model.heard[1]
    assert model.heard[2] == "removed /srv/a"
    person.changed = {"path": "/srv/other"}
    model = frameworks.ScriptedModel('{"path": "/srv/b"}')
    agent.model = model
    asyncio.run(frameworks.Runner.run(agent, "go", run_config=frameworks.QUIET))
    assert 'again with exactly this input: {"path": "/srv/other"}' in model.heard[0]
    assert frameworks.RAN == ["/tmp/a", "/srv/a"]
    assert recorded(app).count("tool.result") == 2


def test_openai_agents_interruptions(frameworks, app, person):
    model = frameworks.ScriptedModel(*PATHS[:3])
    agent = frameworks.OpenAiAgent(
        name="a", model=model, tools=[frameworks.function_tool(frameworks.remove, needs_approval=True)]
    )
    result = asyncio.run(frameworks.run_guarded(app, agent, "go", run_config=frameworks.QUIET))
    assert result.final_output == "done"
    assert model.heard[0] == "removed /tmp/a"
    assert "denied by remove(/etc/**)" in model.heard[1]
    assert model.heard[2] == "removed /srv/a"
    person.say = "rejected"
    model.inputs = ['{"path": "/srv/b"}']
    asyncio.run(frameworks.run_guarded(app, agent, "go", run_config=frameworks.QUIET))
    assert frameworks.RAN == ["/tmp/a", "/srv/a"]
    assert recorded(app).count("tool.result") == 2


def test_openai_agents_input_that_is_none_does_not_run(frameworks, app):
    from assent.sdk.openai_agents import _check

    for arguments in PATHS[3:]:
        assert "Invalid input" in asyncio.run(_check(app, "default", "remove", arguments, "c"))
    assert frameworks.RAN == []


def test_openai_agents_tools_that_run_here_and_take_no_guardrail_are_refused(frameworks, app):
    from agents import ApplyPatchTool, LocalShellTool, ShellTool, WebSearchTool

    hosted = [WebSearchTool(), ShellTool(environment={"type": "container_auto"})]
    assert frameworks.guard_tools(app, hosted) == hosted
    for local in (ShellTool(executor=frameworks.remove), LocalShellTool(frameworks.remove), ApplyPatchTool(None)):
        with pytest.raises(ConfigError, match="takes no guardrail"):
            frameworks.guard_tools(app, [local])


def test_openai_agents_calls_whose_input_stands_elsewhere_are_rejected(frameworks, app):
    from agents import ShellTool

    tool = ShellTool(executor=lambda request: frameworks.remove("x"), needs_approval=True)
    model = frameworks.ScriptedShell("rm -rf /srv")
    agent = frameworks.OpenAiAgent(name="a", model=model, tools=[tool])
    asyncio.run(frameworks.run_guarded(app, agent, "go", run_config=frameworks.QUIET))
    assert "can not be read" in str(model.heard)
    assert frameworks.RAN == []


def test_openai_agents_an_approval_is_not_used_for_another_call_by_the_same_id(frameworks, app):
    model = frameworks.ScriptedModel('{"path": "/tmp/a"}', '{"path": "/etc/passwd"}', same_id=True)
    agent = frameworks.OpenAiAgent(
        name="a", model=model, tools=[frameworks.function_tool(frameworks.remove, needs_approval=True)]
    )
    with contextlib.suppress(Exception):  # the framework may well refuse it
        asyncio.run(frameworks.run_guarded(app, agent, "go", run_config=frameworks.QUIET))
    assert frameworks.RAN == ["/tmp/a"]


def test_langchain_a_call_that_its_tool_does_not_take_is_on_record_as_failed(frameworks, app):
    assert frameworks.ask_langchain(app, ["/tmp/a"], is_async=False).status == "error"
    assert frameworks.RAN == []
    assert [kind for kind in recorded(app) if kind in ("tool.result", "tool.failed")] == ["tool.failed"]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("kind", ["a function", "a class"])
def test_langchain_a_call_is_decided_as_its_schema_has_made_it_and_runs_as_just_that(
    frameworks, app, person, kind, is_async
):
    frameworks.READ.clear()
    tool = frameworks.LANGCHAIN_TOOLS[kind]()
    refused = frameworks.ask_langchain(app, "passwd", is_async=is_async, tool=tool)
    assert (refused.status, "denied by remove(/etc/**)" in refused.content) == ("error", True)
    # Read anew, it would be another path.
    assert frameworks.ask_langchain(app, "odd", is_async=is_async, tool=tool).content == "removed /tmp/2"
    assert frameworks.READ == ["passwd", "odd"]
    person.changed = {"path": "passwd", "pin": "1"}
    assert "denied by remove(/etc/**)" in frameworks.ask_langchain(app, "/srv/a", is_async=is_async, tool=tool).content
    person.changed = {"path": "odd", "pin": "1"}
    assert frameworks.ask_langchain(app, "/srv/a", is_async=is_async, tool=tool).content == "removed /tmp/6"
    assert frameworks.RAN == ["/tmp/2", "/tmp/6"]
    if kind == "a class":
        assert tool.count == 2
    assert recorded(app).count("tool.result") == 2


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_langchain_what_the_framework_gives_a_tool_besides_is_not_decided_about(frameworks, app, is_async):
    tool = frameworks.langchain_tool("remove")(frameworks.remove_here)
    assert frameworks.ask_langchain(app, "/tmp/a", is_async=is_async, tool=tool).content == "removed /tmp/a"
    assert "denied by" in frameworks.ask_langchain(app, "/etc/a", is_async=is_async, tool=tool).content
    app.judge._log._store.write(app.judge._log._write_notes).result()
    rows = app.judge.store.fetch("SELECT body FROM events WHERE type = 'tool.started'")
    assert [json.loads(bytes(row[0]))["payload"]["args"] for row in rows] == [{"path": "/tmp/a"}]


def test_langchain_a_tool_that_can_not_be_guarded_does_not_run(frameworks, app, monkeypatch):
    from assent.sdk import langchain

    monkeypatch.setattr(langchain, "_guarded", lambda kind: None)
    assert "can not be guarded" in frameworks.ask_langchain(app, "/tmp/a", is_async=False).content
    assert frameworks.RAN == []


def test_pydantic_ai_capability(frameworks, app, person):
    agent = frameworks.PydanticAgent(
        frameworks.pydantic_model("/tmp/a", "/etc/passwd", "/srv/a"),
        tools=[frameworks.remove],
        capabilities=[frameworks.AssentCapability(app)],
    )
    said = frameworks.returned(asyncio.run(agent.run("go")))
    assert said[0] == "removed /tmp/a"
    assert "denied by remove(/etc/**)" in said[1]
    assert said[2] == "removed /srv/a"
    person.changed = {"path": "/srv/other"}
    agent = frameworks.PydanticAgent(
        frameworks.pydantic_model("/srv/b"), tools=[frameworks.remove], capabilities=[frameworks.AssentCapability(app)]
    )
    assert frameworks.returned(asyncio.run(agent.run("go"))) == ["removed /srv/other"]
    assert frameworks.RAN == ["/tmp/a", "/srv/a", "/srv/other"]
    assert recorded(app).count("tool.result") == 3


def test_pydantic_ai_decides_about_what_a_hook_made_of_a_call_and_runs_exactly_that(frameworks, person):
    frameworks.RAN.clear()
    hook = lambda name, given: {"input": {"path": "/tmp/other"}} if given["path"] == "/tmp/a" else None  # noqa: E731
    with create_agent_app(permission_policy=POLICY, approval_handler=person, hooks=[hook]) as made:
        agent = frameworks.PydanticAgent(
            frameworks.pydantic_model("/tmp/a"),
            tools=[frameworks.remove],
            capabilities=[frameworks.AssentCapability(made)],
        )
        assert frameworks.returned(asyncio.run(agent.run("go"))) == ["removed /tmp/other"]
    assert frameworks.RAN == ["/tmp/other"]


def test_pydantic_ai_arguments_of_the_frameworks_own_types_are_decided_about_as_json(frameworks, app):
    def model(path):
        def respond(messages, info):
            if len(messages) == 1:
                return frameworks.PydanticResponse(
                    parts=[frameworks.ToolCallPart("remove_there", {"where": {"path": path}})]
                )
            return frameworks.PydanticResponse(parts=[frameworks.TextPart("done")])

        return frameworks.FunctionModel(respond)

    for path in ("/tmp/a", "/tmp/broken"):
        agent = frameworks.PydanticAgent(
            model(path), tools=[frameworks.remove_there], capabilities=[frameworks.AssentCapability(app)]
        )
        with contextlib.suppress(ValueError):
            assert frameworks.returned(asyncio.run(agent.run("go"))) == ["removed"]
    assert frameworks.RAN == ["/tmp/a", "/tmp/broken"]
    assert [kind for kind in recorded(app) if kind.startswith("tool.")] == [
        "tool.started", "tool.result", "tool.started", "tool.failed",
    ]  # fmt: skip


def test_pydantic_ai_deferred_calls(frameworks, app, person):
    agent = frameworks.PydanticAgent(
        frameworks.pydantic_model("/srv/a"), output_type=[str, frameworks.DeferredToolRequests]
    )
    agent.tool_plain(frameworks.remove, requires_approval=True)

    def ask(path):
        with agent.override(model=frameworks.pydantic_model(path)):
            first = asyncio.run(agent.run("go"))
            results = asyncio.run(frameworks.answer_deferred(app, first.output))
            return frameworks.returned(
                asyncio.run(agent.run(message_history=first.all_messages(), deferred_tool_results=results))
            )

    assert ask("/srv/a") == ["removed /srv/a"]
    assert "denied by remove(/etc/**)" in ask("/etc/passwd")[0]
    person.say = "rejected"
    assert "removed" not in ask("/srv/b")[0]
    assert frameworks.RAN == ["/srv/a"]
