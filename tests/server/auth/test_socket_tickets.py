"""`POST /api/login/ticket`: what lets a page that can only say `new WebSocket(url)` in, once and soon."""

from __future__ import annotations

import contextlib
import json
import sqlite3

import pytest
import websockets
from websockets.sync.client import connect

from daemons import PATIENT


def ticket(daemon, token):
    given = daemon.api(token).post("/api/login/ticket", json={})
    assert given.status_code == 200
    assert given.json()["expiresIn"] == 30
    return given.json()["ticket"]


def plain(daemon, path, **headers):
    """Connect as a page does: with an address, an origin, and nothing else."""
    return connect(f"ws://127.0.0.1:{daemon.port}{path}", origin=daemon.url, additional_headers=headers, **PATIENT)


def status_of(daemon, path, **headers):
    with pytest.raises(websockets.InvalidStatus) as caught:
        plain(daemon, path, **headers)
    return caught.value.response.status_code


def first_of(ws):
    with contextlib.suppress(websockets.ConnectionClosed):
        return json.loads(ws.recv(timeout=60))["type"]
    return ws.close_code


def test_a_ticket_opens_one_socket_once(daemon):
    given = ticket(daemon, daemon.mint("user"))
    with plain(daemon, f"/ws?ticket={given}") as ws:
        ws.send('{"type": "ping"}')
        assert first_of(ws) == "pong"
    assert status_of(daemon, f"/ws?ticket={given}") == 401
    with plain(daemon, f"/ws/permissions?userId={daemon.user}&ticket={given}") as ws:
        assert first_of(ws) == 4401


def test_a_ticket_opens_the_socket_of_questions_for_its_own_user_alone(daemon):
    token = daemon.mint("user", user="alice")
    with plain(daemon, f"/ws/permissions?userId=alice&ticket={ticket(daemon, token)}") as ws:
        assert first_of(ws) == "connected"
    with plain(daemon, f"/ws/permissions?userId=bob&ticket={ticket(daemon, token)}") as ws:
        assert first_of(ws) == 4403
    with plain(daemon, f"/ws/permissions?userId=alice&everyone=true&ticket={ticket(daemon, token)}") as ws:
        assert first_of(ws) == 4403


def test_a_ticket_that_is_too_old_opens_nothing(daemon):
    given = ticket(daemon, daemon.owner)
    with contextlib.closing(sqlite3.connect(daemon.state / "assent.db")) as database, database:
        assert database.execute("UPDATE tokens SET expires_at = 1 WHERE kind = 'ticket' AND used_at IS NULL").rowcount
    assert status_of(daemon, f"/ws?ticket={given}") == 401


@pytest.mark.parametrize("given", ["nonsense", "x" * 5000, "%00", "assent_ticket_" + "A" * 43])
def test_what_is_no_ticket_opens_nothing(daemon, given):
    assert status_of(daemon, f"/ws?ticket={given}") == 401


def test_an_agent_gets_no_ticket_and_nobody_gets_one_without_a_token(daemon):
    assert daemon.api(daemon.mint("agent", agent="a")).post("/api/login/ticket", json={}).status_code == 403
    assert daemon.api().post("/api/login/ticket", json={}).status_code == 401


def test_a_token_is_no_ticket_and_a_ticket_is_no_token(daemon):
    assert status_of(daemon, f"/ws?ticket={daemon.owner}") == 401
    given = ticket(daemon, daemon.owner)
    assert daemon.api(given).get("/api/permissions").status_code == 401
    assert daemon.api(origin=daemon.url).post("/api/login", json={"code": given}).status_code == 401
    assert daemon.api(origin=daemon.url).post("/api/login", json={"token": given}).status_code == 401


def test_a_ticket_ends_with_the_token_it_was_got_with(daemon):
    owner = daemon.api(daemon.owner)
    minted = owner.post("/api/tokens", json={"role": "user"}).json()
    unused, used = ticket(daemon, minted["secret"]), ticket(daemon, minted["secret"])
    with plain(daemon, f"/ws?ticket={used}") as ws:
        ws.send('{"type": "ping"}')
        assert first_of(ws) == "pong"
        assert owner.delete(f"/api/tokens/{minted['token']['id']}").status_code == 200
        with contextlib.suppress(websockets.ConnectionClosed):
            ws.send('{"type": "ping"}')
        assert first_of(ws) == 4401
    assert status_of(daemon, f"/ws?ticket={unused}") == 401


def test_a_ticket_does_not_help_another_site_nor_a_bad_token(daemon):
    given = ticket(daemon, daemon.owner)
    with pytest.raises(websockets.InvalidStatus) as caught:
        connect(f"ws://127.0.0.1:{daemon.port}/ws?ticket={given}", origin="https://evil.example", **PATIENT)
    assert caught.value.response.status_code == 403
    assert status_of(daemon, f"/ws?ticket={given}", Authorization="Bearer nonsense") == 401
    with plain(daemon, f"/ws?ticket={given}") as ws:  # neither has used it
        ws.send('{"type": "ping"}')
        assert first_of(ws) == "pong"
