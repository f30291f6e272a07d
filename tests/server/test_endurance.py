"""What the daemon survives: crashes, full disks, broken policies. Nothing is lost, nothing is allowed."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import threading

import httpx
import pytest

from daemons import Running, until


def ask(client, command, query="", **more):
    body = {"toolName": "bash", "toolInput": {"command": command}, **more}
    return client.post(f"/api/hooks/classify{query}", json=body)


def test_after_kill_9_a_question_is_pending_and_a_caller_that_comes_again_gets_its_answer(fresh):
    fresh.start()
    agent = fresh.mint("agent", agent="a", remote=True)
    lost = []

    def wait():
        try:
            lost.append(ask(fresh.api(agent), "node crash.js", "?wait=60"))
        except httpx.HTTPError as error:
            lost.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    owner = fresh.owner
    question = until(lambda: fresh.api(owner).get("/api/permissions").json()["pending"])[0]
    fresh.kill()
    thread.join(60)
    assert isinstance(lost[0], httpx.HTTPError)

    fresh.start()
    (still,) = fresh.api(owner).get("/api/permissions").json()["pending"]
    assert still["id"] == question["id"]
    assert still["toolInput"] == {"command": "node crash.js"}
    told = []
    thread = threading.Thread(target=lambda: told.append(ask(fresh.api(agent), "node crash.js", "?wait=60").json()))
    thread.start()
    fresh.api(owner).post("/api/permissions", json={"requestId": question["id"], "decision": "approve"})
    thread.join(60)
    assert told[0]["allow"] is True
    assert ask(fresh.api(agent), "node crash.js").json()["allow"] is False


def test_an_answer_survives_kill_9_and_is_used_once(fresh):
    fresh.start()
    agent = fresh.mint("agent", agent="a", remote=True)
    wanted = ask(fresh.api(agent), "node kept.js").json()["requestId"]
    fresh.api(fresh.owner).post("/api/permissions", json={"requestId": wanted, "decision": "approve"})
    fresh.kill()
    fresh.start()
    assert ask(fresh.api(agent), "node kept.js").json()["allow"] is True
    fresh.kill()
    fresh.start()
    assert ask(fresh.api(agent), "node kept.js").json()["allow"] is False


def test_a_question_that_nobody_answers_expires(tmp_path):
    with Running(tmp_path, "--expiry", "1") as running:
        agent = running.api(running.mint("agent", agent="a", remote=True))
        told = ask(agent, "node slow.js", "?wait=30").json()
        assert told["allow"] is False
        assert told["reason"].startswith("Expired: ")
        (one,) = running.api(running.owner).get("/api/permissions?status=expired").json()["pending"]
        late = running.api(running.owner).post("/api/permissions", json={"requestId": one["id"], "decision": "approve"})
        assert late.status_code == 404
        assert late.json()["detail"] == "already expired by expiry"


def test_a_bad_policy_file_keeps_the_last_good_rules_and_says_so(fresh):
    fresh.user_file.write_text("permissions: {deny: ['Bash(git status:*)']}")
    fresh.start()
    agent = fresh.api(fresh.mint("agent", agent="a", remote=True))
    admin = fresh.api(fresh.owner)
    assert ask(agent, "git status").json()["reason"].startswith("Blocked: ")
    fresh.user_file.write_text("permissions: {deny: [")
    fault = until(lambda: admin.get("/api/policy").json().get("fault"))
    assert str(fresh.user_file) in fault
    assert ask(agent, "git status").json()["allow"] is False
    assert admin.get("/api/stats").json()["policyFault"] == fault
    assert "assent_policy_broken 1" in admin.get("/metrics").text
    assert fresh.logged("policy.broken")[0]["fault"] == fault
    fresh.user_file.write_text("permissions: {deny: ['Bash(git log:*)']}")
    until(lambda: ask(agent, "git status").json()["allow"] is True)
    assert ask(agent, "git log").json()["allow"] is False
    assert "fault" not in admin.get("/api/policy").json()


def test_a_projects_rules_hold_for_local_agents_in_it(fresh):
    (fresh.project / "assent.yaml").write_text("permissions: {deny: ['Bash(git status:*)']}")
    fresh.start()
    local = fresh.api(fresh.mint("agent", agent="a"))
    remote = fresh.api(fresh.mint("agent", agent="b", remote=True))
    assert ask(local, "git status", cwd=str(fresh.project)).json()["allow"] is False
    assert ask(remote, "git status", cwd=str(fresh.project)).json()["allow"] is True
    fixed = fresh.api(fresh.mint("agent", agent="c", workspace=[str(fresh.project)]))
    nested = fresh.project / "nested"
    (nested / ".git").mkdir(parents=True)
    assert ask(fixed, "git status", cwd=str(nested)).json()["allow"] is False
    (fresh.project / "assent.yaml").write_text("permissions: {deny: [")
    assert ask(local, "ls", cwd=str(fresh.project)).json()["allow"] is True  # the last good rules
    other = fresh.home / "broken"
    other.mkdir()
    (other / "assent.yaml").write_text("permissions: {deny: [")
    told = ask(local, "ls", cwd=str(other)).json()
    assert told["allow"] is False


def test_it_does_not_start_on_a_broken_policy(fresh):
    fresh.user_file.write_text("permissions: {deny: [")
    done = fresh.run("serve", "--port", "0")
    assert done.returncode == 2
    assert "assent.yaml" in done.stderr


@pytest.mark.parametrize(
    "words", [["--port", "x"], ["--host", "0.0.0.0"], ["--store", "mysql://x/y"], ["--expiry", "never"], ["--nothing"]]
)
def test_it_does_not_start_with_wrong_settings(fresh, words):
    done = fresh.run("serve", "--port", "0", *words)
    assert done.returncode == 2
    assert done.stderr.startswith("assent: ")


def test_it_does_not_start_where_others_can_write_or_read_what_is_secret(fresh):
    fresh.start()
    fresh.stop()
    loose = ((".", 0o777, "writable"), ("assent.db", 0o666, "writable"), ("token", 0o644, "readable"))
    for name, mode, what in (*loose, ("keys/log.ed25519", 0o640, "readable")):
        path = fresh.state / name
        before = path.stat().st_mode
        path.chmod(mode)
        done = fresh.run("serve", "--port", "0")
        assert done.returncode == 2, name
        assert f"{what} by other users" in done.stderr
        path.chmod(before)


def test_two_daemons_do_not_share_a_home(fresh):
    fresh.start()
    done = fresh.run("serve", "--port", "0")
    assert done.returncode == 2
    assert "another daemon" in done.stderr
    assert fresh.api().get("/health").status_code == 200


@pytest.fixture
def small_disk(tmp_path):
    """A disk of four megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=0700", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk_is_a_denial_that_says_so_and_the_daemon_stays_up(tmp_path, small_disk):
    running = Running(tmp_path, "--rate", "0", environ={"ASSENT_HOME": str(small_disk / "state")})
    running.state = small_disk / "state"
    with running:
        agent = running.api(running.mint("agent", agent="a", remote=True))
        assert ask(agent, "ls").json()["allow"] is True
        filler = small_disk / "filler"
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"x" * 4096)
        told = [ask(agent, f"ls {'x' * 20_000} {n}") for n in range(40)]
        assert all(t.status_code == 200 for t in told)
        refused = [t.json() for t in told if not t.json()["allow"]]
        assert refused
        assert "requestId" not in refused[-1]
        assert running.api().get("/health").status_code == 200
        done = running.api(running.owner).post("/api/tokens", json={"role": "user", "label": "x" * 100})
        assert done.status_code in (200, 503)
        filler.unlink()
        until(lambda: ask(agent, "ls").json()["allow"] is True)
    recorded = count_events(running.state / "assent.db")
    allowed = sum(1 for t in told if t.json()["allow"])
    assert recorded >= allowed + 2


def count_events(path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT count(*) FROM events WHERE type = 'permission.evaluated'").fetchone()[0]


def test_no_secret_is_in_any_log(fresh):
    fresh.start("--log-level", "debug")
    secrets = [fresh.owner, fresh.mint("agent", agent="a", remote=True), fresh.mint("user")]
    code = fresh.run("token", "link").stdout.strip().partition("#")[2]
    browser = fresh.api(origin=fresh.url)
    browser.post("/api/login", json={"code": code})
    (cookie,) = browser.cookies.jar
    secrets += [code, cookie.value]
    agent = fresh.api(secrets[1])
    ask(agent, "curl -H 'Authorization: Bearer sk-live-0123456789abcdefghij' https://x.example -d x")
    for path in ("/api/permissions", "/nothing", f"/nothing?token={secrets[1]}", "/api/tokens"):
        for token in (*secrets, "nonsense-token-0123456789"):
            fresh.api(token).get(path)
            fresh.api(token).post(path, content=b"{", headers={"content-type": "application/json"})
    fresh.stop()
    log = fresh.log()
    assert fresh.logged("request.refused")
    for secret in (*secrets, "nonsense-token-0123456789", "sk-live-0123456789abcdefghij"):
        assert secret not in log
    database = b"".join(p.read_bytes() for p in fresh.state.glob("assent.db*"))
    for secret in secrets:
        assert secret.encode() not in database


def test_metrics_count_what_happened(fresh):
    fresh.start()
    agent = fresh.api(fresh.mint("agent", agent="a", remote=True))
    admin = fresh.api(fresh.owner)
    ask(agent, "ls")
    ask(agent, "rm -rf /")
    wanted = ask(agent, "node x.js").json()["requestId"]
    text = admin.get("/metrics").text
    assert 'assent_decisions_total{decision="allow",tier="safe"} 1' in text
    assert 'assent_decisions_total{decision="deny",tier="destructive"} 1' in text
    assert 'assent_decisions_total{decision="ask",tier="dangerous"} 1' in text
    assert "assent_pending 1" in text
    admin.post("/api/permissions", json={"requestId": wanted, "decision": "approve"})
    text = until(lambda: (t := admin.get("/metrics").text) and 'state="approved"} 1' in t and t)
    assert "assent_answer_seconds_count 1" in text
    assert "assent_commit_batch " in text
    assert "assent_audit_lag_seconds " in text
    stats = admin.get("/api/stats").json()
    assert stats["decisions"] == {"allow": 1, "deny": 1, "ask": 1}
    assert stats["questions"] == {"approved": 1}


def test_health_is_as_documented(daemon):
    body = daemon.api().get("/health").json()
    assert body.keys() == {"status", "uptime", "activeRuns", "connectedClients"}
    assert body["status"] == "ok"


def test_a_replaced_database_is_noticed(fresh):
    fresh.start()
    agent = fresh.api(fresh.mint("agent", agent="a", remote=True))
    assert ask(agent, "ls").json()["allow"] is True
    (fresh.state / "assent.db").rename(fresh.state / "moved.db")
    assert ask(agent, "ls").json()["allow"] is False
