"""The typed clients ask everything the daemon offers, sync and async alike, and say what went wrong."""

from __future__ import annotations

import asyncio
import itertools
import re

import pytest

from assent import ApiError, AsyncClient, Client, UnreachableError, create_agent_app, define_tool, parse_rules
from assent.model import ConfigError
from assent.sdk.endpoints import Endpoint, Endpoints
from assent.sdk.transport import write_head
from assent.server.table import ROUTES
from daemons import Running
from keeping import soon

RAN: list = []
_numbers = itertools.count()


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    with Running(tmp_path_factory.mktemp("client"), "--rate", "0") as running:
        yield running


@pytest.fixture(scope="module")
def agent_token(daemon):
    return daemon.mint("agent", agent="coder", workspace=[str(daemon.project)])


@pytest.fixture(scope="module")
def user_token(daemon):
    return daemon.mint("user")


@pytest.fixture(params=["sync", "async", "socket", "async socket"])
def make(request, daemon):
    """Make a client of one kind whose methods return what they find."""
    where = {"home": str(daemon.state)} if "socket" in request.param else {"url": daemon.url}

    def client(token):
        if "async" not in request.param:
            return Client(**where, token=token)
        inner = AsyncClient(**where, token=token)

        class Waiting:
            def __getattr__(self, name):
                return lambda *a, **k: asyncio.run(_wait(getattr(inner, name)(*a, **k)))

        return Waiting()

    return client


async def _wait(work):
    return await work


def test_a_client_asks_answers_and_looks_back(make, daemon, agent_token, user_token):
    agent, person, owner = make(agent_token), make(user_token), make(daemon.owner)
    one, two = f"one-{next(_numbers)}", f"two-{next(_numbers)}"
    asked = agent.classify("bash", {"command": "node x.js"}, cwd=str(daemon.project), session=one)
    assert not asked.allow
    assert [p.id for p in person.permissions().pending] == [asked.request_id]
    assert person.permission(asked.request_id).command == "node x.js"
    assert person.answer(asked.request_id, "reject", feedback="no").status == "rejected"
    evaluated = agent.evaluate_permission("bash", {"command": "node y.js"}, session=one)
    assert evaluated.permission_decision.decision == "ask"
    assert person.respond_action(evaluated.action_id, "deny").status == "rejected"
    agent.evaluate_permission("bash", {"command": "node z.js"}, session=two)
    assert person.respond(two, "approved").ok
    assert person.permission_state(session=two).pending_actions == ()
    assert person.evidence(two)["sessionId"] == two
    assert person.ref(evaluated.action_id).kind == "action"
    assert person.audit(session=two, limit=5).events
    assert person.policy().version
    assert person.decide("bash", {"command": "ls"}).decision == "allow"
    assert person.grants().grants == ()
    enabled = person.enable_destructive(1, agent="coder")
    assert [e.id for e in person.enablements().enablements] == [enabled.id]
    assert person.disable_destructive(enabled.id)
    made = owner.create_token("agent", agent="x", remote=True)
    assert made.token.id in [t.id for t in owner.tokens().tokens]
    assert owner.revoke_token(made.token.id)
    assert (person.who().role, person.health().status) == ("user", "ok")
    assert person.stats().audit_position > 0


def test_a_client_says_why_it_was_refused(make, agent_token):
    with pytest.raises(ApiError) as refused:
        make(agent_token).tokens()
    assert refused.value.status == 403
    with pytest.raises(ApiError) as unknown:
        make("assent_nonsense").permissions()
    assert unknown.value.status == 401


def test_streams_are_followed_and_resumed(daemon, agent_token, user_token):
    agent = Client(url=daemon.url, token=agent_token)
    for command in ("ls", "pwd"):
        agent.evaluate_permission("bash", {"command": command}, session="stream")
    person = Client(url=daemon.url, token=user_token)
    stream = person.events(session="stream", types=["permission.*"])
    (first, one), (_, two) = next(stream), next(stream)
    stream.close()
    assert [one["sequence"], two["sequence"]] == [0, 1]
    again = person.events(session="stream", after=first)
    assert next(again)[1]["eventId"] == two["eventId"]
    again.close()
    assert next(person.session_events("stream"))[1]["type"] == "session.start"

    async def follow():
        client = AsyncClient(url=daemon.url, token=user_token)
        async for _, event in client.events(session="stream"):
            return event["eventId"]
        return None

    assert asyncio.run(follow()) == one["eventId"]


def test_a_stream_that_may_not_be_read_says_so(daemon, agent_token):
    with pytest.raises(ApiError):
        next(Client(url=daemon.url, token=agent_token).events())

    async def follow():
        async for _ in AsyncClient(url=daemon.url, token=agent_token).events():
            pass

    with pytest.raises(ApiError):
        asyncio.run(follow())


def test_a_daemon_that_is_not_there_is_unreachable(tmp_path):
    for where in ({"url": "http://127.0.0.1:1"}, {"home": str(tmp_path)}):
        with pytest.raises(UnreachableError):
            Client(**where).health()
        with pytest.raises(UnreachableError):
            asyncio.run(_wait(AsyncClient(**where).health()))


def test_what_would_smuggle_in_a_header_is_not_sent():
    with pytest.raises(ValueError, match="line break"):
        write_head("GET", "/", {"Last-Event-ID": "1\r\nX: y"}, 0)


def test_every_method_leads_to_a_route_that_there_is():
    known = [(r.method, re.compile(re.sub(r"\{\w+\}", "[^/]+", r.path))) for r in ROUTES]
    methods = {name: e for name, e in vars(Endpoints).items() if isinstance(e, Endpoint)}
    assert len(methods) > 20
    for name, endpoint in methods.items():
        code = endpoint.make.__func__ if isinstance(endpoint.make, staticmethod) else endpoint.make
        needed = code.__code__.co_varnames[: code.__code__.co_argcount]
        ask = endpoint.make(*["x" if arg != "given" else {} for arg in needed])
        path = ask.path.partition("?")[0]
        assert any(m == ask.method and p.fullmatch(path) for m, p in known), name


def shared_app(daemon, agent_token, **more):
    write = define_tool(
        name="deploy", parameters={"type": "object"}, execute=lambda p: RAN.append(p) or "done", **more.pop("tool", {})
    )
    return create_agent_app(tools=[write], url=daemon.url, token=agent_token, workspace=daemon.project, **more)


def test_with_a_url_the_same_code_uses_the_shared_queue(daemon, agent_token, user_token):
    RAN.clear()

    async def scene(app):
        person = AsyncClient(url=daemon.url, token=user_token)
        session = app.session("shared")
        call = asyncio.create_task(session.call_tool("deploy", {"to": "prod"}, tool_call_id="c1"))
        await soon(lambda: session.waiting)
        (question,) = [p for p in (await person.permissions()).pending if p.session_id == "shared"]
        assert (question.tool_name, question.tool_input, question.tool_call_id) == ("deploy", {"to": "prod"}, "c1")
        assert [q.id for q in await session.pending()] == [question.id]
        await person.answer(question.id, "approve")
        return await call

    with shared_app(daemon, agent_token) as app:
        assert asyncio.run(scene(app)).content == "done"
    assert RAN == [{"to": "prod"}]


def test_a_policy_and_a_check_of_ones_own_only_tighten_what_the_daemon_says(daemon, agent_token):
    RAN.clear()
    with shared_app(daemon, agent_token, permission_policy={"deny": parse_rules(["deploy"])}) as app:
        result = app.run_tool("deploy", {})
        assert "denied by deploy" in result.content
        assert result.judgement.source == "tool_check"
    with shared_app(daemon, agent_token, tool={"check_permissions": lambda p: ("deny", "closed today")}) as app:
        assert "closed today" in app.run_tool("deploy", {}).content
    with shared_app(
        daemon, agent_token, permission_policy={"allow": parse_rules(["deploy"])}, interactive=False
    ) as app:
        assert app.run_tool("deploy", {}).is_error
    assert RAN == []


def test_answers_given_in_the_application_need_a_token_of_somebody_who_may(daemon, agent_token, user_token):
    async def scene(app):
        session = app.session("own", user="ann")
        call = asyncio.create_task(session.call_tool("deploy", {"n": app.name}))
        await soon(lambda: session.waiting)
        await session.respond("rejected", feedback="not today")
        return await call

    with shared_app(daemon, agent_token, answer_token=user_token) as app:
        app.name = "with"
        assert "not today" in asyncio.run(scene(app)).content
    with shared_app(daemon, agent_token) as app:
        app.name = "without"
        with pytest.raises(Exception, match="answer_token"):
            asyncio.run(scene(app))


def test_a_daemon_that_is_gone_allows_nothing():
    RAN.clear()
    tool = define_tool(name="deploy", parameters={}, execute=RAN.append)
    with create_agent_app(tools=[tool], url="http://127.0.0.1:1", token="x") as app:
        assert "can not be reached" in app.run_tool("deploy", {}).content
    assert RAN == []
    with pytest.raises(ConfigError, match="token"):
        create_agent_app(url="http://127.0.0.1:1")
