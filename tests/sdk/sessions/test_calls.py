"""A guarded call: looked up, checked, decided, asked about, and only then run. Whatever is wrong, nothing runs."""

from __future__ import annotations

import asyncio
import time

import msgspec
import pytest

from assent import (
    PermissionDeniedError,
    Policy,
    ToolFailedError,
    create_agent_app,
    define_tool,
    parse_rules,
    queue_approvals,
    tool,
)
from assent.model import ConfigError, ForbiddenError, StoreError
from keeping import soon

RAN: list = []
PARAMETERS = {"type": "object", "properties": {"target": {"type": "string"}}, "required": ["target"]}


@pytest.fixture(autouse=True)
def nothing_ran_yet():
    RAN.clear()


def make(check=None, name="sensitive_op", execute=None, **more):
    return define_tool(
        name=name,
        parameters=PARAMETERS,
        check_permissions=check,
        execute=execute or (lambda p: RAN.append(p) or "done"),
        **more,
    )


def app_with(tools, **more):
    policy = more.pop("permission_policy", {"mode": "default"})
    return create_agent_app(permission_policy=policy, tools=tools, **more)


class Handler:
    """Says what it is told to, and remembers what it was asked."""

    def __init__(self, say) -> None:
        self.say = say
        self.asked: list[dict] = []

    async def request_approval(self, **about):
        self.asked.append(about)
        return await self.say(about["signal"]) if callable(self.say) else self.say


def events(app, kind=None):
    app.judge._log._store.write(app.judge._log._write_notes).result()
    rows = app.judge.store.fetch("SELECT type, verdict, source FROM events ORDER BY position")
    return [row for row in rows if kind is None or row[0] == kind]


def call(app, given=None, name="sensitive_op", **more):
    return asyncio.run(app.call_tool(name, {"target": "/x"} if given is None else given, **more))


async def hang(*_):
    await asyncio.Event().wait()


def block(*_):
    time.sleep(2)
    return "allow"


def crash(*_):
    raise ValueError("no idea")


CHECKS = [
    (lambda p: "allow", False, "done"),
    (lambda p: {"decision": "allow"}, False, "done"),
    (lambda p: ("deny", "not you"), True, "not you"),
    (lambda p: {"decision": "deny", "reason": "never there"}, True, "never there"),
    (crash, True, "the tool's own check failed: ValueError: no idea"),
    (lambda p: None, True, "which is not allow, ask or deny"),
    (lambda p: True, True, "which is not allow, ask or deny"),
    (lambda p: "ALLOW", True, "which is not allow, ask or deny"),
    (lambda p: "sure, go ahead", True, "which is not allow, ask or deny"),
    (lambda p: {"allow": True}, True, "which is not allow, ask or deny"),
    (lambda p: {"decision": "allow", "reason": 3}, True, "which is not allow, ask or deny"),
    (lambda p: "ask", True, "nobody can be asked"),
    (hang, True, "did not answer within"),
    (block, True, "did not answer within"),
]
NAMES = ["allow", "allow in words", "deny with reason", "deny in words", "raises", "nothing", "a bool", "capitals",
         "prose", "another shape", "no text", "asks nobody", "hangs", "blocks"]  # fmt: skip


@pytest.mark.parametrize(("check", "is_error", "text"), CHECKS, ids=NAMES)
def test_a_tools_own_check_is_heard_and_whatever_it_does_otherwise_is_a_no(check, is_error, text, monkeypatch):
    monkeypatch.setattr("assent.sdk.sessions.session.hear_check", _impatient)
    with app_with([make(check)]) as app:
        result = call(app)
        assert (result.is_error, bool(RAN)) == (is_error, not is_error)
        assert text in str(result.content)
        assert [row[0] for row in events(app)] == (
            ["permission.evaluated"]
            if is_error
            else ["permission.evaluated", "sandbox.applied", "tool.started", "tool.result"]
        )


async def _impatient(check, params):
    from assent.sdk.tools.callbacks import hear_check

    return await hear_check(check, params, seconds=0.1 if check in (hang, block) else 5)


def test_an_async_check_is_heard_too():
    async def check(params):
        return "deny", f"not {params['target']}"

    with app_with([make(check)]) as app:
        assert call(app).content == "not /x"
    assert not RAN


@pytest.mark.parametrize(
    ("rule", "check", "runs"),
    [
        ({"deny": ["sensitive_op"]}, "allow", False),
        ({"allow": ["sensitive_op"]}, "deny", False),
        ({"ask": ["sensitive_op"]}, "allow", False),
        ({"allow": ["sensitive_op"]}, "ask", False),
        ({"allow": ["sensitive_op"]}, "allow", True),
        ({"mode": "strict"}, "allow", False),
    ],
    ids=str,
)
def test_of_policy_and_check_the_stricter_wins(rule, check, runs):
    policy = {k: v if k == "mode" else parse_rules(v) for k, v in rule.items()}
    with app_with([make(lambda p: check)], permission_policy=policy) as app:
        assert call(app).is_error is not runs
    assert bool(RAN) is runs


@pytest.mark.parametrize(
    ("name", "given", "text"),
    [
        ("sensitive_op", {"target": 3}, 'Invalid input for tool "sensitive_op": input.target: expected string'),
        ("sensitive_op", {}, "`target` is missing"),
        ("sensitive_op", "text", "must be an object"),
        ("sensitive_op", {"target": "x", "extra": {1}}, "expected"),
        ("no_such_tool", {}, 'There is no tool "no_such_tool"'),
    ],
    ids=["wrong type", "missing", "no object", "no JSON", "no tool"],
)
def test_a_call_that_does_not_fit_is_an_error_for_the_model_an_event_and_decided_by_nobody(name, given, text):
    with app_with([make()]) as app:
        if "extra" in given:
            given = {"target": object()}
        result = call(app, given, name)
        assert result.is_error
        assert text in result.content or "not JSON" in result.content
        assert [row[0] for row in events(app)] == ["tool.failed"]
    assert not RAN


def test_a_denied_call_says_why_and_an_empty_reason_is_the_plain_one():
    from assent.sdk.sessions.backends import refuse
    from assent.sdk.sessions.results import denial_text

    assert denial_text("X", refuse("")) == 'Permission denied for tool "X"'
    policy = Policy(deny=parse_rules(["Bash(rm:*)"]), embedded=True)
    shell = define_tool(name="Bash", parameters={"type": "object"}, execute=RAN.append)
    with app_with([shell], permission_policy=policy) as app:
        assert "denied by Bash(rm:*)" in call(app, {"command": "ls && sudo rm x"}, "Bash").content
        assert not RAN
        assert not call(app, {"command": "ls"}, "Bash").is_error


ASKS = {"ask": parse_rules(["sensitive_op"])}


async def never(signal):
    await signal.wait()
    return "approved"


async def fail(_signal):
    raise OSError("the network is down")


@pytest.mark.parametrize(
    ("say", "runs"),
    [
        ("approved", True), ("rejected", False), ("Approved", False), ("yes", False), (True, False), (None, False),
        ({"decision": "approved"}, False), (fail, False),
    ],
    ids=["approved", "rejected", "capital", "prose", "true", "nothing", "object", "raises"],
)  # fmt: skip
def test_a_handler_approves_by_one_word_and_by_nothing_else(say, runs):
    handler = Handler(say)
    with app_with([make()], permission_policy=ASKS, approval_handler=handler) as app:
        result = call(app, tool_call_id="c1")
        assert result.is_error is not runs
        assert [(a["tool_call_id"], a["tool_name"]) for a in handler.asked] == [("c1", "sensitive_op")]
        kinds = [event["type"] for _, event in app.session().feed._events]
        assert kinds == ["session.start", "tool.before", "permission_request", "permission_resolved", "tool.after"]
        resolved = next(e for _, e in app.session().feed._events if e["type"] == "permission_resolved")
        assert resolved["decision"] == ("approved" if runs else "rejected")
    assert bool(RAN) is runs


def test_a_handler_that_never_answers_is_a_no_when_the_question_expires():
    with app_with([make()], permission_policy=ASKS, approval_handler=Handler(never), expiry=0.2) as app:
        result = call(app)
        assert result.is_error
        assert result.judgement.source == "expiry"
        assert [row[0] for row in events(app)].count("permission.resolved") == 1
    assert not RAN


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_without_a_handler_an_ask_is_a_no_and_nobody_is_asked(store, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSENT_HOME", str(tmp_path / "home"))
    with app_with([make()], permission_policy=ASKS, store=store) as app:
        assert call(app).is_error
        assert "permission_request" not in [event["type"] for _, event in app.session().feed._events]
        assert events(app, "permission.requested") == []
    assert not RAN


def test_an_aborted_call_withdraws_its_question():
    async def scene(app):
        task = asyncio.create_task(app.call_tool("sensitive_op", {"target": "/x"}))
        await soon(lambda: app.session().waiting)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await app.session().pending() == ()

    with app_with([make()], permission_policy=ASKS, approval_handler=Handler(never)) as app:
        asyncio.run(scene(app))
        resolved = next(e for _, e in app.session().feed._events if e["type"] == "permission_resolved")
        assert (resolved["decision"], resolved["reason"]) == ("rejected", "the call was aborted")
    assert not RAN


def test_what_a_person_changed_is_held_against_schema_and_check_again():
    async def answer(app, changed):
        from assent.model import ALLOW, Answer

        await soon(lambda: app.session().waiting)
        found = await app.session().pending()
        await app.session()._judge.answer(found[0], Answer(verdict=ALLOW, modified_input=changed), app.session().user)

    async def scene(app, changed):
        result, _ = await asyncio.gather(app.call_tool("sensitive_op", {"target": "/x"}), answer(app, changed))
        return result

    check = lambda p: ("deny", "not /etc") if p["target"].startswith("/etc") else "ask"  # noqa: E731
    for changed, text in (
        ({"target": "/ok"}, "done"),
        ({"target": "/etc/x"}, "not /etc"),
        ({"target": 3}, "Invalid input"),
    ):
        with app_with([make(check)], approval_handler=Handler(never)) as app:
            assert text in asyncio.run(scene(app, changed)).content
    assert [p["target"] for p in RAN] == ["/ok"]


def test_hooks_may_rewrite_tighten_and_fail():
    hooks = {
        "rewrite": (lambda n, g: {"input": {"target": "/safe"}}, "done"),
        "rewrite badly": (lambda n, g: {"input": {"target": 3}}, "Invalid input"),
        "rewrite to nonsense": (lambda n, g: {"input": "x"}, "a hook failed"),
        "deny": (lambda n, g: ("deny", "no hooks today"), "no hooks today"),
        "raise": (crash, "a hook failed: ValueError"),
        "nothing": (lambda n, g: None, "done"),
        "both": (lambda n, g: {"input": {"target": "/b"}, "decision": "deny", "reason": "both"}, "both"),
    }
    for hook, text in hooks.values():
        with app_with([make()], hooks=[hook]) as app:
            assert text in call(app).content
            kind = "hook.failed" if "a hook failed" in text else "hook.completed"
            assert [row[0] for row in events(app)][:2] == ["hook.started", kind]
    assert [p["target"] for p in RAN] == ["/safe", "/x"]


def test_a_hooks_allow_does_not_lift_a_deny():
    with app_with(
        [make()], hooks=[lambda n, g: "allow"], permission_policy={"deny": parse_rules(["sensitive_op"])}
    ) as app:
        assert call(app).is_error
    assert not RAN


def test_a_tool_that_fails_is_an_error_for_the_model_and_on_record():
    with app_with([make(execute=crash)]) as app:
        result = call(app)
        assert (result.is_error, result.content) == (True, "ValueError: no idea")
        assert result.judgement.allowed
        assert [row[0] for row in events(app)][-1] == "tool.failed"


def test_a_call_that_is_aborted_while_its_tool_runs_is_on_record_as_failed():
    began = []

    async def run(params):
        began.append(params)
        await hang()

    async def scene(app):
        task = asyncio.create_task(app.call_tool("sensitive_op", {"target": "/x"}))
        await soon(lambda: began)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with app_with([make(execute=run)]) as app:
        asyncio.run(scene(app))
        assert [row[0] for row in events(app)][-2:] == ["tool.started", "tool.failed"]


def test_a_tool_that_takes_too_long_is_an_error():
    with app_with([make(execute=hang, timeout=0.05)]) as app:
        assert call(app).content == "TimeoutError"


def test_a_store_that_can_not_be_written_allows_nothing(monkeypatch):
    with app_with([make()]) as app:

        def full(*_):
            raise StoreError("no space left on device")

        monkeypatch.setattr(app.judge._log, "finish", full)
        assert "no space left" in call(app).content
        monkeypatch.undo()
    assert not RAN


def test_sessions_are_their_users_own():
    with app_with([make()]) as app:
        app.session("s", user="ann")
        with pytest.raises(ForbiddenError):
            app.session("s", user="bob")


def test_a_session_in_which_somebody_waits_stays_its_users_however_many_others_come(monkeypatch):
    monkeypatch.setattr("assent.sdk.sessions.app.MOST_SESSIONS", 3)
    with create_agent_app(permission_policy={}) as app:
        app.session("followed", user="ann").waiting.add("a question")
        app.session("idle", user="ann")
        for number in range(10):
            app.session(f"s{number}", user="bob")
        with pytest.raises(ForbiddenError):
            app.session("followed", user="bob")
        assert app.session("idle", user="bob").user == "bob"
        assert len(app._sessions) == 3


def test_the_plain_decorator_guards_any_function():
    policy = {"deny": parse_rules(["remove(/etc/**)"])}
    with app_with([], permission_policy=policy) as app:

        @app.guard
        def remove(path: str) -> str:
            RAN.append(path)
            return "gone"

        @app.guard
        async def add(a: int, b: int = 1) -> int:
            return a + b

        assert remove("/tmp/a") == "gone"
        with pytest.raises(PermissionDeniedError, match="denied by remove"):
            remove(path="/etc/passwd")
        assert asyncio.run(add(2)) == 3
        with pytest.raises(ToolFailedError, match="Expected `int`"):
            asyncio.run(add("x"))
    assert RAN == ["/tmp/a"]


def test_without_a_policy_the_default_one_holds():
    with create_agent_app(tools=[make()]) as app:
        assert "unknown tool: Assent cannot tell what it does" in call(app).content
    assert not RAN


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        ({"mode": "lenient"}, 'Invalid permissions.mode "lenient"'),
        ({"rules": []}, "Unknown configuration field 'permissions.rules'."),
        ({"ask": "Bash"}, "Expected permissions.ask to be an array."),
    ],
    ids=str,
)
def test_a_policy_that_is_not_understood_is_an_error(policy, why):
    with pytest.raises(ConfigError, match=why):
        create_agent_app(permission_policy=policy)


def test_what_is_no_tool_or_there_twice_is_an_error():
    for tools in ([make(), make()], [print]):
        with pytest.raises(ConfigError):
            app_with(tools)


def test_everything_is_kept_in_a_store_that_is_named(tmp_path, monkeypatch):
    from assent.audit.verify.log import verify_log
    from assent.store.address import read_address

    monkeypatch.setenv("ASSENT_HOME", str(tmp_path / "home"))
    with app_with([make()], store="sqlite") as app:
        assert app.run_tool("sensitive_op", {"target": "/x"}).content == "done"
    report = verify_log(read_address(None, home=str(tmp_path / "home")), home=str(tmp_path / "home"))
    assert (report.ok, report.events) == (True, 4)


def test_a_question_survives_a_restart_and_its_answer_is_used_by_the_same_call(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSENT_HOME", str(tmp_path / "home"))
    given = {"target": "/x"}

    async def ask_and_leave(app):
        task = asyncio.create_task(app.call_tool("sensitive_op", given))
        await soon(lambda: app.session().waiting)
        app.session().withdraw = hang  # as a process that is killed: it withdraws nothing
        return task

    async def first(app):
        task = await ask_and_leave(app)
        task.cancel()
        with pytest.raises((asyncio.CancelledError, TimeoutError)):
            await asyncio.wait_for(task, 0.1)

    with app_with([make()], permission_policy=ASKS, store="sqlite", approval_handler=queue_approvals) as app:
        asyncio.run(first(app))

    async def second(app):
        (question,) = await app.session().pending()
        assert question.input == given
        await app.session().respond("approved")
        return await app.call_tool("sensitive_op", given)

    with app_with([make()], permission_policy=ASKS, store="sqlite", approval_handler=queue_approvals) as app:
        assert not asyncio.run(second(app)).is_error
        assert asyncio.run(_pending_of(app)) == ()
    assert [given] == RAN


async def _pending_of(app):
    return await app.session().pending()


def test_two_calls_at_once_are_two_questions_and_each_has_its_own_answer():
    async def scene(app):
        session = app.session()
        calls = [
            asyncio.create_task(session.call_tool("sensitive_op", {"target": t}, tool_call_id=t)) for t in ("a", "b")
        ]
        await soon(lambda: len(session.waiting) == 2)
        await session.respond("rejected", tool_call_id="b", feedback="use a")
        await session.respond("approved")
        return await asyncio.gather(*calls)

    with app_with([make()], permission_policy=ASKS, approval_handler=Handler(never)) as app:
        first, second = asyncio.run(scene(app))
    assert (first.is_error, second.is_error) == (False, True)
    assert "use a" in second.content
    assert [p["target"] for p in RAN] == ["a"]


@tool
def greet(name: str) -> str:
    """Greet somebody."""
    return f"hello {name}"


def test_a_result_can_be_written_as_it_is():
    with app_with([greet]) as app:
        result = app.run_tool("greet", {"name": "ann"})
    assert msgspec.json.decode(msgspec.json.encode(result))["content"] == "hello ann"


def test_a_protected_folder_is_no_workspace_and_one_that_nobody_chose_is_a_guess(tmp_path, monkeypatch):
    for name in ("home/.ssh", "home/project/.git", "home/notes"):
        (tmp_path / name).mkdir(parents=True)
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("ASSENT_HOME", str(tmp_path / "state"))
    with pytest.raises(ConfigError, match="cannot be a workspace"):
        create_agent_app(workspace=home / ".ssh")
    for folder, guessed in (("project", False), ("notes", True)):
        monkeypatch.chdir(home / folder)
        with create_agent_app() as app:
            assert (app._workspace.roots, app._workspace.guessed) == ((str(home / folder),), guessed)
        with create_agent_app(workspace=".") as app:
            assert not app._workspace.guessed
    monkeypatch.chdir(home / ".ssh")
    with create_agent_app() as app:
        assert app._workspace.roots == ()
