"""A token counts from the moment it is printed, whichever process made it; a revoked one never again."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
import time

import pytest
from websockets.sync.client import connect

from assent.model.principal import Role
from assent.server.auth import principals
from assent.server.auth.principals import Identities
from assent.server.auth.tokens import TokenRequest, issue, revoke
from daemons import PATIENT, Running
from keeping import Node

HOOK = {"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}


def make(daemon, *more):
    done = daemon.run("token", "create", *(more or ("--role", "user", "--user", "ci")))
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def deaf(tmp_path):
    """A daemon that hears late of what other processes write: as if the machine were busy."""
    code = (
        "import sys, time; from assent.store import sqlite; real = sqlite.SqliteWatch.wait\n"
        "def wait(self, stop):\n    stop.wait(600)\nsqlite.SqliteWatch.wait = wait\n"
        "from assent.__main__ import main; sys.exit(main())\n"
    )

    class Deaf(Running):
        def command(self, *words):
            if words[0] == "serve":
                return [sys.executable, "-c", code, *words]
            return super().command(*words)

    with Deaf(tmp_path, "--rate", "0") as running:
        yield running


def test_a_script_that_makes_a_token_and_uses_it_is_let_in(deaf):
    for _ in range(3):
        assert deaf.api(make(deaf)).get("/api/sessions").status_code == 200
    agent = deaf.api(make(deaf, "--role", "agent", "--agent", "ci", "--remote"))
    assert agent.post("/api/hooks/claude-code", json=HOOK).status_code == 200
    user = deaf.run("token", "create", "--role", "user", "--user", "ida").stdout.strip()
    address = deaf.url.replace("http", "ws") + "/ws/permissions?userId=ida"
    with connect(address, additional_headers={"Authorization": f"Bearer {user}"}, **PATIENT) as socket:
        assert json.loads(socket.recv())["type"] == "connected"


def test_a_token_that_was_revoked_does_not_come_back_by_being_looked_up(deaf):
    secret = make(deaf)
    agent = deaf.api(secret)
    assert agent.get("/api/sessions").status_code == 200
    (token,) = [t for t in json.loads(deaf.run("token", "list", "--json").stdout) if t["user"] == "ci"]
    admin = deaf.api(deaf.owner)
    assert admin.delete(f"/api/tokens/{token['id']}").status_code in (200, 204)
    for _ in range(3):
        assert agent.get("/api/sessions").status_code == 401
        assert deaf.api(make(deaf, "--role", "user", "--user", "another")).get("/api/sessions").is_success


def test_a_hook_and_a_stream_with_an_unknown_token_are_refused(daemon):
    stranger = daemon.api(f"assent_agent_{secrets.token_urlsafe(32)}")
    for _ in range(2):
        assert stranger.post("/api/hooks/claude-code", json=HOOK).status_code in (200, 401)
        assert stranger.get("/api/sessions").status_code == 401
    assert daemon.api("x" * 300).get("/api/sessions").status_code == 401


def headers(secret):
    return {b"authorization": b"Bearer " + secret.encode()}


class Counting:
    def __init__(self, store):
        self._store, self.queries = store, 0

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def query(self, *given):
        self.queries += 1
        return await self._store.query(*given)


def test_a_flood_of_unknown_tokens_is_looked_up_so_often_and_no_more(tmp_path):
    async def main():
        with Node(tmp_path / "home") as node:
            store = Counting(node.store)
            keys = Identities(store, cookie="c")
            for _ in range(10):
                await keys.meet(headers("the same"))
            assert store.queries == 1
            started = time.monotonic()
            for number in range(2000):
                await keys.meet(headers(str(number)))
                assert keys.identify(headers(str(number))) == (None, False)
            allowed = 2 * principals.LOOKS_A_SECOND + (time.monotonic() - started + 1) * principals.LOOKS_A_SECOND
            assert store.queries <= allowed
            assert len(keys._strangers) <= principals.MOST_STRANGERS

    asyncio.run(main())


def test_what_is_found_counts_and_what_was_revoked_or_is_a_link_does_not(tmp_path, monkeypatch):
    monkeypatch.setattr(principals, "MOST_STRANGERS", 1)

    async def main():
        with Node(tmp_path / "home") as node:
            keys = Identities(node.store, cookie="c")
            wish = TokenRequest(role=Role.AGENT, user="ann", agent="a")
            made = node.store.write(issue(wish, "ann", node.log)).result()
            assert keys.identify(headers(made.secret))[0] is None
            await keys.meet(headers(made.secret))
            assert keys.identify(headers(made.secret))[0].agent == "a"
            node.store.write(revoke(made.token.id, "ann", node.log)).result()
            await asyncio.wrap_future(keys.look())
            link = node.store.write(
                issue(TokenRequest(role=Role.USER, user="ann", kind="link"), "ann", node.log)
            ).result()
            for secret in (made.secret, link.secret):
                await keys.meet(headers(secret))
                assert keys.identify(headers(secret)) == (None, False)
            assert len(keys._strangers) == 1
            for nobody in ({}, {b"authorization": b"Basic xyz"}):
                await keys.meet(nobody)
                assert keys.identify(nobody)[0] is None
            assert len(keys._strangers) == 1

    asyncio.run(main())
