"""The typed clients ask everything the daemon offers, sync and async alike, and say what went wrong."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import inspect
import ipaddress
import itertools
import json
import re
import socket
import ssl
import subprocess
import sys
import threading
import urllib.parse
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

import assent.cli
import assent.sdk.client.runs
from assent import (
    ApiError,
    AsyncClient,
    Client,
    UnreachableError,
    create_agent_app,
    create_stream_route,
    define_tool,
    parse_rules,
)
from assent.model import ConfigError
from assent.runs.protocol.messages import RequestPermission, StrategyCompleted
from assent.sdk.client import http_transport
from assent.sdk.client.clients import find_client
from assent.sdk.client.requests import Ask, Endpoint
from assent.sdk.client.runs import RunProtocolError
from assent.server.http.openapi import make_document
from assent.server.live.websockets import PATHS
from assent.server.routes import ROUTES
from daemons import Running, until
from keeping import soon
from runners import write_strategy
from serving import Served

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
    assert asked.request_id in [p.id for p in person.permissions().pending]
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
    assert person.record(person.stats().audit_position).event.position > 0
    assert person.try_rule("Bash(node:*)", effect="deny").calls >= 0
    assert person.history(days=1) is not None
    assert two in [s.id for s in person.sessions().sessions]
    assert owner.verification() is not None
    assert isinstance(person.list_runs().runs, tuple)
    assert "assent_" in owner.metrics()
    assert "/metrics" in person.openapi()["paths"]
    asking = {"toolName": "bash", "toolInput": {"command": "ls"}, "sessionId": one}
    hooked = agent.hook("generic", asking, shell="/bin/bash")
    assert (hooked.exit, hooked.body["allow"], hooked.reason) == (0, True, None)
    refused = agent.hook("generic", asking | {"toolInput": {"command": "node ü.js"}})
    assert (refused.exit, refused.body["allow"]) == (2, False)
    assert "ü" in refused.reason or "node" in refused.reason
    positions = person.stats().audit_position
    agent.hook("generic", asking, observe=True)
    assert person.record(positions + 1).event.session == one


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

    async def export():
        client = AsyncClient(url=daemon.url, token=user_token)
        return [record["position"] async for record in client.export(session="stream")]

    positions = [record["position"] for record in person.export(session="stream")]
    assert len(positions) == 2
    assert asyncio.run(export()) == positions


def test_who_goes_on_with_a_stream_is_told_once_that_the_daemon_stopped_and_began_again(tmp_path):
    with Running(tmp_path) as daemon:
        events, told = Client(url=daemon.url, token=daemon.owner).events(types=["snapshot.updated"]), []
        place = next(place for place, event in events if event["payload"]["change"] == "daemon.started")
        for _ in range(2):
            daemon.stop()
            daemon.start()
        for _, event in Client(url=daemon.url, token=daemon.owner).events(after=place):
            told.append(event["payload"]["change"])
            if len(told) == 4:
                break
        assert told == ["daemon.stopped", "daemon.started"] * 2


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


@pytest.mark.parametrize(
    "url", ["nonsense", "ftp://127.0.0.1", "http://", "http:///x", "http://h:port", "http://h:99999", "http://[", "//h"]
)
def test_what_is_no_address_of_a_daemon_is_asked_nothing(url):
    for make in (Client, AsyncClient, lambda url: create_agent_app(url=url, token="t")):
        with pytest.raises(ConfigError, match="http://"):
            make(url=url)
    with pytest.raises(ConfigError, match="ASSENT_URL"):
        find_client({"ASSENT_URL": url, "ASSENT_TOKEN": "t"})


@contextlib.contextmanager
def listening(answer, context=None):
    """Serve one answer for each connection, and give the address with what was sent; no answer keeps silent."""
    heard = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    line, _ = server.accept()
                    if context is not None:
                        try:
                            line = context.wrap_socket(line, server_side=True)
                        except ssl.SSLError:
                            continue
                    heard.append(line.recv(1 << 16))
                    line.sendall(answer)
                    if answer:
                        line.close()
                    else:
                        kept.append(line)

        kept = []
        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", heard
        server.shutdown(socket.SHUT_RDWR)
        for line in kept:
            line.close()


WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]"


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize(
    "ask", [Ask("GET", "/", headers={"Last-Event-ID": "1\r\nX: y"}), Ask("GET", "/ HTTP/1.1\r\nX: y")]
)
def test_what_would_smuggle_in_a_header_is_not_sent(kind, ask):
    with listening(WHOLE) as (url, heard):
        with pytest.raises((ValueError, UnreachableError)):
            sent(kind(url=url, token="t"), ask)
        assert not any(heard)


def sent(client, ask):
    found = client.send(ask)
    return asyncio.run(_wait(found)) if isinstance(client, AsyncClient) else found


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_path_is_sent_as_it_is(kind):
    with listening(WHOLE) as (url, heard):
        assert sent(kind(url=url), Ask("GET", "/api/sessions/../%2e%2E/a%2Fb?x=%20")) == []
    assert heard[0].startswith(b"GET /api/sessions/../%2e%2E/a%2Fb?x=%20 HTTP/1.1\r\n")


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_no_proxy_or_password_of_the_environment_is_used(kind, monkeypatch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login ann password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    for name in ("HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
        monkeypatch.setenv(name.lower(), "http://127.0.0.1:1")
    with listening(WHOLE) as (url, heard):
        assert sent(kind(url=url), Ask("GET", "/x")) == []
    assert b"authorization" not in heard[0].lower()


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[]", b"HTTP/1.1 200 OK\r\nConten", b"hello\r\n\r\n", b""]
)
def test_an_answer_that_is_cut_short_or_no_http_or_late_is_none(kind, answer):
    with listening(answer) as (url, _), pytest.raises((UnreachableError, ApiError)):
        sent(kind(url=url, timeout=0.3), Ask("GET", "/x", "grants:GrantList"))


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_redirect_is_not_followed(kind):
    with listening(WHOLE) as (elsewhere, lured):
        moved = f"HTTP/1.1 307 Moved\r\nLocation: {elsewhere}/\r\nContent-Length: 0\r\n\r\n".encode()
        with listening(moved) as (url, _), pytest.raises(ApiError):
            sent(kind(url=url, token="t"), Ask("GET", "/x"))
    assert not lured


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_stream_that_is_silent_for_long_has_ended(kind, monkeypatch):
    monkeypatch.setattr(assent.sdk.client.clients, "_STREAM_SECONDS", 0.3)
    with listening(b"") as (url, _):
        stream = kind(url=url).events()
        with pytest.raises(UnreachableError):
            asyncio.run(_drain(stream)) if kind is AsyncClient else next(stream)


def certificate(folder):
    """Make a certificate of 127.0.0.1 that signs itself, with its key in the same file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    day = dt.timedelta(days=1)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now - day, now + day)
    made = made.add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), True).sign(key, hashes.SHA256())
    plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file = folder / "daemon.pem"
    file.write_bytes(made.public_bytes(Encoding.PEM) + plain)
    return file


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_token_is_sent_by_tls_only_to_whom_the_system_trusts(kind, tmp_path, monkeypatch):
    file = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    http_transport._context.cache_clear()
    with listening(WHOLE, context) as (url, heard):
        client = kind(url=url.replace("http:", "https:"), token="t")
        with pytest.raises(UnreachableError, match=r"(?i)certificate"):
            sent(client, Ask("GET", "/x"))
        assert not heard
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        http_transport._context.cache_clear()
        assert sent(client, Ask("GET", "/x")) == []
        assert len(heard) == 1
    http_transport._context.cache_clear()


def test_requests_of_one_client_come_from_any_number_of_loops():
    with listening(WHOLE) as (url, heard):
        client = AsyncClient(url=url)

        async def several():
            return await asyncio.gather(*(client.send(Ask("GET", "/x")) for _ in range(5)))

        threads = [threading.Thread(target=lambda: asyncio.run(several())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(heard) == 20


def test_the_http_library_is_loaded_with_the_first_request():
    code = "import sys, assent; assent.AsyncClient(), assent.Client(); assert not {'httpx', 'anyio'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


STREAMS = {
    ("GET", "/api/runtime/events"): "events",
    ("GET", "/api/sessions/{id}/stream"): "session_events",
    ("GET", "/api/audit/export"): "export",
}
"""What is followed rather than asked."""
FILTERS = ("type", "session", "user", "agent", "tool", "tier", "verdict", "source", "digest", "approval", "since",
           "until", "text")  # fmt: skip


SOCKETS = {"/ws": "runs", "/ws/permissions": "inbox"}


def endpoints():
    return {
        name: each.make for kind in Client.__mro__ for name, each in vars(kind).items() if isinstance(each, Endpoint)
    }


def made(make, *, full):
    """Make a request, with nothing but what it needs, or with everything that it takes."""
    values = {"given": {}, "events": [], "argv": [], "violation": {}, "minutes": 1, "position": 1}
    wanted = {}
    for name, each in inspect.signature(make).parameters.items():
        if each.kind is each.VAR_KEYWORD:
            wanted |= dict.fromkeys(FILTERS, "x") if full and make.__name__ == "audit" else {}
        elif full or each.default is each.empty:
            wanted[name] = values.get(name, "x")
    return make(**wanted)


def operations():
    paths = make_document(ROUTES, "0")["paths"]
    return {(m.upper(), path): about for path, methods in paths.items() for m, about in methods.items()}


def test_every_operation_that_the_daemon_offers_is_a_method_of_both_clients():
    patterns = {key: re.compile(re.sub(r"\{\w+\}", "[^/]+", key[1])) for key in operations()}
    found = {}
    for name, make in endpoints().items():
        ask = made(make, full=False)
        path = ask.path.partition("?")[0]
        matches = [key for key, pattern in patterns.items() if key[0] == ask.method and pattern.fullmatch(path)]
        assert matches, f"{name} leads nowhere"
        found[min(matches, key=lambda key: key[1].count("{"))] = name
    assert found.keys() | STREAMS.keys() == operations().keys()
    assert SOCKETS.keys() == set(PATHS)
    for name in (*found.values(), *STREAMS.values(), *SOCKETS.values()):
        assert callable(getattr(Client(), name))
        assert callable(getattr(AsyncClient(), name))


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_what_narrows_a_stream_can_be_said_by_both_clients(kind, monkeypatch):
    paths = []
    monkeypatch.setattr(kind, "_lines", lambda _, path, after=None: paths.append((path, after)) or iter(()))
    client = kind()

    def drain(stream):
        return asyncio.run(_drain(stream)) if kind is AsyncClient else list(stream)

    with contextlib.suppress(TypeError, AttributeError):  # there is nothing to go through, once the path is known
        drain(client.events(session="s", types=["a"], user="u", after="p"))
    with contextlib.suppress(TypeError, AttributeError):
        drain(client.export(**dict.fromkeys(FILTERS, "x")))
    for (path, after), route in zip(paths, ("/api/runtime/events", "/api/audit/export"), strict=True):
        said, _, query = path.partition("?")
        documented = {p["name"] for p in operations()["GET", route]["parameters"]}
        assert said == route
        assert {*urllib.parse.parse_qs(query), *(["after"] if after else [])} == documented


async def _drain(stream):
    return [each async for each in stream]


def test_every_parameter_and_field_that_the_daemon_documents_can_be_given():
    schemas = make_document(ROUTES, "0")["components"]["schemas"]
    bodies = {}
    for (method, path), about in operations().items():
        content = about.get("requestBody", {}).get("content", {}).get("application/json")
        bodies[method, path] = (
            set(schemas[content["schema"]["$ref"].rpartition("/")[2]]["properties"]) if content else set()
        )
    for name, make in endpoints().items():
        ask = made(make, full=True)
        path, _, query = ask.path.partition("?")
        key = next(k for k in sorted(operations(), key=lambda k: k[1].count("{"))
                   if k[0] == ask.method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", k[1]), path))  # fmt: skip
        documented = {p["name"] for p in operations()[key].get("parameters", ()) if p["in"] == "query"}
        assert set(urllib.parse.parse_qs(query)) == documented, name
        sent = set(json.loads(ask.body)) if ask.body and name != "hook" else set()
        # Who asks is what the token says, and the daemon holds no questions in words: a client has no way to say more.
        assert bodies[key] - sent <= {"agentId", "userId", "agent_id", "user_id", "kind", "answer"}, name
        assert sent <= bodies[key] or name == "hook", name


COMMAND_LINE = Path(assent.cli.__file__).parent
WAYS_OUT = ("http.client", "urllib.request", "socket", "websockets", "httpx", "open_unix_connection", "open_connection")
OF_THEIR_OWN = {
    "hook_client.py": "it is copied beside an agent and runs without Assent, in a few milliseconds",
    "redeem.py": "it names the socket in messages alone: what it says goes through run_record.py",
    "run_record.py": "every `assent run` waits for it, and loading the client takes longer than the answer",
}


def test_the_command_line_asks_the_daemon_by_these_clients():
    asking = set()
    for file in COMMAND_LINE.rglob("*.py"):
        text = file.read_text()
        if file.name not in OF_THEIR_OWN:
            assert not any(re.search(rf"\b{re.escape(way)}\b", text) for way in WAYS_OUT), file.name
        if re.search(r"find_client|RunClient|sdk\.sessions\.daemon_backend", text):
            asking.add(file.stem)
    assert asking >= {"answer", "pending", "doctor", "runs", "mcp", "run_record"}


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


def told(daemon, session, count):
    person = Client(url=daemon.url, token=daemon.owner)
    stream = person.events(session=session)
    found = [event for _, event in itertools.islice(stream, count)]
    stream.close()
    return found


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_the_events_of_a_call_are_the_same_with_a_daemon_and_without(daemon, agent_token):
    def scene(app):
        asyncio.run(app.call_tool("note", {"text": "x"}, session_id="same", tool_call_id="c1", traceparent=TRACE))
        asyncio.run(app.call_tool("note", {"text": 3}, session_id="same", tool_call_id="c2"))
        asyncio.run(app.call_tool("note", {"text": "break"}, session_id="same", tool_call_id="c3"))

    def run(params):
        if params["text"] == "break":
            raise ValueError("it is stuck")
        return "noted"

    note = define_tool(
        name="note", parameters={"type": "object", "properties": {"text": {"type": "string"}}}, execute=run
    )
    daemon.user_file.write_text("permissions:\n  allow: [note]\n")
    policy = {"allow": parse_rules(["note"])}
    with create_agent_app(tools=[note], permission_policy=policy, hooks=[lambda n, g: None]) as app:
        scene(app)
        app.judge._log._store.write(app.judge._log._write_notes).result()
        here = [row[0] for row in app.judge.store.fetch("SELECT type FROM events ORDER BY position")]
    client = Client(url=daemon.url, token=daemon.owner)
    until(lambda: client.decide("note", {"text": "x"}, cwd=str(daemon.project)).decision == "allow")
    with create_agent_app(
        tools=[note], url=daemon.url, token=agent_token, workspace=daemon.project, hooks=[lambda n, g: None]
    ) as app:
        scene(app)
    there = told(daemon, "same", len(here) + here.count("tool.started"))
    arguments = [event["payload"]["args"] for event in there if event["type"] == "tool.args"]
    assert arguments == [{"text": "x"}, {"text": "break"}]
    assert sorted(event["type"] for event in there if event["type"] != "tool.args") == sorted(here)
    assert here.count("hook.started") == here.count("hook.completed") == 2
    by_call = {}
    for event in there:
        by_call.setdefault(event["toolCallId"], []).append(event["type"])
    ran = ["permission.evaluated", "sandbox.applied", "tool.started", "tool.args"]
    assert [kind for kind in by_call["c1"] if not kind.startswith("hook.")] == [*ran, "tool.result"]
    assert [kind for kind in by_call["c3"] if not kind.startswith("hook.")] == [*ran, "tool.failed"]
    assert by_call["c2"] == ["tool.failed"]
    result = next(e for e in there if e["type"] == "tool.result")
    evaluated = next(e for e in there if e["type"] == "permission.evaluated")
    assert result["payload"]["digest"] == evaluated["permissionDecision"]["digest"]
    assert (evaluated["traceId"], evaluated["spanId"]) == tuple(TRACE.split("-")[1:3])
    assert result["traceId"] == evaluated["traceId"]
    assert next(e for e in there if e["type"] == "tool.started")["sandboxProfile"]["mode"] == "off"


def test_what_no_decision_let_run_is_written_down_as_just_that(daemon, agent_token):
    agent = Client(url=daemon.url, token=agent_token)
    event = {"type": "tool.result", "toolName": "deploy", "toolCallId": "c1", "status": "completed"}
    assert agent.report_events("lone", [event]).recorded == 1
    (told_event,) = told(daemon, "lone", 1)
    assert "without a decision that is known" in told_event["payload"]["summary"]
    assert told_event["payload"]["reportedBy"]


@pytest.mark.parametrize("kind", ["permission.evaluated", "permission.resolved", "tool.started", "nonsense"])
def test_a_host_can_not_tell_what_is_not_its_to_tell(daemon, agent_token, kind):
    with pytest.raises(ApiError) as refused:
        Client(url=daemon.url, token=agent_token).report_events("s", [{"type": kind, "toolName": "x"}])
    assert refused.value.status == 400


def test_where_the_program_has_nobody_to_ask_no_question_is_left_in_the_shared_queue(daemon, agent_token):
    RAN.clear()
    with shared_app(daemon, agent_token, interactive=False) as app:
        result = app.run_tool("deploy", {"quiet": True}, session_id="mute")
    assert result.judgement.source == "not_interactive"
    assert [p for p in Client(url=daemon.url, token=daemon.owner).permissions().pending if p.session_id == "mute"] == []
    assert RAN == []


class Says:
    """An approval handler that says one word."""

    def __init__(self, word) -> None:
        self.word = word

    async def request_approval(self, **_):
        return self.word


@pytest.mark.parametrize("word", ["approved", "rejected"])
def test_a_handler_whose_answer_does_not_count_there_can_only_refuse_and_does_so_at_once(daemon, agent_token, word):
    RAN.clear()
    with shared_app(daemon, agent_token, approval_handler=Says(word)) as app:
        result = app.run_tool("deploy", {"word": word}, session_id=f"handler-{word}")
    assert result.is_error
    assert ("answer_token" in result.content) == (word == "approved")
    assert RAN == []
    kinds = [e["type"] for e in told(daemon, f"handler-{word}", 4)]
    assert kinds == ["permission.evaluated", "permission.requested", "action.required", "tool.failed"]


def test_a_handler_with_a_token_of_somebody_who_may_answers(daemon, agent_token, user_token):
    RAN.clear()
    with shared_app(daemon, agent_token, approval_handler=Says("approved"), answer_token=user_token) as app:
        assert app.run_tool("deploy", {"handled": True}, session_id="handled").content == "done"
    assert RAN == [{"handled": True}]


@pytest.mark.parametrize("word", ["approved", "rejected"])
def test_a_handler_that_is_made_for_a_session_is_asked_about_the_shared_queues_questions_too(
    daemon, agent_token, user_token, word
):
    RAN.clear()

    async def turn(session, message):
        return await session.call_tool("deploy", {"made": message})

    with shared_app(daemon, agent_token, turn=turn, answer_token=user_token) as app:
        router = create_stream_route(
            app, authorize=lambda *_: daemon.user, create_permission_approval_handler=lambda _: Says(word)
        )
        with Served(router) as running, running.client() as client:
            answer = client.post(f"/api/sessions/made-{word}/stream", json={"message": word}, timeout=60)
    assert f'"decision":"{word}"' in answer.text
    assert ([{"made": word}] if word == "approved" else []) == RAN


def test_questions_come_and_are_answered_over_the_sockets_too(daemon, agent_token, user_token):
    async def scene():
        agent, person = (AsyncClient(url=daemon.url, token=token) for token in (agent_token, user_token))
        asked = await agent.classify("bash", {"command": "node inbox.js"}, session="inbox")
        async with person.inbox() as inbox, asyncio.timeout(60):
            kinds = []
            async for notice in inbox:
                kinds.append(notice.type)
                if notice.type == "permission_request" and notice.data["id"] == asked.request_id:
                    await inbox.decide(asked.request_id, "reject", feedback="no")
                if notice.type == "decision_ack" and notice.data["requestId"] == asked.request_id:
                    break
        assert kinds[0] == "connected"
        async with person.runs() as runs:
            assert isinstance(await runs.list_runs(), tuple)
        return await person.permission(asked.request_id)

    assert asyncio.run(scene()).status == "rejected"


def test_code_that_waits_has_the_sockets_too(daemon, agent_token, user_token, tmp_path):
    agent, person = (Client(url=daemon.url, token=token) for token in (agent_token, user_token))
    asked = agent.classify("bash", {"command": "node waits.js"}, session="waits")
    with person.inbox() as inbox:
        notices = iter(inbox)
        assert next(notices).type == "connected"
        inbox.ping()
        first = next(n for n in notices if n.type == "permission_request" and n.data["id"] == asked.request_id)
        # Another thread may answer while this one waits for what is said next.
        other = threading.Thread(target=lambda: inbox.decide(first.data["id"], "reject", feedback="no"))
        other.start()
        assert next(n for n in notices if n.type == "decision_ack").data["requestId"] == asked.request_id
        other.join()
    assert person.permission(asked.request_id).status == "rejected"
    strategy = write_strategy(tmp_path, f"- {{agent: a, tool: write_file, input: {{path: {tmp_path}/y, content: x}}}}")
    with Client(home=str(daemon.state), token=daemon.owner).runs() as runs:
        run = runs.prepare(str(strategy), cwd=str(daemon.project))
        assert runs.start(run.run_id) is None
        for message in runs:
            if isinstance(message, RequestPermission):
                runs.decide(message, "allow")
            if isinstance(message, StrategyCompleted):
                break
        assert run.run_id in [each.run_id for each in runs.list_runs()]
        with pytest.raises(RunProtocolError) as wrong:
            runs.stop("nope")
        assert wrong.value.code == "RUN_NOT_FOUND"
    assert (tmp_path / "y").read_text() == "x"


def test_a_socket_that_is_refused_or_not_there_says_so_to_code_that_waits(daemon, agent_token, user_token):
    with pytest.raises(UnreachableError), Client(url="http://127.0.0.1:1").runs():
        pass
    with pytest.raises(UnreachableError, match="403"), Client(url=daemon.url, token=agent_token).runs():
        pass
    with Client(url=daemon.url, token=user_token).inbox(everyone=True) as inbox, pytest.raises(ApiError) as refused:
        list(inbox)
    assert refused.value.status == 403
    with Client(url=daemon.url, token=daemon.owner).inbox(everyone=True) as inbox:
        assert next(iter(inbox)).type == "connected"
    assert [t.name for t in threading.enumerate() if t.name == "assent-socket"] == []


def test_the_inbox_of_somebody_else_is_closed(daemon, user_token):
    async def scene():
        async with AsyncClient(url=daemon.url, token=user_token).inbox("stranger") as inbox, asyncio.timeout(60):
            async for _ in inbox:
                pass

    with pytest.raises(ApiError) as refused:
        asyncio.run(scene())
    assert refused.value.status == 403


def test_a_policy_and_a_check_of_ones_own_only_tighten_what_the_daemon_says(daemon, agent_token):
    RAN.clear()
    with shared_app(daemon, agent_token, permission_policy={"deny": parse_rules(["deploy"])}) as app:
        result = app.run_tool("deploy", {})
        assert "denied by deploy" in result.content
        assert result.judgement.source == "host_policy"
    with shared_app(daemon, agent_token, tool={"check_permissions": lambda p: ("deny", "closed today")}) as app:
        assert "closed today" in app.run_tool("deploy", {}).content
    with shared_app(
        daemon, agent_token, permission_policy={"allow": parse_rules(["deploy"])}, interactive=False
    ) as app:
        assert app.run_tool("deploy", {}).is_error
    assert RAN == []


def test_what_a_person_changed_in_the_shared_queue_is_held_against_the_programs_own_policy(
    daemon, agent_token, user_token
):
    RAN.clear()
    person = Client(url=daemon.url, token=user_token)

    async def scene(app, changed):
        session = app.session(f"changed-{changed}")
        call = asyncio.create_task(session.call_tool("deploy", {"path": "/srv/a"}))
        await soon(lambda: session.waiting)
        (asked,) = session.waiting
        await asyncio.to_thread(person.answer, asked, "approve", modified_input={"path": changed})
        return await call

    policy = {"deny": parse_rules(["deploy(/etc/**)"])}
    with shared_app(daemon, agent_token, permission_policy=policy) as app:
        assert asyncio.run(scene(app, "/srv/b")).content == "done"
        assert "denied by deploy(/etc/**)" in asyncio.run(scene(app, "/etc/b")).content
    assert RAN == [{"path": "/srv/b"}]
    ran = [e["payload"]["args"] for e in told(daemon, "changed-/srv/b", 11) if e["type"] == "tool.args"]
    assert ran == [{"path": "/srv/b"}]


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
        assert "cannot be reached" in app.run_tool("deploy", {}).content
    assert RAN == []
    with pytest.raises(ConfigError, match="token"):
        create_agent_app(url="http://127.0.0.1:1")


def test_the_client_of_runs_is_found_by_the_name_of_its_package_and_loaded_when_it_is_used():
    assert assent.sdk.RunClient is assent.sdk.client.runs.RunClient
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = assent.sdk.Nothing
    code = "import sys, assent.sdk; assert 'websockets' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
