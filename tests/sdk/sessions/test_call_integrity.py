"""What was decided about is what runs: nobody who hears of a call, answers for it or names it can slip in another."""

from __future__ import annotations

import asyncio
import sys

import pydantic
import pytest

from assent import create_agent_app, define_tool, parse_rules, queue_approvals, tool
from assent.decisions.errors import AmbiguousError
from assent.model import ALLOW, Answer, ConfigError
from assent.sdk.tools.tool import ToolError
from keeping import soon

RAN: list = []
ASKS = {"ask": parse_rules(["remove"]), "deny": parse_rules(["remove(/etc/**)"])}


@pytest.fixture(autouse=True)
def nothing_ran_yet():
    RAN.clear()


def removing(check=None):
    @tool(name="remove", check_permissions=check)
    def remove(path: str) -> str:
        RAN.append(path)
        return "gone"

    return remove


def plainly(check=None):
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    run = lambda given: RAN.append(given["path"])  # noqa: E731
    return define_tool(name="remove", parameters=schema, execute=run, check_permissions=check)


def put(params, path):
    if isinstance(params, dict):
        params["path"] = path
    else:
        params.path = path


@pytest.mark.parametrize("make", [removing, plainly], ids=["typed", "plain"])
def test_a_check_that_changes_what_it_hears_then_or_later_changes_nothing(make):
    held = []

    def check(params):
        held.append(params)
        put(params, "/etc/at-once")
        return "allow"

    async def scene(app):
        call = asyncio.create_task(app.call_tool("remove", {"path": "/srv/a"}))
        await soon(lambda: app.session().waiting)
        put(held[0], "/etc/later")
        (question,) = await app.session().pending()
        assert question.input == {"path": "/srv/a"}
        await app.session().respond("approved")
        await call

    with create_agent_app(permission_policy=ASKS, tools=[make(check)], approval_handler=queue_approvals) as app:
        asyncio.run(scene(app))
    assert RAN == ["/srv/a"]


@pytest.mark.parametrize("make", [removing, plainly], ids=["typed", "plain"])
def test_a_hook_that_changes_what_it_hears_in_place_hides_nothing_from_the_policy(make):
    with create_agent_app(
        permission_policy={"deny": ASKS["deny"]}, tools=[make()], hooks=[lambda _, given: put(given, "/tmp/harmless")]
    ) as app:
        assert "denied by remove(/etc/**)" in app.run_tool("remove", {"path": "/etc/passwd"}).content
    assert RAN == []


HOOKS = {
    "denies it": (lambda _, given: ("deny", "not there") if given["path"] == "/srv/b" else None, "not there"),
    "wants another": (
        lambda _, given: {"input": {"path": given["path"] + "/x"}},
        "than the one that a person approved",
    ),
    "fails": (lambda _, given: 1 / (given["path"] != "/srv/b"), "a hook failed"),
    "wants the same": (lambda _, given: {"input": {"path": given["path"]}}, None),
}


@pytest.mark.parametrize(("hook", "text"), HOOKS.values(), ids=list(HOOKS))
def test_what_a_person_changed_is_held_against_the_hooks_again(hook, text):
    def guarded(_, given):
        said = hook(_, given)
        return None if isinstance(said, float) else said

    async def scene(app):
        session = app.session()
        call = asyncio.create_task(app.call_tool("remove", {"path": "/srv/a"}))
        await soon(lambda: session.waiting)
        (question,) = await session.pending()
        answer = Answer(verdict=ALLOW, modified_input={"path": "/srv/b"})
        await app.judge.answer(question, answer, session.user)
        return await call

    with create_agent_app(
        permission_policy=ASKS, tools=[removing()], hooks=[guarded], approval_handler=queue_approvals
    ) as app:
        result = asyncio.run(scene(app))
    if text is None:
        assert RAN == ["/srv/b"]
    else:
        assert text in result.content
        assert RAN == []


async def leave_async(_):
    sys.exit(0)


async def cancel_itself(_):
    raise asyncio.CancelledError


def cancel_in_thread(_):
    raise asyncio.CancelledError


FATAL = [lambda _: sys.exit(0), leave_async, cancel_itself, cancel_in_thread]


@pytest.mark.parametrize("check", FATAL, ids=["exits", "exits async", "is cancelled async", "is cancelled"])
def test_a_check_that_would_end_the_program_or_the_call_is_a_no_and_the_next_call_is_decided(check):
    other = define_tool(name="other", parameters={}, execute=lambda _: "done")
    with create_agent_app(permission_policy={}, tools=[removing(check), other]) as app:
        result = app.run_tool("remove", {"path": "/tmp/a"})
        assert "the tool's own check failed" in result.content
        assert app.run_tool("other").content == "done"
    assert RAN == []


def test_a_tool_that_would_end_the_program_has_failed():
    leave = define_tool(name="leave", parameters={}, execute=lambda _: sys.exit(3))
    with create_agent_app(permission_policy={}, tools=[leave]) as app:
        assert "SystemExit" in app.run_tool("leave").content


class Strange(pydantic.BaseModel):
    path: str

    @pydantic.field_validator("path")
    @classmethod
    def look_up(cls, path):
        return {"a": "/tmp/a"}[path]


INPUTS = {
    "a number without end": {"path": 10**400},
    "half a letter": {"path": "\ud800"},
    "a validator's fault": {"path": "b"},
}


@pytest.mark.parametrize("given", INPUTS.values(), ids=list(INPUTS))
def test_an_input_that_its_reader_stumbles_over_is_an_error_for_the_model_and_on_record(given):
    strange = define_tool(name="strange", parameters=Strange, execute=RAN.append)
    with create_agent_app(permission_policy={}, tools=[strange]) as app:
        assert "Invalid input" in app.run_tool("strange", given).content
        app.judge._log._store.write(app.judge._log._write_notes).result()
        assert [row[0] for row in app.judge.store.fetch("SELECT type FROM events")] == ["tool.failed"]
    assert RAN == []


def test_two_questions_by_one_id_are_not_answered_by_it():
    async def scene(app):
        session = app.session()
        given = ["/srv/harmless", "/srv/precious"]
        calls = [asyncio.create_task(session.call_tool("remove", {"path": path}, tool_call_id="c")) for path in given]
        await soon(lambda: len(session.waiting) == 2)
        with pytest.raises(AmbiguousError, match="requestId"):
            await session.respond("approved", tool_call_id="c")
        harmless = next(q for q in await session.pending() if q.input["path"] == given[0])
        await session.respond("approved", tool_call_id=harmless.id)
        await session.respond("rejected", tool_call_id="c")
        await asyncio.gather(*calls)

    with create_agent_app(permission_policy=ASKS, tools=[removing()], approval_handler=queue_approvals) as app:
        asyncio.run(scene(app))
    assert RAN == ["/srv/harmless"]


def test_one_approval_lets_one_of_two_equal_calls_by_one_id_run():
    async def scene(app):
        session = app.session()
        given = {"path": "/srv/a"}
        calls = [asyncio.create_task(session.call_tool("remove", given, tool_call_id="c")) for _ in range(2)]
        await soon(lambda: session.waiting)
        await session.respond("approved")
        await soon(lambda: RAN)
        for question in await session.pending():
            await session.respond("rejected", tool_call_id=question.id)
        return await asyncio.gather(*calls)

    with create_agent_app(
        permission_policy=ASKS, tools=[removing()], approval_handler=queue_approvals, expiry=2
    ) as app:
        results = asyncio.run(scene(app))
    assert sorted(result.is_error for result in results) == [False, True]
    assert RAN == ["/srv/a"]


def test_an_async_tool_that_waits_for_itself_is_told_and_not_left_waiting():
    with create_agent_app(permission_policy={}, tools=[removing()]) as app:

        @app.guard
        async def outer() -> str:
            return str(app.run_tool("remove", {"path": "/tmp/a"}).content)

        assert "must await" in app.run_tool("outer").content
    assert RAN == []


NAMES = {"half a letter": ("\ud800", "\ud800"), "nothing": ("x\0", "y\0")}


@pytest.mark.parametrize(("name", "call_id"), NAMES.values(), ids=list(NAMES))
def test_a_name_that_can_not_be_written_down_is_an_error_for_the_model(name, call_id):
    with create_agent_app(permission_policy={}, tools=[removing()]) as app:
        assert asyncio.run(app.call_tool(name, {"path": "/tmp/a"}, tool_call_id=call_id)).is_error
    assert RAN == []


def test_an_approved_call_that_is_made_again_is_asked_about_again():
    class Once:
        said = 0

        async def request_approval(self, **_):
            self.said += 1
            return "approved" if self.said == 1 else "rejected"

    with create_agent_app(permission_policy=ASKS, tools=[removing()], approval_handler=Once()) as app:
        results = [
            asyncio.run(app.call_tool("remove", {"path": "/srv/a"}, tool_call_id="c")).is_error for _ in range(3)
        ]
    assert (results, RAN) == ([False, True, True], ["/srv/a"])


def test_a_name_that_is_taken_guards_no_other_function():
    def other(path: str) -> str:
        return path

    other.__name__ = "remove"
    with create_agent_app(permission_policy={}, tools=[removing()]) as app:
        with pytest.raises(ConfigError, match="two tools by the name `remove`"):
            app.guard(other)
        assert app.guard(app.tools["remove"])("/tmp/a") == "gone"


def pieces(path: str):
    yield path


async def pieces_async(path: str):
    yield path


@pytest.mark.parametrize("function", [pieces, pieces_async], ids=["sync", "async"])
def test_what_runs_only_after_it_returned_is_no_tool(function):
    with pytest.raises(ToolError, match="in pieces"):
        tool(function)
    with pytest.raises(ToolError, match="in pieces"):
        define_tool(name="t", parameters={}, execute=function)


async def _later_async():
    RAN.append("later")
    yield "a"


def _later():
    RAN.append("later")
    yield "a"


@pytest.mark.parametrize("later", [_later, _later_async], ids=["sync", "async"])
def test_a_result_that_would_run_only_when_it_is_read_is_an_error(later):
    made = define_tool(name="lazy", parameters={}, execute=lambda _: later())
    with create_agent_app(permission_policy={}, tools=[made]) as app:
        result = app.run_tool("lazy")
    assert (result.is_error, "in pieces" in result.content, RAN) == (True, True, [])
