"""A tool runs in its caller's context, a fault of its own ends nothing but the call, and a fork decides nothing."""

from __future__ import annotations

import asyncio
import contextvars
import dataclasses
import multiprocessing

import pytest

from assent import ToolFailedError, create_agent_app, define_tool, parse_rules, queue_approvals, tool
from assent.audit.search import Query, find, read_record
from assent.sdk.client.outbox import Outbox
from assent.sdk.client.unsent_reports import Backlog
from daemons import until
from keeping import soon

WHERE = contextvars.ContextVar("where", default="nowhere")


@tool
def look() -> str:
    """Say where the caller is."""
    return WHERE.get()


@tool
async def look_async() -> str:
    """Say where the caller is."""
    return WHERE.get()


@pytest.mark.parametrize("name", ["look", "look_async"])
def test_a_tool_sees_the_context_variables_of_its_caller(name):
    with create_agent_app(permission_policy={}, tools=[look, look_async]) as app:

        async def call():
            WHERE.set("in a loop")
            return (await app.call_tool(name)).content

        assert asyncio.run(call()) == "in a loop"
        token = WHERE.set("in a thread")
        assert app.run_tool(name).content == "in a thread"
        WHERE.reset(token)


def test_a_check_and_a_hook_see_them_too():
    heard = []
    seen = define_tool(name="seen", parameters={}, execute=lambda _: "", check_permissions=lambda _: say("check"))

    def say(who):
        heard.append((who, WHERE.get()))
        return "allow"

    token = WHERE.set("here")
    with create_agent_app(permission_policy={}, tools=[seen], hooks=[lambda *_: say("hook")]) as app:
        app.run_tool("seen")
    WHERE.reset(token)
    assert heard == [("hook", "here"), ("check", "here")]


@tool
async def cancel() -> str:
    """Cancel itself."""
    raise asyncio.CancelledError


@tool
async def leave() -> str:
    """Would end the program."""
    raise SystemExit(3)


@tool
async def interrupt() -> str:
    """Would end the program as a person does."""
    raise KeyboardInterrupt


def recorded(app, kind):
    async def look_up():
        return [read_record(row).type for row in await app.judge.store.query(find(Query(), after=0, limit=1000))]

    until(lambda: kind in asyncio.run(look_up()))


@pytest.mark.parametrize("made", [cancel, leave], ids=lambda made: made.name)
def test_an_async_tool_that_cancels_itself_or_leaves_has_failed(made):
    with create_agent_app(permission_policy={}, tools=[made, look]) as app:
        result = app.run_tool(made.name)
        assert result.is_error
        assert "RuntimeError" in result.content
        recorded(app, "tool.failed")
        with pytest.raises(ToolFailedError):
            asyncio.run(app.guard(made)())
        assert app.run_tool("look").content == "nowhere"


def test_an_async_tool_that_interrupts_the_program_is_on_record_and_the_next_call_is_decided():
    with create_agent_app(permission_policy={}, tools=[interrupt, look]) as app:
        with pytest.raises(KeyboardInterrupt):
            app.run_tool("interrupt")
        recorded(app, "tool.failed")
        assert app.run_tool("look").content == "nowhere"


def test_a_call_that_is_aborted_while_it_runs_ends_for_who_follows_the_session():
    begun = []
    slow = define_tool(name="slow", parameters={}, execute=lambda _: begun.append(True) or asyncio.sleep(60))
    with create_agent_app(permission_policy={}, tools=[slow]) as app:

        async def abort():
            call = asyncio.create_task(app.call_tool("slow"))
            await soon(lambda: begun and app.session().feed.last.endswith("-2"))
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            return [event async for event in up_to(app.session().feed, "tool.after")]

        told = asyncio.run(asyncio.wait_for(abort(), 60))
    assert told[-1] == {**told[-1], "isError": True, "error": "the call was aborted"}


async def up_to(feed, kind):
    async for _, event in feed.follow():
        yield event
        if event["type"] == kind:
            return


def test_what_a_tool_does_to_its_input_is_not_what_was_asked_about():
    def spoil(given):
        given["names"].append("another")
        given["more"] = True

    schema = {"type": "object", "properties": {"names": {"type": "array"}}}
    spoiler = define_tool(name="spoil", parameters=schema, execute=spoil)
    with create_agent_app(permission_policy={}, tools=[spoiler]) as app:
        app.run_tool("spoil", {"names": ["one"]})
        told = asyncio.run(first(app.session().feed, "tool.before"))
        assert told["input"] == {"names": ["one"]}
        _, decided = asyncio.run(app.session().decide("other", {"names": ["one"]}))
        spoil(decided)
        told = asyncio.run(first(app.session().feed, "tool.before", "other"))
        assert told["input"] == {"names": ["one"]}


async def first(feed, kind, name=None):
    async for _, event in feed.follow():
        if event["type"] == kind and name in (None, event["toolName"]):
            return event
    return None


@dataclasses.dataclass
class Settings:
    path: str = "/tmp/a"


def test_a_default_that_one_call_changes_is_not_what_another_runs_with():
    ran = []

    @tool
    def remove(*, now: bool, settings: Settings = Settings(), names: list[list[str]] = [["a"]]) -> None:  # noqa: B006, B008
        ran.append((settings.path, names[0][:]))
        if now:
            settings.path = "/etc/passwd"
            names[0].append("b")

    policy = {"ask": parse_rules(["remove"])}
    with create_agent_app(permission_policy=policy, tools=[remove], approval_handler=queue_approvals) as app:

        async def both():
            session = app.session()
            later = asyncio.create_task(app.call_tool("remove", {"now": False}, tool_call_id="later"))
            sooner = asyncio.create_task(app.call_tool("remove", {"now": True}, tool_call_id="sooner"))
            await soon(lambda: len(session.waiting) == 2)
            await session.respond("approved", tool_call_id="sooner")
            await sooner
            await session.respond("approved", tool_call_id="later")
            await later

        asyncio.run(asyncio.wait_for(both(), 60))
    assert ran == [("/tmp/a", ["a"])] * 2


def in_fork(work):
    context = multiprocessing.get_context("fork")
    answers = context.Queue()

    def child():
        answers.put(work())

    process = context.Process(target=child)
    process.start()
    try:
        return answers.get(timeout=60)
    finally:
        process.kill()
        process.join()


@pytest.mark.parametrize("store", ["memory", "sqlite"])
@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_an_application_that_was_made_before_a_fork_runs_nothing_there_and_says_why(store, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSENT_HOME", str(tmp_path / "home"))
    with create_agent_app(permission_policy={}, tools=[look], store=store) as app:
        assert app.run_tool("look").content == "nowhere"

        def call():
            said = app.run_tool("look").content, asyncio.run(app.call_tool("look")).content
            app.close()
            return said

        assert all("before the process forked" in text for text in in_fork(call))
        assert app.run_tool("look").content == "nowhere"


class Speechless(Exception):  # noqa: N818 - it is one
    def __str__(self) -> str:
        raise RuntimeError


class Garbled(Exception):  # noqa: N818 - as above
    def __str__(self) -> str:
        return "\ud800"


def fail_with(error):
    def fail(_):
        raise error

    return fail


@pytest.mark.parametrize("error", [Speechless(), Garbled()], ids=["speechless", "garbled"])
def test_an_error_that_can_not_say_what_it_is_is_an_error_for_the_model_and_on_record(error):
    tools = [
        define_tool(name="failing", parameters={}, execute=fail_with(error)),
        define_tool(name="checked", parameters={}, execute=lambda _: "ran", check_permissions=fail_with(error)),
    ]
    with create_agent_app(permission_policy={}, tools=tools) as app:
        for made in tools:
            result = app.run_tool(made.name)
            assert result.is_error
            assert type(error).__name__ in result.content
            result.content.encode()
        recorded(app, "tool.failed")


def test_what_an_error_says_that_can_not_be_written_reaches_the_daemon_escaped(tmp_path):
    class Daemon:
        told: list = []  # noqa: RUF012 - of this test alone

        def report_events(self, session, events, **_):
            self.told += events

    outbox = Outbox(Daemon(), Backlog("http://h", "t", str(tmp_path)))
    outbox.put("s", None, {"type": "tool.failed", "error": "\ud800"})
    outbox.close()
    assert b"\\\\ud800" in bytes(Daemon.told[0])
