"""One-time links, sessions of browsers, and tokens: made once, shown once, ended for good."""

from __future__ import annotations

import json
import sqlite3
import stat
import subprocess

import pytest

from daemons import Running, until


def link(daemon, *words):
    done = daemon.run("token", "link", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().partition("#")[2]


def browser(daemon):
    return daemon.api(origin=daemon.url)


def test_a_link_becomes_a_session_once(daemon):
    code = link(daemon)
    first = browser(daemon)
    done = first.post("/api/login", json={"code": code})
    assert done.json() == {"userId": daemon.user, "role": "admin"}
    cookie = done.headers["set-cookie"]
    assert cookie.startswith(f"assent-{daemon.port}=")
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert first.get("/api/login").json()["role"] == "admin"
    again = browser(daemon).post("/api/login", json={"code": code})
    assert again.status_code == 401
    assert "set-cookie" not in again.headers


@pytest.mark.parametrize("code", ["", "nonsense", "x" * 5000, "ü", "assent_link_" + "A" * 43])
def test_another_code_is_no_login(daemon, code):
    assert browser(daemon).post("/api/login", json={"code": code}).status_code in (400, 401)


def test_a_link_is_no_token_and_a_session_is_no_bearer(daemon):
    code = link(daemon)
    assert daemon.api(code).get("/api/permissions").status_code == 401
    client = browser(daemon)
    client.post("/api/login", json={"code": code})
    (cookie,) = client.cookies.jar
    assert daemon.api(cookie.value).get("/api/permissions").status_code == 401
    forged = {"cookie": f"{cookie.name}={daemon.owner}"}
    assert daemon.api().get("/api/permissions", headers=forged).status_code == 401


def test_a_token_is_no_code(daemon):
    assert browser(daemon).post("/api/login", json={"code": daemon.owner}).status_code == 401
    assert browser(daemon).post("/api/login", json={"token": link(daemon)}).status_code == 401
    both = {"code": link(daemon), "token": daemon.owner}
    assert browser(daemon).post("/api/login", json=both).status_code == 400


def test_a_persons_token_becomes_a_session_and_an_agents_does_not(daemon):
    client = browser(daemon)
    done = client.post("/api/login", json={"token": daemon.mint("user", user="carol")})
    assert done.json() == {"userId": "carol", "role": "user"}
    assert "HttpOnly" in done.headers["set-cookie"]
    assert client.get("/api/login").json() == {"userId": "carol", "role": "user"}
    for token in (daemon.mint("agent", agent="a"), "nonsense", ""):
        refused = browser(daemon).post("/api/login", json={"token": token})
        assert refused.status_code in (400, 401)
        assert "set-cookie" not in refused.headers


def test_a_session_ends_with_the_token_that_opened_it(daemon):
    made = daemon.api(daemon.owner).post("/api/tokens", json={"role": "user", "expiresIn": 3600}).json()
    client = browser(daemon)
    assert client.post("/api/login", json={"token": made["secret"]}).status_code == 200
    listed = daemon.api(daemon.owner).get("/api/tokens").json()["tokens"]
    session = max((t for t in listed if t["kind"] == "cookie"), key=lambda t: t["created_at"])
    assert session["expires_at"] <= made["token"]["expires_at"]
    daemon.api(daemon.owner).delete(f"/api/tokens/{made['token']['id']}")
    assert client.get("/api/login").status_code == 401


def test_logging_out_ends_this_session_and_everywhere_ends_all(daemon):
    one, two, three = (browser(daemon) for _ in range(3))
    for client in (one, two, three):
        client.post("/api/login", json={"code": link(daemon)})
    assert one.delete("/api/login").json()["success"] is True
    assert one.get("/api/login").status_code == 401
    assert two.get("/api/login").status_code == 200
    unused = link(daemon)
    assert two.delete("/api/login?everywhere=true").json()["sessions"] >= 3
    assert three.get("/api/login").status_code == 401
    assert browser(daemon).post("/api/login", json={"code": unused}).status_code == 401
    assert daemon.api(daemon.owner).get("/api/login").status_code == 200
    assert daemon.api(daemon.owner).delete("/api/login").status_code == 400


def test_a_link_for_a_user_is_no_admins(daemon):
    client = browser(daemon)
    code = link(daemon, "--user", "alice", "--role", "user")
    assert client.post("/api/login", json={"code": code}).json() == {"userId": "alice", "role": "user"}
    assert client.get("/api/tokens").status_code == 403


def test_no_get_changes_anything(daemon):
    code = link(daemon)
    assert browser(daemon).get(f"/login?code={code}").status_code == 200
    assert browser(daemon).get(f"/api/login?code={code}").status_code == 401
    assert browser(daemon).post("/api/login", json={"code": code}).status_code == 200


def test_a_first_start_prints_a_link_and_a_second_does_not(fresh):
    fresh.start()
    until(lambda: "/login#assent_link_" in fresh.said)
    code = fresh.said.partition("#")[2].split()[0]
    assert browser(fresh).post("/api/login", json={"code": code}).json()["role"] == "admin"
    fresh.stop()
    fresh.start()
    assert "#" not in fresh.said
    fresh.stop()
    fresh.start("--link")
    assert "/login#assent_link_" in fresh.said


def test_the_home_is_private_and_holds_no_secret_but_the_owners(fresh):
    fresh.start()
    secret = fresh.mint("agent", agent="a")
    assert stat.S_IMODE(fresh.state.stat().st_mode) == 0o700
    for path in fresh.state.rglob("*"):
        assert stat.S_IMODE(path.lstat().st_mode) & 0o077 == 0, path
    fresh.stop()
    for path in fresh.state.rglob("*"):
        if path.is_file() and path.name != "token":
            data = path.read_bytes()
            assert secret.encode() not in data
            assert fresh_owner(fresh) not in data


def fresh_owner(running: Running) -> bytes:
    return running.owner.encode()


def test_an_owners_token_that_was_revoked_is_replaced_at_the_next_start(fresh):
    fresh.start()
    before = fresh.owner
    (token_id,) = [t["id"] for t in fresh.api(before).get("/api/tokens").json()["tokens"] if t["kind"] == "bearer"]
    fresh.api(before).delete(f"/api/tokens/{token_id}")
    assert fresh.api(before).get("/api/login").status_code == 401
    fresh.stop()
    fresh.start()
    assert fresh.owner != before
    assert fresh.api(fresh.owner).get("/api/login").status_code == 200


def test_tokens_are_listed_without_their_secrets(daemon):
    secret = daemon.mint("agent", agent="listed", label="for a test")
    listed = daemon.api(daemon.owner).get("/api/tokens")
    assert secret not in listed.text
    assert secret.split("_", 2)[2] not in listed.text
    (mine,) = [t for t in listed.json()["tokens"] if t["agent"] == "listed"]
    assert (mine["role"], mine["label"]) == ("agent", "for a test")


@pytest.mark.parametrize(
    "wish",
    [
        {},
        {"role": "king"},
        {"role": "user", "agent": "x"},
        {"role": "user", "remote": True},
        {"role": "admin", "workspace": ["/code"]},
        {"role": "agent", "workspace": ["relative"]},
        {"role": "agent", "workspace": ["/"]},
        {"role": "agent", "agent": "x" * 500},
        {"role": "agent", "agent": "a\nb"},
        {"role": "agent", "expiresIn": 0},
        {"role": "agent", "expiresIn": "soon"},
    ],
    ids=str,
)
def test_a_wish_that_makes_no_sense_is_400(daemon, wish):
    assert daemon.api(daemon.owner).post("/api/tokens", json=wish).status_code == 400


def test_a_token_made_on_the_command_line_counts_at_once_and_no_longer_when_revoked(daemon):
    secret = daemon.run("token", "create", "--role", "user").stdout.strip()
    until(lambda: daemon.api(secret).get("/api/login").status_code == 200)
    listed = daemon.api(daemon.owner).get("/api/tokens").json()["tokens"]
    token_id = max(listed, key=lambda t: t["created_at"])["id"]
    assert daemon.run("token", "revoke", token_id).returncode == 0
    until(lambda: daemon.api(secret).get("/api/login").status_code == 401)


def test_tokens_are_kept_as_hashes(fresh):
    fresh.start()
    fresh.stop()
    with sqlite3.connect(fresh.state / "assent.db") as database:
        kept = [bytes(row[0]) for row in database.execute("SELECT hash FROM tokens")]
    database.close()
    assert kept
    assert all(len(hashed) == 32 for hashed in kept)
    assert fresh.owner.encode() not in (fresh.state / "assent.db").read_bytes()


def test_the_lines_to_try_it_with_work_as_printed(fresh):
    fresh.start("--link")
    tries = [line.strip() for line in fresh.said.splitlines() if line.strip().startswith("curl ")]
    asked, listed = (
        subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True, timeout=60).stdout
        for line in tries
    )
    wanted = json.loads(asked)["requestId"]
    assert [p["id"] for p in json.loads(listed)["pending"]] == [wanted]


def test_a_first_start_says_where_to_open_it_how_to_try_it_and_how_to_connect_an_agent(fresh):
    fresh.start()
    said = fresh.said
    assert f"http://127.0.0.1:{fresh.port}/login#assent_link_" in said
    assert "/api/hooks/classify" in said
    assert "assent init claude-code  (or codex, gemini, opencode)" in said
