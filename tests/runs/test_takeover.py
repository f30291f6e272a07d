"""A user's token alone is not the daemon's account: what lies outside a run, and what is run, needs somebody else."""

from __future__ import annotations

import json
import time

import pytest
from websockets.sync.client import connect

from daemons import PATIENT, Running, until
from runners import Runner, write_strategy

KEY = "ssh-ed25519 AAAA attacker"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    root = tmp_path_factory.mktemp("takeover")
    shared = root / "shared"
    with Running(root, "--rate", "0", "--strategies", str(shared)) as running:
        shared.mkdir()
        (running.home / ".ssh").mkdir()
        yield running


@pytest.fixture(scope="module")
def token(daemon):
    return daemon.mint("user", user="ursula")


@pytest.fixture
def user(daemon, token):
    with Runner(daemon, token) as runner:
        yield runner


@pytest.fixture
def admin(daemon):
    with Runner(daemon) as runner:
        yield runner


def ready(daemon, steps, name):
    """Put a strategy where an admin's setting says that strategies are."""
    return write_strategy(daemon.root / "shared", steps, name)


OUTSIDE = f"- {{agent: a, tool: write_file, input: {{path: ../.ssh/authorized_keys, content: '{KEY}'}}}}"
INSIDE = "- {agent: a, tool: write_file, input: {path: notes/%s.txt, content: x}}"


def question(runner, run):
    return runner.hear("request_permission", runId=run)


def keys(daemon):
    return daemon.home / ".ssh" / "authorized_keys"


# What is run


def test_a_file_that_a_run_wrote_is_not_run(daemon, user):
    """The attack as it was: a built-in strategy writes a file, which is then run as a strategy."""
    evil = write_strategy(daemon.project, OUTSIDE, "evil")
    code, message = user.refused("prepare_run", strategyPath=str(evil), cwd=str(daemon.project))
    assert code == "FORBIDDEN"
    assert "an admin" in message
    assert str(daemon.root / "shared") in message


def test_no_spelling_of_a_path_leads_out_of_the_named_folders(daemon, user, tmp_path):
    evil = write_strategy(daemon.project, OUTSIDE, "evil")
    shared = daemon.root / "shared"
    (shared / "link.yaml").unlink(missing_ok=True)
    (shared / "link.yaml").symlink_to(evil)
    (shared / "below").mkdir(exist_ok=True)
    write_strategy(shared / "below", OUTSIDE, "deeper")
    for path in (
        str(shared / "link.yaml"),
        f"{shared}/../home/project/evil.yaml",
        str(shared / "below" / "deeper.yaml"),
        "evil.yaml",
        "./evil.yaml",
        f"/proc/self/root{evil}",
        f"{shared}/",
        str(shared),
    ):
        assert user.refused("prepare_run", strategyPath=path, cwd=str(daemon.project))[0] == "FORBIDDEN", path
    (shared / "link.yaml").unlink()


def test_a_file_that_others_may_write_is_not_run(daemon, user):
    path = ready(daemon, INSIDE % "open", "open")
    path.chmod(0o666)
    code, message = user.refused("prepare_run", strategyPath=str(path), cwd=str(daemon.project))
    assert (code, "can be written by others" in message) == ("PREPARE_FAILED", True)


def test_a_strategy_goes_by_its_name_or_by_its_path_in_a_named_folder(daemon, user):
    path = ready(daemon, "- {agent: a, tool: list_dir, input: {path: .}}", "look")
    for wanted in (str(path), "look", "look-around"):
        run = user.prepare(wanted)["runId"]
        user.send("stop_run", runId=run)


@pytest.mark.parametrize("inside", ["shared", "shared/below", "."])
def test_no_run_works_where_strategies_come_from(daemon, user, admin, inside):
    ready(daemon, INSIDE % "here", "here")
    (daemon.root / "shared/below").mkdir(exist_ok=True)
    for runner in (user, admin):
        code, _ = runner.refused("prepare_run", strategyPath="here", cwd=str(daemon.root / inside))
        assert code == "PREPARE_FAILED"


def test_a_folder_in_a_project_is_none_for_strategies(tmp_path):
    running = Running(tmp_path)
    (running.project / "strategies").mkdir()
    done = running.run("serve", "--port", "0", "--strategies", str(running.project / "strategies"))
    assert (done.returncode != 0, "project" in done.stderr) == (True, True)


def test_agents_do_not_write_where_strategies_come_from(daemon):
    agent = daemon.api(daemon.mint("agent", agent="writer"))
    mine = daemon.user_file.parent / "strategies"
    for folder in (daemon.root / "shared", mine):
        body = {"toolName": "write_file", "toolInput": {"path": f"{folder}/x.yaml", "content": "x"}}
        told = agent.post("/api/hooks/classify", json={**body, "cwd": str(daemon.project)}).json()
        assert (told["allow"], "requestId" in told) == (False, False), told


def test_an_admin_may_name_any_file(daemon, admin, tmp_path):
    run = admin.launch(write_strategy(tmp_path, "- {agent: a, tool: list_dir, input: {path: .}}", "mine"))
    admin.hear("strategy_completed", runId=run)


# What lies outside


def answers(daemon, token, run, asked):
    """Say yes by every route that takes an answer; yield how each replied."""
    api = daemon.api(token)
    wanted, call = asked["requestId"], asked["toolCallId"]
    for body in (
        {"decision": "approve"},
        {"decision": "approve_always"},
        {"decision": "approve_always", "pattern": "Write(/**)"},
        {"decision": "approve", "scope": "session"},
        {"decision": "approve", "modifiedInput": {"path": "../.ssh/config", "content": KEY}},
    ):
        yield api.post("/api/permissions", json={"requestId": wanted, **body})
    yield api.post("/api/runtime/respond_action", json={"actionId": wanted, "decision": "allow"})
    for more in ({}, {"toolCallId": call}):
        yield api.post(f"/api/sessions/{run}/respond", json={"kind": "permission", "decision": "approved", **more})


def test_whoever_started_a_run_cannot_allow_what_lies_outside(daemon, token, user):
    run = user.launch(ready(daemon, OUTSIDE, "outside"))
    asked = question(user, run)
    for word in ("allow", "allow-session"):
        user.send("permission_decision", runId=run, permissionRequestId=asked["requestId"], decision=word)
        error = user.hear("error")
        assert error["code"] == "FORBIDDEN"
        assert "an admin" in error["message"]
        assert asked["requestId"] in error["message"]
    for answer in answers(daemon, token, run, asked):
        assert (answer.status_code, "an admin" in answer.text) == (403, True), answer.text
    url = f"ws://127.0.0.1:{daemon.port}/ws/permissions?userId=ursula"
    with connect(url, additional_headers={"Authorization": f"Bearer {token}"}, **PATIENT) as ws:
        ws.send(json.dumps({"type": "decision", "data": {"requestId": asked["requestId"], "decision": "approve"}}))
        while (told := json.loads(ws.recv(timeout=60)))["type"] != "error":
            pass
        assert "an admin" in json.dumps(told)
    done = daemon.run("approve", asked["requestId"], ASSENT_TOKEN=token)
    assert (done.returncode != 0, "an admin" in done.stderr) == (True, True)
    assert daemon.api(daemon.owner).get(f"/api/permissions/{asked['requestId']}").json()["status"] == "pending"
    assert daemon.api(token).get("/api/grants").json()["grants"] == []
    assert not keys(daemon).exists()
    # To refuse is anybody's who may answer.
    user.decide(run, asked, "deny")
    user.hear("strategy_error", runId=run)


def test_an_admin_may(daemon, user, admin):
    target = daemon.home / "elsewhere.txt"
    step = "- {agent: a, tool: write_file, input: {path: ../elsewhere.txt, content: x}}"
    run = user.launch(ready(daemon, step, "elsewhere"))
    asked = question(user, run)
    admin.decide(run, asked, "allow")
    user.hear("strategy_completed", runId=run)
    assert target.read_text() == "x"


def test_the_owner_who_starts_a_run_answers_it_at_the_same_terminal(daemon, admin, tmp_path):
    step = "- {agent: a, tool: write_file, input: {path: ../mine.txt, content: x}}"
    run = admin.launch(write_strategy(tmp_path, step, "mine"))
    admin.decide(run, question(admin, run), "allow")
    admin.hear("strategy_completed", runId=run)
    assert (daemon.home / "mine.txt").exists()


@pytest.mark.parametrize(
    "policy",
    [
        {"allow": ["/**"]},
        {"allow": ["**/authorized_keys"]},
        {"allow": ["../.ssh/**"]},
        {"allow": ["~/.ssh/**"]},
        {"default": "allow"},
        {"tool": "write_file", "allow": ["/**"], "default": "allow"},
    ],
)
def test_no_policy_of_whoever_started_it_opens_what_lies_outside(daemon, user, policy):
    run = user.prepare(ready(daemon, OUTSIDE, "outside"))["runId"]
    for mode in ("write", "read"):
        user.send("update_policy", runId=run, mode=mode, **policy)
    user.send("start_run", runId=run)
    asked = question(user, run)
    user.decide(run, asked, "allow")
    assert user.hear("error")["code"] == "FORBIDDEN"
    user.decide(run, asked, "deny")
    user.hear("strategy_error", runId=run)
    assert not keys(daemon).exists()


def test_no_wider_answer_to_a_harmless_question_opens_what_lies_outside(daemon, token, user):
    steps = "- {agent: a, tool: run_command, input: {command: 'python3 -c pass'}}\n" + OUTSIDE
    run = user.launch(ready(daemon, steps, "both"))
    asked = question(user, run)
    body = {"requestId": asked["requestId"], "decision": "approve_always", "pattern": "Write(/**)"}
    daemon.api(token).post("/api/permissions", json=body)
    daemon.api(token).post("/api/permissions", json={"requestId": asked["requestId"], "decision": "approve"})
    asked = question(user, run)
    assert asked["toolName"] == "write_file"
    user.decide(run, asked, "deny")
    user.hear("strategy_error", runId=run)
    assert not keys(daemon).exists()


def test_what_decides_later_what_runs_needs_an_admin_too(daemon, user, admin):
    for number, path in enumerate((".vscode/tasks.json", ".claude/settings.json", ".envrc")):
        step = f"- {{agent: a, tool: write_file, input: {{path: {path}, content: x}}}}"
        run = user.launch(ready(daemon, step, f"control-{number}"))
        asked = user.hear("request_permission", runId=run) if path != ".envrc" else None
        if asked is None:  # forbidden in every run
            user.hear("strategy_error", runId=run)
            continue
        user.decide(run, asked, "allow")
        assert user.hear("error")["code"] == "FORBIDDEN"
        admin.decide(run, asked, "deny")
        user.hear("strategy_error", runId=run)


def test_what_lies_inside_is_the_starters_to_answer(daemon, user):
    steps = "- {agent: a, tool: run_command, input: {command: 'touch made'}}"
    run = user.launch(ready(daemon, steps, "inside"))
    user.decide(run, question(user, run), "allow")
    user.hear("strategy_completed", runId=run)
    assert (daemon.project / "made").exists()


def test_a_users_token_by_the_owners_name_is_no_admins(daemon, admin, tmp_path):
    """A token for a phone, made in the owner's name, is a user's all the same."""
    step = "- {agent: a, tool: write_file, input: {path: ../phone.txt, content: x}}"
    run = admin.prepare(write_strategy(tmp_path, step, "phone"))["runId"]
    phone = daemon.mint("user", user=daemon.user)
    with Runner(daemon, phone) as other:
        other.send("subscribe", runId=run)
        code, message = other.refused("update_policy", runId=run, mode="write", allow=["/**"])
        assert (code, "an admin" in message) == ("FORBIDDEN", True)
        admin.send("start_run", runId=run)
        asked = question(admin, run)
        other.decide(run, asked, "allow")
        assert other.hear("error")["code"] == "FORBIDDEN"
    admin.decide(run, asked, "deny")
    admin.hear("strategy_error", runId=run)


def test_a_run_that_an_admin_prepared_and_a_user_started_is_a_users(daemon, admin, tmp_path):
    step = "- {agent: a, tool: write_file, input: {path: ../both.txt, content: x}}"
    run = admin.prepare(write_strategy(tmp_path, step, "both"))["runId"]
    admin.send("update_policy", runId=run, mode="write", allow=["/**"])
    until(lambda: "policy_updated" in {m["type"] for m in admin.quiet()} or admin.heard)
    with Runner(daemon, daemon.mint("user", user=daemon.user)) as other:
        other.send("subscribe", runId=run)
        other.send("start_run", runId=run)
        asked = question(other, run)
        other.decide(run, asked, "allow")
        assert other.hear("error")["code"] == "FORBIDDEN"
    admin.decide(run, asked, "deny")


# What is inside the sandbox


def test_a_user_starts_no_program_in_a_profile_that_the_owner_wrote_for_themselves(daemon, user, admin):
    daemon.user_file.write_text("profiles: {wide: {extends: agent, write: [., ~/out], network: full}}\n")
    try:
        path = daemon.root / "shared" / "program.yaml"
        path.write_text("name: program\nprocess: {agent: p, command: [sh, -c, 'id -u']}\n")
        fields = {"strategyPath": "program", "cwd": str(daemon.project), "profile": "wide"}
        code, message = user.refused("prepare_run", **fields)
        assert (code, "an admin" in message) == ("FORBIDDEN", True)
        time.sleep(1)  # for so long the rules before the change may be taken as read
        assert admin.ask("prepare_run", "run_prepared", **fields)
        assert user.ask("prepare_run", "run_prepared", **fields | {"profile": "read-only"})
    finally:
        daemon.user_file.write_text("")
