"""Each framework as it is installed, with a scripted model: what may not run does not run, and the model hears why."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import json

import pytest

from assent import create_agent_app, parse_rules
from assent.model import ALLOW, Answer, ConfigError
from assent.sdk.sessions.results import ToolFailedError
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


def ask_openai(frameworks, app, tool, *inputs):
    """Have a tool called by a run that decides in its middle, or that stops; return what the model hears."""
    model = frameworks.ScriptedModel(*inputs)
    guarded = frameworks.guard_tools(app, [tool]) if tool.needs_approval is False else [tool]
    agent = frameworks.OpenAiAgent(name="a", model=model, tools=guarded)
    asyncio.run(frameworks.run_guarded(app, agent, "go", run_config=frameworks.QUIET))
    return model.heard


@pytest.mark.parametrize("stops", [False, True], ids=["guardrail", "interruption"])
def test_openai_agents_a_call_is_decided_as_the_types_of_its_function_have_made_it(frameworks, app, stops):
    def made(function):
        return frameworks.function_tool(function, name_override="remove", strict_mode=False, needs_approval=stops)

    heard = ask_openai(frameworks, app, made(frameworks.remove_read), '{"path": "passwd"}', '{"path": "/tmp/a"}')
    assert ("denied by remove(/etc/**)" in heard[0], heard[1]) == (True, "removed /tmp/a")
    heard = ask_openai(
        frameworks, app, made(frameworks.remove_by_default), "{}", "", '{"path": "/tmp/b"}', '{"path": 1}'
    )
    assert ["denied by" in each for each in heard[:2]] == [True, True]
    assert (heard[2], "Invalid input" in heard[3]) == ("removed /tmp/b", True)
    assert frameworks.RAN == ["/tmp/a", "/tmp/b"]
    assert [kind for kind in recorded(app) if kind.startswith("tool.")] == [
        "tool.started", "tool.result", "tool.started", "tool.result", "tool.failed",
    ]  # fmt: skip


def test_openai_agents_a_function_gets_the_very_values_that_were_decided_about(frameworks, app):
    frameworks.READ.clear()
    tool = frameworks.function_tool(frameworks.remove_read, name_override="remove")
    # Read anew, as the framework does, it is another path each time.
    assert ask_openai(frameworks, app, tool, '{"path": "odd"}') == ["removed /tmp/1"]
    assert frameworks.RAN == ["/tmp/1"]
    tool = frameworks.function_tool(frameworks.remove_read, name_override="remove", needs_approval=True)
    assert "something else of it each time" in ask_openai(frameworks, app, tool, '{"path": "odd"}')[0]
    assert frameworks.RAN == ["/tmp/1"]


def test_openai_agents_a_guarded_tool_that_is_called_past_its_guardrail_does_not_run(frameworks, app):
    from agents.tool_context import ToolContext

    (tool,) = frameworks.guard_tools(app, [frameworks.function_tool(frameworks.remove)])
    given = '{"path": "/tmp/a"}'
    context = ToolContext(context=None, tool_name="remove", tool_call_id="c", tool_arguments=given)
    with pytest.raises(ToolFailedError, match="was not decided about"):
        asyncio.run(tool.on_invoke_tool(context, given))
    assert frameworks.RAN == []


def test_openai_agents_a_function_that_fails_is_on_record_as_failed_and_the_model_hears_what_its_tool_says(
    frameworks, app
):
    def fail(path: str) -> str:
        raise ValueError("it is stuck")

    told = lambda context, error: f"sorry: {error}"  # noqa: E731
    tool = frameworks.function_tool(fail, name_override="remove", failure_error_function=told)
    assert ask_openai(frameworks, app, tool, '{"path": "/tmp/a"}') == ["sorry: it is stuck"]
    for stops in (False, True):
        tool = frameworks.function_tool(fail, name_override="remove", failure_error_function=None, needs_approval=stops)
        with pytest.raises(Exception, match="stuck"):
            ask_openai(frameworks, app, tool, '{"path": "/tmp/a"}')
    assert recorded(app).count("tool.failed") == 3


def test_openai_agents_a_run_whose_tools_would_not_stop_it_does_not_begin(frameworks, app):
    async def never(context, given, call_id):
        return False

    from agents import LocalShellTool

    tools = [frameworks.function_tool(frameworks.remove, needs_approval=needed) for needed in (False, never)]
    for tool in (*tools, LocalShellTool(frameworks.remove)):
        inner = frameworks.OpenAiAgent(name="inner", model=frameworks.ScriptedModel(*PATHS[:1]), tools=[tool])
        outer = frameworks.OpenAiAgent(name="outer", model=frameworks.ScriptedModel(*PATHS[:1]), handoffs=[inner])
        for agent in (inner, outer):
            with pytest.raises(ConfigError, match="needs_approval=True"):
                asyncio.run(frameworks.run_guarded(app, agent, "go", run_config=frameworks.QUIET))
    assert frameworks.RAN == []


def test_openai_agents_what_a_run_passes_on_to_is_looked_at_too(frameworks, app):
    from agents.handoffs import Handoff
    from agents.sandbox import SandboxAgent

    from agents import Agent, handoff

    def make(*tools, **more):
        return Agent(name="inner", model=frameworks.ScriptedModel("/etc/passwd"), tools=list(tools), **more)

    async def elsewhere(context, given):
        return bad

    bad = make(frameworks.function_tool(frameworks.remove))
    good = make(*frameworks.guard_tools(app, [frameworks.function_tool(frameworks.remove)]))
    unknown = Handoff("away", "", {}, elsewhere, "inner")
    by_tool = dataclasses.replace(bad.as_tool("sub", ""), needs_approval=True)
    outer = [make(handoffs=[handoff(bad)]), make(handoffs=[unknown]), make(bad.as_tool("sub", "")), make(by_tool)]
    outer += [SandboxAgent(name="box", model=bad.model)]
    for agent in outer:
        with pytest.raises(ConfigError):
            asyncio.run(frameworks.run_guarded(app, agent, "go", run_config=frameworks.QUIET))
    with pytest.raises(ConfigError, match="needs_approval=True"):
        frameworks.guard_tools(app, [bad.as_tool("sub", "")])
    for fine in (make(handoffs=[handoff(good)]), make(*frameworks.guard_tools(app, [good.as_tool("sub", "")]))):
        _refuse(frameworks, fine)
    assert frameworks.RAN == []


def _hand_over(frameworks, *arguments, **more):
    """Make an agent whose model hands over with these arguments, and one that it hands over to."""
    from agents import handoff

    def note(context, given: frameworks.Where):
        frameworks.RAN.append(given.path)

    inner = frameworks.OpenAiAgent(name="inner", model=frameworks.ScriptedModel())
    model = frameworks.ScriptedHandoff(*arguments)
    given = handoff(inner, tool_name_override="remove", on_handoff=note, input_type=frameworks.Where, **more)
    return frameworks.OpenAiAgent(name="outer", model=model, handoffs=[given])


def test_openai_agents_a_handoff_is_decided_before_its_code_runs(frameworks, app, person):
    outer = _hand_over(frameworks, *PATHS[1:3])
    result = asyncio.run(frameworks.run_guarded(app, outer, "go", run_config=frameworks.QUIET))
    # The model that was refused hears why, and tries once more; what it then hands over to is where the run ends.
    assert "denied by remove(/etc/**)" in outer.model.heard[0]
    assert (frameworks.RAN, result.last_agent.name) == (["/srv/a"], "inner")
    person.say = "rejected"
    outer = _hand_over(frameworks, PATHS[2], input_filter=lambda data: data.clone(new_items=(), pre_handoff_items=()))
    result = asyncio.run(frameworks.run_guarded(app, outer, "go", run_config=frameworks.QUIET))
    assert (frameworks.RAN, result.last_agent.name, len(outer.model.heard)) == (["/srv/a"], "outer", 1)
    assert recorded(app).count("tool.result") == 1


def test_openai_agents_a_handoff_that_fails_is_on_record_as_failed(frameworks, app):
    from agents import handoff

    def fail(context):
        raise ValueError("it is stuck")

    inner = frameworks.OpenAiAgent(name="inner", model=frameworks.ScriptedModel())
    outer = frameworks.OpenAiAgent(
        name="outer",
        model=frameworks.ScriptedHandoff("{}"),
        handoffs=[handoff(inner, tool_name_override="remove", on_handoff=fail)],
    )
    with pytest.raises(ValueError, match="stuck"):
        asyncio.run(frameworks.run_guarded(app, outer, "go", run_config=frameworks.QUIET))
    assert recorded(app).count("tool.failed") == 1


def test_openai_agents_handing_over_to_a_bare_agent_is_decided_by_the_name_of_its_tool(frameworks):
    for rules, last in (([], "inner"), (parse_rules(["transfer_to_inner"]), "outer")):
        with create_agent_app(permission_policy={"deny": rules}) as app:
            inner = frameworks.OpenAiAgent(name="inner", model=frameworks.ScriptedModel())
            model = frameworks.ScriptedHandoff("", name="transfer_to_inner")
            outer = frameworks.OpenAiAgent(name="outer", model=model, handoffs=[inner])
            inner.handoffs = [outer]
            result = asyncio.run(frameworks.run_guarded(app, outer, "go", run_config=frameworks.QUIET))
            assert result.last_agent.name == last
            # What the caller made is as it was.
            assert (outer.handoffs, inner.handoffs) == ([inner], [outer])


def test_openai_agents_a_handoff_leads_to_the_agent_that_it_named_and_to_no_other(frameworks, app):
    from agents import handoff

    known = frameworks.OpenAiAgent(name="known", model=frameworks.ScriptedModel())
    other = frameworks.OpenAiAgent(
        name="other", model=frameworks.ScriptedModel(PATHS[0]), tools=[frameworks.function_tool(frameworks.remove)]
    )
    given = handoff(known, tool_name_override="remove")

    async def elsewhere(context, arguments):
        return other

    given.on_invoke_handoff = elsewhere
    outer = frameworks.OpenAiAgent(name="outer", model=frameworks.ScriptedHandoff("{}"), handoffs=[given])
    with pytest.raises(ConfigError, match="`other`"):
        asyncio.run(frameworks.run_guarded(app, outer, "go", run_config=frameworks.QUIET))
    assert frameworks.RAN == []


def test_openai_agents_an_agent_as_a_tool_hands_over_only_where_that_is_decided(frameworks, app):
    inner = _hand_over(frameworks, PATHS[1])
    for guarded, refused in ((inner, True), (frameworks.guard_handoffs(app, inner), False)):
        tool = dataclasses.replace(guarded.as_tool("sub", ""), needs_approval=True)
        outer = frameworks.OpenAiAgent(name="outer", model=frameworks.ScriptedModel(), tools=[tool])
        with pytest.raises(ConfigError, match="guard_handoffs") if refused else contextlib.nullcontext():
            _refuse(frameworks, outer)
    guarded = frameworks.guard_handoffs(app, inner)
    asyncio.run(frameworks.Runner.run(guarded, "go", run_config=frameworks.QUIET))
    assert "denied by remove(/etc/**)" in inner.model.heard[0]
    # One that is guarded is decided about once.
    guarded.model.inputs = [PATHS[0]]
    asyncio.run(frameworks.run_guarded(app, guarded, "go", run_config=frameworks.QUIET))
    assert (frameworks.RAN, recorded(app).count("permission.evaluated")) == (["/tmp/a"], 2)


def _refuse(frameworks, agent):
    from assent.sdk.frameworks.openai_agents import _refuse_undecided

    _refuse_undecided(agent, set())


@pytest.mark.parametrize(
    ("command", "approval", "refused"),
    [
        (["python", "server.py"], None, True),
        (["python", "server.py"], "never", True),
        (["python", "server.py"], {"always": {"tool_names": ["remove"]}}, True),
        (["python", "server.py"], "always", False),
        (["/usr/bin/assent", "mcp", "--", "python", "server.py"], None, False),
        (["/usr/bin/assent", "run", "--", "python", "server.py"], None, True),
    ],
)
def test_openai_agents_tools_of_mcp_servers_stop_a_run_or_have_assent_before_them(
    frameworks, app, command, approval, refused
):
    from agents.mcp import MCPServerStdio

    server = MCPServerStdio(params={"command": command[0], "args": command[1:]}, require_approval=approval)
    agent = frameworks.OpenAiAgent(name="a", model=frameworks.ScriptedModel("/tmp/a"), mcp_servers=[server])
    with pytest.raises(ConfigError, match="require_approval") if refused else contextlib.nullcontext():
        _refuse(frameworks, agent)


def test_openai_agents_input_that_is_none_does_not_run(frameworks, app):
    from assent.sdk.frameworks.openai_agents import _check

    for arguments in PATHS[3:]:
        assert "Invalid input" in asyncio.run(_check(app.session(), "remove", arguments, "c"))
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
    assert "cannot be read" in str(model.heard)
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
def test_langchain_what_a_function_takes_for_what_no_schema_fills_in_is_decided_about(frameworks, app, is_async):
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    tool = frameworks.langchain_tool("remove", args_schema=schema)(frameworks.remove_plainly)
    assert "denied by remove(/etc/**)" in frameworks.ask_langchain(app, None, is_async=is_async, tool=tool).content
    assert frameworks.ask_langchain(app, "/tmp/a", is_async=is_async, tool=tool).content == "removed /tmp/a"
    assert frameworks.RAN == ["/tmp/a"]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_langchain_what_the_framework_gives_a_tool_besides_is_not_decided_about(frameworks, app, is_async):
    tool = frameworks.langchain_tool("remove")(frameworks.remove_here)
    assert frameworks.ask_langchain(app, "/tmp/a", is_async=is_async, tool=tool).content == "removed /tmp/a"
    assert "denied by" in frameworks.ask_langchain(app, "/etc/a", is_async=is_async, tool=tool).content
    app.judge._log._store.write(app.judge._log._write_notes).result()
    rows = app.judge.store.fetch("SELECT body FROM events WHERE type = 'tool.started'")
    assert [json.loads(bytes(row[0]))["payload"]["args"] for row in rows] == [{"path": "/tmp/a"}]


def test_langchain_a_call_that_another_middleware_takes_past_the_guard_is_on_record(frameworks, app):
    from langchain.agents.middleware.types import AgentMiddleware

    tool = frameworks.langchain_tool(frameworks.remove)

    class Behind(AgentMiddleware):
        def wrap_tool_call(self, request, handler):
            return handler(request.override(tool=tool))

    call = {"name": "remove", "args": {"path": "/tmp/a"}, "id": "1", "type": "tool_call"}
    for behind, kind in (([], "tool.result"), ([Behind()], "runtime.warning")):
        model = frameworks.Scripted(responses=[frameworks.AIMessage("", tool_calls=[call]), frameworks.AIMessage("")])
        guard = frameworks.AssentMiddleware(app)
        frameworks.create_agent(model, [tool], middleware=[guard, *behind]).invoke({"messages": [("user", "go")]})
        assert recorded(app)[-1] == kind


def test_langchain_a_tool_that_can_not_be_guarded_does_not_run(frameworks, app, monkeypatch):
    from assent.sdk.frameworks import langchain

    monkeypatch.setattr(langchain, "_guarded", lambda kind: None)
    assert "cannot be guarded" in frameworks.ask_langchain(app, "/tmp/a", is_async=False).content
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


def test_pydantic_ai_an_output_function_is_decided_before_it_runs(frameworks, app, person):
    def two(path: str, times: int) -> str:
        return frameworks.remove(path)

    def model(*inputs):
        left = list(inputs)

        def respond(messages, info):
            heard.extend(str(part) for part in messages[-1].parts)
            name = info.output_tools[0].name
            return frameworks.PydanticResponse(parts=[frameworks.ToolCallPart(name, left.pop(0))])

        return frameworks.FunctionModel(respond)

    def ask(function, *inputs):
        capabilities = [frameworks.AssentCapability(app)]
        agent = frameworks.PydanticAgent(model(*inputs), output_type=function, capabilities=capabilities, retries=3)
        return asyncio.run(agent.run("go")).output

    heard = []
    assert ask(frameworks.remove, {"path": "/etc/passwd"}, {"path": "/tmp/a"}) == "removed /tmp/a"
    assert "denied by remove(/etc/**)" in heard[-1]
    two.__name__ = "remove"
    assert ask(two, {"path": "/etc/passwd", "times": 1}, {"path": "/srv/a", "times": 1}) == "removed /srv/a"
    person.changed = {"path": "/srv/other"}
    assert ask(frameworks.remove, {"path": "/srv/b"}, {"path": "/tmp/c"}) == "removed /tmp/c"
    assert 'exactly this input: {"path": "/srv/other"}' in heard[-1]
    assert (frameworks.RAN, recorded(app).count("tool.result")) == (["/tmp/a", "/srv/a", "/tmp/c"], 3)


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


@pytest.mark.parametrize("first", [True, False])
def test_pydantic_ai_decides_what_other_capabilities_made_of_a_call_wherever_they_stand(frameworks, app, first):
    from pydantic_ai.capabilities import AbstractCapability

    class Other(AbstractCapability):
        async def before_tool_execute(self, ctx, *, call, tool_def, args):
            return {"path": "/etc/passwd"}

    both = [frameworks.AssentCapability(app), Other()]
    agent = frameworks.PydanticAgent(
        frameworks.pydantic_model("/tmp/a"), tools=[frameworks.remove], capabilities=both if first else both[::-1]
    )
    assert frameworks.returned(asyncio.run(agent.run("go"))) == ["denied by remove(/etc/**)"]
    assert frameworks.RAN == []


async def waits(path: str = "") -> str:
    """Wait."""
    await asyncio.sleep(60)
    return ""


async def abort(work, app):
    task = asyncio.ensure_future(work)
    await soon(lambda: "tool.started" in recorded(app) or task.done())
    await asyncio.sleep(0.1)
    assert not task.done()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def test_a_call_that_is_aborted_while_it_runs_is_on_record_in_every_framework(frameworks, person):
    from langchain_core.tools import tool

    from agents import Runner

    def with_langchain(app):
        call = {"name": "waits", "args": {}, "id": "1", "type": "tool_call"}
        model = frameworks.Scripted(responses=[frameworks.AIMessage("", tool_calls=[call])])
        agent = frameworks.create_agent(model, [tool(waits)], middleware=[frameworks.AssentMiddleware(app)])
        return agent.ainvoke({"messages": [("user", "go")]})

    def with_openai(app, *, pausing):
        made = frameworks.function_tool(waits, needs_approval=pausing, name_override="remove")
        agent = frameworks.OpenAiAgent(
            name="a",
            model=frameworks.ScriptedModel('{"path": "/tmp/a"}'),
            tools=[made] if pausing else frameworks.guard_tools(app, [made]),
        )
        if pausing:
            return frameworks.run_guarded(app, agent, "go", run_config=frameworks.QUIET)
        return Runner.run(agent, "go", run_config=frameworks.QUIET)

    def with_pydantic_ai(app):
        part = frameworks.ToolCallPart("waits", {})
        model = frameworks.FunctionModel(lambda *_: frameworks.PydanticResponse(parts=[part]))
        agent = frameworks.PydanticAgent(model, tools=[waits], capabilities=[frameworks.AssentCapability(app)])
        return agent.run("go")

    ways = [with_langchain, with_pydantic_ai]
    ways += [functools.partial(with_openai, pausing=pausing) for pausing in (True, False)]
    for way in ways:
        with create_agent_app(permission_policy={}) as app:
            asyncio.run(asyncio.wait_for(abort(way(app), app), 60))
            assert recorded(app)[-1] == "tool.failed", way


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


def test_pydantic_ai_what_a_person_changed_is_read_by_the_tools_types_and_runs_only_as_approved(
    frameworks, app, person
):
    def ask(given, changed):
        def respond(messages, info):
            parts = [frameworks.ToolCallPart("remove", given)] if len(messages) == 1 else [frameworks.TextPart("done")]
            return frameworks.PydanticResponse(parts=parts)

        person.changed = changed
        agent = frameworks.PydanticAgent(
            frameworks.FunctionModel(respond), tools=[tool], capabilities=[frameworks.AssentCapability(app)]
        )
        return frameworks.returned(asyncio.run(agent.run("go")))

    tool = frameworks.PydanticTool(frameworks.remove_there, name="remove")
    assert ask({"where": {"path": "/srv/a"}}, {"where": {"path": "/srv/b"}}) == ["removed"]
    assert "does not fit" in ask({"where": {"path": "/srv/a"}}, {"where": "/srv/b"})[0]
    tool = frameworks.PydanticTool(frameworks.remove_read, name="remove")
    assert "is not what was approved" in ask({"path": "/srv/a"}, {"path": "odd"})[0]
    assert frameworks.RAN == ["/srv/b"]


def test_pydantic_ai_a_deferred_call_is_decided_once_and_again_where_the_tool_would_get_something_else(
    frameworks, app, person
):
    def ask(function, path):
        agent = frameworks.PydanticAgent(
            frameworks.pydantic_model(path),
            output_type=[str, frameworks.DeferredToolRequests],
            tools=[frameworks.PydanticTool(function, name="remove", requires_approval=True)],
            capabilities=[frameworks.AssentCapability(app)],
        )
        first = asyncio.run(agent.run("go"))
        results = asyncio.run(frameworks.answer_deferred(app, first.output))
        more = {"message_history": first.all_messages(), "deferred_tool_results": results}
        return [frameworks.returned(asyncio.run(agent.run(**more)))[-1] for _ in range(2)]

    assert ask(frameworks.remove, "/srv/a") == ["removed /srv/a"] * 2
    assert recorded(app).count("permission.requested") == 2, "one for each time that it ran"
    assert all("denied by remove(/etc/**)" in said for said in ask(frameworks.remove_read, "passwd"))
    assert frameworks.RAN == ["/srv/a"] * 2
    assert recorded(app).count("tool.result") == 2


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
