"""A sandboxed decision is carried out once: exactly its line, in its folder, inside its boundary, and on record."""

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assent.sandbox.redeem.command_line import decode_word, find_line, named_ticket, write_words
from daemons import Running, until


@pytest.fixture(scope="module")
def daemon():
    # Not in /tmp: that is the sandbox's own, and what is outside must be seen inside to be tried.
    root = tempfile.mkdtemp(prefix="assent-test-", dir="/srv" if os.geteuid() == 0 else Path.home())
    running = Running(Path(root), "--rate", "0")
    running.user_file.write_text("permissions: {mode: auto}\n")
    with running:
        yield running
    shutil.rmtree(root)


@pytest.fixture(scope="module")
def agent(daemon):
    return daemon.api(daemon.mint("agent", agent="coder"))


def in_force(daemon):
    """What the project's policy is, as the daemon has it now."""
    return daemon.api(daemon.owner).get("/api/policy", params={"cwd": str(daemon.project)}).text


@contextlib.contextmanager
def policy(daemon, text, mark):
    """Another policy for a while; `mark` is only in it."""
    before = daemon.user_file.read_text()
    daemon.user_file.write_text(text)
    until(lambda: mark in in_force(daemon))
    yield daemon
    daemon.user_file.write_text(before)
    until(lambda: mark not in in_force(daemon))


@pytest.fixture
def on_failure(daemon):
    """The same daemon in the mode that tries the sandbox first."""
    with policy(daemon, "permissions: {mode: on_failure}\n", "on_failure"):
        yield daemon


def ask(agent, daemon, line, **more):
    body = {"toolName": "Bash", "toolInput": {"command": line}, "cwd": str(daemon.project), "sessionId": "s", **more}
    answer = agent.post("/api/hooks/classify", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def way_in(answer):
    assert answer["allow"] is False, answer
    return answer["reason"].partition("Run this instead: ")[2]


def carry_out(daemon, line, cwd=None):
    return subprocess.run(
        ["bash", "-c", line],
        env=daemon.environ,
        cwd=cwd or daemon.project,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def events(daemon, kind, ticket):
    found = daemon.api(daemon.owner).get("/api/audit", params={"type": kind, "limit": 200}).json()["events"]
    return [e for e in (r["body"] for r in found) if e["payload"].get("decision") == ticket]


def make_script(daemon, name, text):
    (daemon.project / name).write_text(text)
    return f"sh {name}"


def test_a_dangerous_line_that_the_profile_holds_may_run_inside(daemon, agent):
    line = way_in(ask(agent, daemon, make_script(daemon, "a.sh", "echo made > made; echo said\n")))
    ticket = re.search(r"dec_\w+", line)[0]
    done = carry_out(daemon, line)
    assert (done.returncode, done.stdout) == (0, "said\n")
    assert (daemon.project / "made").read_text() == "made\n"
    (applied,) = events(daemon, "sandbox.applied", ticket)
    assert {m["name"] for m in applied["sandboxProfile"]["mechanisms"] if m["enforced"]} >= {"bubblewrap", "seccomp"}
    (ended,) = events(daemon, "process.completed", ticket)
    assert (ended["payload"]["exitCode"], ended["sessionId"]) == (0, "s")
    assert events(daemon, "sandbox.violation", ticket) == []


def test_a_host_that_can_set_up_no_boundary_is_not_recorded_as_running_what_needs_one(daemon, agent):
    script = make_script(daemon, "bound.sh", "true\n")
    body = {"toolName": "Bash", "toolInput": {"command": script}, "cwd": str(daemon.project), "sessionId": "unbound"}
    runs_in = {"name": "off", "mode": "off"}
    answer = agent.post("/api/runtime/evaluate_permission", json={**body, "runsIn": runs_in}).json()
    assert answer["permissionDecision"]["decision"] == "sandboxed"
    found = daemon.api(daemon.owner).get("/api/audit?session=unbound").json()["events"]
    assert [event["type"] for event in found] == ["permission.evaluated"]


def test_a_line_that_looks_like_options_is_a_line(daemon, agent):
    (daemon.project / "-x").write_text("#!/bin/sh\necho ran\n")
    (daemon.project / "-x").chmod(0o755)
    answer = ask(agent, daemon, "-x", toolCallId="dashes")
    assert answer["allow"] is False
    if "Run this instead" in answer["reason"]:
        assert "-x: command not found" in carry_out(daemon, way_in(answer)).stderr


def test_a_decision_is_used_once(daemon, agent):
    line = way_in(ask(agent, daemon, make_script(daemon, "b.sh", "echo once >> counted\n")))
    assert carry_out(daemon, line).returncode == 0
    again = carry_out(daemon, line)
    assert (again.returncode, "was already used" in again.stderr) == (4, True)
    assert (daemon.project / "counted").read_text() == "once\n"


@pytest.mark.parametrize("change", ["words", "folder", "id"])
def test_a_decision_is_for_nothing_else(daemon, agent, change):
    line = way_in(ask(agent, daemon, make_script(daemon, "c.sh", f"echo {change} >> c-{change}\n")))
    other = daemon.project / "other"
    other.mkdir(exist_ok=True)
    (other / "c.sh").write_text("echo elsewhere > ran\n")
    changed = {"words": line + "' ; echo more > ran'", "folder": line, "id": line.replace("dec_", "dec_1")}[change]
    refused = carry_out(daemon, changed, cwd=other if change == "folder" else None)
    assert refused.returncode == 4, refused.stderr
    assert not (other / "ran").exists()
    assert not (daemon.project / "ran").exists()
    assert carry_out(daemon, line).returncode == 0
    assert (daemon.project / f"c-{change}").read_text() == f"{change}\n"


def test_what_was_stopped_belongs_to_the_decision(daemon, agent):
    outside = daemon.home / "outside"
    line = way_in(ask(agent, daemon, make_script(daemon, "d.sh", f"echo x > {outside}\n")))
    done = carry_out(daemon, line)
    assert done.returncode != 0
    assert f"writing {outside}" in done.stderr
    assert not outside.exists()
    (stopped,) = events(daemon, "sandbox.violation", re.search(r"dec_\w+", line)[0])
    assert (stopped["violation"]["operation"], stopped["violation"]["resource"]) == ("fs.write", str(outside))
    (ended,) = events(daemon, "process.completed", re.search(r"dec_\w+", line)[0])
    assert ended["sandboxProfile"]["violation_refs"] == [stopped["eventId"]]
    owner = daemon.api(daemon.owner)
    assert owner.get(f"/api/refs/{stopped['eventId']}").json()["value"]["eventId"] == stopped["eventId"]
    ticket = owner.get(f"/api/refs/ticket:{named_ticket_of(line)}").json()["value"]
    assert ticket["stopped"] == [f"writing {outside} by sh d.sh"]


def test_the_line_itself_passes_the_hook_and_no_other_does(daemon, agent):
    script = make_script(daemon, "e.sh", "true\n")
    line = way_in(ask(agent, daemon, script))
    assert ask(agent, daemon, line)["allow"] is True
    assert ask(agent, daemon, line + " ")["allow"] is False
    assert ask(agent, daemon, line + "; sh e.sh")["allow"] is False
    assert ask(agent, daemon, line, sessionId="another")["allow"] is False
    assert carry_out(daemon, line).returncode == 0
    assert ask(agent, daemon, line)["allow"] is False


def test_a_rule_that_came_since_counts(daemon, agent):
    line = way_in(ask(agent, daemon, make_script(daemon, "f.sh", "echo x > f-ran\n")))
    with policy(daemon, 'permissions: {mode: auto, deny: ["Bash(sh f.sh)"]}\n', "sh f.sh"):
        refused = carry_out(daemon, line)
    assert refused.returncode == 4
    assert "policy changed since ticket" in refused.stderr
    assert not (daemon.project / "f-ran").exists()


def test_somebody_else_can_not_trade_it_in(daemon, agent):
    line = way_in(ask(agent, daemon, make_script(daemon, "g.sh", "true\n")))
    ticket = named_ticket_of(line)
    words = ["bash", "-c", "--", "sh g.sh"]
    body = {"decisionId": ticket, "argv": words, "cwd": str(daemon.project.resolve())}
    stranger = daemon.api(daemon.mint("user", user="mallory"))
    assert stranger.post("/api/sandbox/redeem", json=body).status_code == 404
    assert stranger.post("/api/sandbox/events", json=report(ticket)).status_code == 404
    assert agent.post("/api/sandbox/events", json=report(ticket)).status_code == 404
    assert agent.post("/api/sandbox/redeem", json=body).status_code == 200
    assert agent.post("/api/sandbox/redeem", json=body).status_code == 409
    assert agent.post("/api/sandbox/events", json=report(ticket)).status_code == 200
    assert agent.post("/api/sandbox/events", json=report(None)).status_code == 403


def named_ticket_of(line):
    return re.search(r"dec_\w+", line)[0]


def report(ticket):
    return {"runId": "r", "events": [{"type": "runtime.error", "reason": "test"}], "decisionId": ticket}


def test_that_a_boundary_could_not_be_kept_up_is_in_the_log_and_in_the_journal(daemon):
    lost = {"type": "process.terminated", "stopped": "boundary", "reason": "x: Operation not permitted"}
    told = daemon.api(daemon.owner).post("/api/sandbox/events", json={"runId": "lost", "events": [lost]})
    assert told.status_code == 200
    (event,) = [e for e in events(daemon, "process.terminated", None) if e["runId"] == "lost"]
    assert event["payload"]["reason"] == lost["reason"]
    assert [(line["run"], line["level"]) for line in daemon.logged("sandbox.lost")] == [("lost", "error")]


def test_what_is_asked_to_run_outside_was_stopped_inside_first(on_failure, agent):
    daemon = on_failure
    outside = daemon.home / "later"
    script = make_script(daemon, "h.sh", f"echo x > {outside}\n")
    line = way_in(ask(agent, daemon, script))
    done = carry_out(daemon, line)
    assert done.returncode != 0
    assert "to ask for approval to run it outside the sandbox, repeat the same call" in done.stderr
    asked = ask(agent, daemon, script)
    assert asked["requestId"]
    assert f"writing {outside}" in asked["reason"]
    answer = daemon.api(daemon.owner).post(
        "/api/permissions", json={"requestId": asked["requestId"], "decision": "approve"}
    )
    assert answer.status_code == 200
    assert ask(agent, daemon, script)["allow"] is True
    assert ask(agent, daemon, script)["requestId"] != asked["requestId"]


def test_what_ends_well_inside_is_not_asked_about(on_failure, agent):
    script = make_script(on_failure, "i.sh", "true\n")
    assert carry_out(on_failure, way_in(ask(agent, on_failure, script))).returncode == 0
    assert way_in(ask(agent, on_failure, script))


def test_a_boundary_that_a_policy_demands_is_not_asked_away(daemon, agent):
    script = make_script(daemon, "j.sh", "echo x > j-ran\n")
    with policy(daemon, "permissions: {mode: on_failure, profile: read-only}\n", "read-only"):
        assert carry_out(daemon, way_in(ask(agent, daemon, script))).returncode != 0
        assert way_in(ask(agent, daemon, script))


ASKING = "permissions: {mode: auto, profile: asking}\nprofiles: {asking: {ask: yes}}\n"


@pytest.mark.parametrize("answer", ["approve", "reject"])
def test_with_ask_an_open_outside_waits_for_the_same_approvals_as_everything(daemon, agent, answer):
    outside = daemon.home / f"asked-{answer}"
    script = make_script(daemon, "k.sh", f"echo x > {outside}; echo ended\n")
    owner = daemon.api(daemon.owner)
    with policy(daemon, ASKING, "asking"), ThreadPoolExecutor(1) as pool:
        running = pool.submit(carry_out, daemon, way_in(ask(agent, daemon, script)))
        asked = until(lambda: [q for q in owner.get("/api/permissions").json()["pending"] if str(outside) in str(q)])
        assert (asked[0]["toolName"], asked[0]["toolInput"]["file_path"]) == ("Write", str(outside))
        assert asked[0]["toolInput"]["commandLine"] == "sh k.sh"
        assert not outside.exists()
        owner.post("/api/permissions", json={"requestId": asked[0]["id"], "decision": answer})
        done = running.result()
    assert done.stdout == "ended\n"
    assert outside.exists() is (answer == "approve")


def run_inside(daemon, *words, profile="agent", **environ):
    return subprocess.run(
        [*daemon.command("run", "--profile", profile), "--", *words],
        env=daemon.environ | environ,
        cwd=daemon.project,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_whole_agent_can_ask_and_not_answer(daemon):
    shutil.copy(Path(__file__).with_name("asker.py"), daemon.project / "asker.py")
    done = run_inside(daemon, "python3", "asker.py", daemon.owner)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["ask"], found["answer"], found["answer as owner"], found["token as owner"]) == (200, 403, 401, 401)
    assert found["home"] == ["__pycache__", "agents", "assent.sock", "hook.py", "hook_client.py", "run.py"]
    asked = daemon.api(daemon.owner).get(f"/api/permissions/{found['pending']}").json()
    assert (asked["status"], asked["agentId"]) == ("pending", "local")


def test_other_profiles_see_no_socket_of_ours(daemon):
    done = run_inside(daemon, "ls", str(daemon.state), profile="workspace-write")
    assert (done.returncode, "Permission denied" in done.stderr) == (2, True)


def test_what_a_person_runs_is_on_record_too(daemon):
    assert run_inside(daemon, "true", profile="read-only").returncode == 0
    records = (
        daemon.api(daemon.owner).get("/api/audit", params={"type": "sandbox.applied", "limit": 5}).json()["events"]
    )
    assert records[0]["body"]["sandboxProfile"]["name"] == "read-only"
    assert records[0]["user"] == daemon.user


LINES = [
    "echo 'a b' \"c\"",
    'printf "%s\\n" "$HOME" `id` $(id)',
    'echo it\'s; echo "two\nlines"',
    "a=1; echo ${a} \\ \t*",
    "-x --json -- ls",
    "echo é ☃ '",
    "echo \u2019; id; echo \u2018",
    "\\'; id; '",
    "echo hi! %41 100%",
    "echo \udcff",
]


@pytest.mark.parametrize("shell", ["", "bash", "zsh,sh", "fish", "pwsh", "tcsh"])
@pytest.mark.parametrize("line", LINES)
def test_a_line_is_quoted_so_that_it_arrives_whole(line, shell):
    words = ["bash", "-c", "--", line]
    written = write_words(["/usr/bin/printf", "%s\\0"], "dec_1_ab", words, shell)
    said = subprocess.run(["bash", "-c", shlex.join(written)], capture_output=True, check=True).stdout
    _, *shown = [os.fsdecode(word) for word in said.split(b"\0")[:-1]]
    if shown[0] == "--coded":
        assert [decode_word(word) for word in shown[2:]] == words
        assert not re.search("[^A-Za-z0-9_.,:=/@+%-]", "".join(shown))
    else:
        assert shown == ["--", *words]
        assert shell in ("", "bash", "zsh,sh") or not re.search(r"[^ -~]|['\\!]", line)
        assert not re.search("[\u2018-\u201f]", line)


def test_a_call_in_words_comes_down_to_the_same_words(tmp_path):
    from assent import ToolCall

    call = ToolCall(tool="shell", input={"command": ["make", "-j2"], "workdir": "sub"}, cwd=str(tmp_path))
    assert find_line(call) is None
    (tmp_path / "sub").mkdir()
    assert (find_line(call).words, find_line(call).folder) == (("make", "-j2"), str(tmp_path.resolve() / "sub"))
    assert named_ticket(call) is None
