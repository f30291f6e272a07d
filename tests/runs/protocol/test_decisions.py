"""What the run protocol must get right: decisions take effect, nothing is forgotten, nothing leaks into the chain."""

from __future__ import annotations

import pytest

from daemons import Running, until
from runners import Runner, write_strategy

BASE = ["self-protection", "forbidden-globs"]


@pytest.fixture
def client(daemon):
    with Runner(daemon) as made:
        yield made


def write(path, content="x", **more) -> str:
    extra = "".join(f", {k}: {v}" for k, v in more.items())
    return f"- {{agent: writer, tool: write_file, input: {{path: {path}, content: '{content}'}}{extra}}}\n"


def command(line, **more) -> str:
    extra = "".join(f", {k}: {v}" for k, v in more.items())
    return f"- {{agent: builder, tool: run_command, input: {{command: {line!r}}}{extra}}}\n"


def results(client) -> list[tuple[str, str]]:
    events = [m["event"] for m in client.heard if m["type"] == "agent_streaming"]
    return [(e["status"], e.get("error", e["output"])) for e in events if e["type"] == "tool-result"]


def asked(client) -> list[dict]:
    return [m for m in client.heard if m["type"] == "request_permission"]


# 1. Session decisions take effect


def test_an_allowed_resource_is_not_asked_about_again_in_that_run(client, tmp_path):
    out = tmp_path / "a.txt"
    run = client.launch(write_strategy(tmp_path, write(out, 1) + write(out, 2) + write(tmp_path / "b.txt")))
    client.decide(run, client.hear("request_permission", resource=str(out)), "allow-session")
    client.decide(run, client.hear("request_permission", resource=str(tmp_path / "b.txt")), "allow")
    client.hear("strategy_completed")
    assert len(asked(client)) == 2
    assert out.read_text() == "2"


def test_an_allowed_command_is_not_asked_about_again_and_really_runs_in_the_sandbox(client, daemon, tmp_path):
    script = daemon.project / "build.sh"
    script.write_text("#!/bin/sh\necho $ASSENT_SANDBOX\n")
    script.chmod(0o755)
    run = client.launch(write_strategy(tmp_path, command("./build.sh all") * 2))
    question = client.hear("request_permission")
    assert (question["operation"], question["resource"]) == ("command.execute", "./build.sh all")
    client.decide(run, question, "allow-session")
    updated = client.hear("policy_updated")
    assert updated["tool"] == "run_command"
    assert updated["policies"][-1] == {"name": "session-allow-execute---build-sh-all"}
    assert client.hear("strategy_completed")["result"] == "workspace-write"
    assert len(asked(client)) == 1


def test_a_file_that_may_run_is_the_same_file_however_a_line_names_it(client, daemon, tmp_path):
    for folder in (daemon.project, daemon.project / "sub"):
        folder.mkdir(exist_ok=True)
        (folder / "go.sh").write_text("#!/bin/sh\necho went\n")
        (folder / "go.sh").chmod(0o755)
    same = ("./go.sh", " ./go.sh ", str(daemon.project / "go.sh"), "sub/../go.sh")
    others = ("A=1 ./go.sh", "./go.sh x", "./go.sh; id", "sub/go.sh", "./go.sh > out.txt")
    steps = "".join(command(line, on_error="continue") for line in (*same, *others))
    steps += command("./go.sh", on_error="continue").replace("'./go.sh'", "'./go.sh', cwd: sub")
    run = client.launch(write_strategy(tmp_path, steps))
    question = client.hear("request_permission")
    assert (question["operation"], question["resource"]) == ("fs.exec", str(daemon.project / "go.sh"))
    client.decide(run, question, "allow-session")
    for _ in range(len(others) + 1):
        client.decide(run, client.hear("request_permission"), "deny")
    client.hear("strategy_completed")
    expected = ["completed"] * len(same) + ["error"] * (len(others) + 1)
    assert [status for status, _ in results(client)] == expected
    assert [q["resource"] for q in asked(client)].count(str(daemon.project / "go.sh")) == 1


def test_a_denied_resource_is_refused_without_a_question(client, tmp_path):
    out = tmp_path / "a.txt"
    steps = write(out, on_error="continue") + write(out, 2, on_error="continue")
    run = client.launch(write_strategy(tmp_path, steps))
    client.decide(run, client.hear("request_permission"), "deny-session")
    updated = client.hear("policy_updated")
    assert updated["policies"][-1]["name"].startswith("session-deny-write-")
    client.hear("strategy_completed")
    assert len(asked(client)) == 1
    assert [status for status, _ in results(client)] == ["error", "error"]
    assert results(client)[1][1] == "denied: refused earlier in this session"
    assert not out.exists()


def test_a_later_session_decision_replaces_the_earlier(client, tmp_path):
    out = tmp_path / "a.txt"
    steps = write(out, on_error="continue") + write(out, 2, override="true") + write(out, 3)
    run = client.launch(write_strategy(tmp_path, steps))
    client.decide(run, client.hear("request_permission"), "deny-session")
    client.decide(run, client.hear("request_permission", reason="policy-deny-override"), "allow-session")
    client.hear("strategy_completed")
    names = [p["name"] for p in [m for m in client.heard if m["type"] == "policy_updated"][-1]["policies"]]
    assert len([n for n in names if n.startswith("session-")]) == 1
    assert out.read_text() == "3"


# 2. One shot means one shot


@pytest.mark.parametrize("decision", ["allow", "deny"])
def test_a_plain_decision_leaves_no_trace(client, tmp_path, decision):
    out = tmp_path / "a.txt"
    run = client.launch(
        write_strategy(tmp_path, write(out, on_error="continue") * 1 + write(out, 2, on_error="continue"))
    )
    for _ in range(2):
        client.decide(run, client.hear("request_permission"), decision)
    client.hear("strategy_completed")
    assert "policy_updated" not in client.kinds()
    assert out.exists() == (decision == "allow")


# 3. Overrides, files that are run, details


def test_a_session_deny_can_be_overridden_once_and_stays(client, tmp_path):
    out = tmp_path / "a.txt"
    steps = write(out, on_error="continue") + write(out, 2, override="true") + write(out, 3, on_error="continue")
    run = client.launch(write_strategy(tmp_path, steps))
    client.decide(run, client.hear("request_permission", reason="policy-ask"), "deny-session")
    client.decide(run, client.hear("request_permission", reason="policy-deny-override"), "allow")
    client.hear("strategy_completed")
    assert [status for status, _ in results(client)] == ["error", "completed", "error"]
    assert out.read_text() == "2"


def test_running_a_file_is_fs_exec_with_its_path(client, daemon, tmp_path):
    script = daemon.project / "go.sh"
    script.write_text("#!/bin/sh\necho went\n")
    script.chmod(0o755)
    run = client.launch(write_strategy(tmp_path, command("./go.sh")))
    question = client.hear("request_permission")
    assert (question["operation"], question["resource"]) == ("fs.exec", str(script))
    client.decide(run, question, "allow")
    assert client.hear("strategy_completed")["result"] == "went"


def test_details_show_what_is_about_to_be_written_cut_at_4000(client, tmp_path):
    run = client.launch(write_strategy(tmp_path, write(tmp_path / "a", "y" * 5000)))
    details = client.hear("request_permission")["details"]
    assert details["content"] == "y" * 4000
    assert details["cut"] == ["content"]
    assert details["tier"] == "safe"
    assert details["reading"] == [
        {"operation": "fs.write", "resource": str(tmp_path / "a"), "tier": "safe", "reason": "writes a file"}
    ]
    assert "outside the workspace" in details["why"]
    client.send("stop_run", runId=run)
    client.hear("strategy_error")


# 4. update_policy adds


def test_update_policy_adds_to_the_lists_and_replaces_the_default_alone(client, tmp_path):
    strategy = write_strategy(tmp_path, write(tmp_path / "one") + write(tmp_path / "two") + write(tmp_path / "three"))
    run = client.prepare(strategy)["runId"]
    for name in ("one", "two"):
        client.send("update_policy", runId=run, tool="write_file", mode="write", allow=[str(tmp_path / name)])
        updated = client.hear("policy_updated")
        assert updated["tool"] == "write_file"
        assert updated["policies"] == [{"name": n} for n in (*BASE, "write-path-policy", "classifier")]
    client.send("start_run", runId=run)
    client.decide(run, client.hear("request_permission", resource=str(tmp_path / "three")), "allow")
    client.hear("strategy_completed")
    assert len(asked(client)) == 1


def test_without_a_tool_every_guard_is_updated_and_tells_so(client, tmp_path):
    run = client.prepare(write_strategy(tmp_path, write("a")))["runId"]
    client.send("update_policy", runId=run, mode="read", deny=["private/**"])
    told = [client.hear("policy_updated")["tool"] for _ in range(6)]
    assert told == ["read_file", "write_file", "edit_file", "list_dir", "search_files", "run_command"]
    assert client.quiet() == []


def test_a_policy_that_is_added_while_it_runs_holds_from_then_on(client, daemon, tmp_path):
    (daemon.project / "private").mkdir(exist_ok=True)
    (daemon.project / "private" / "x").write_text("secret")
    read = "- {agent: a, tool: read_file, input: {path: private/x}, on_error: continue}\n"
    run = client.launch(write_strategy(tmp_path, read + write(tmp_path / "wait") + read))
    question = client.hear("request_permission")
    client.send("update_policy", runId=run, tool="read_file", mode="read", deny=["private/**"])
    client.hear("policy_updated")
    client.decide(run, question, "allow")
    client.hear("strategy_completed")
    assert [status for status, _ in results(client)] == ["completed", "completed", "error"]


@pytest.mark.parametrize(("default", "expected"), [("allow", "completed"), ("deny", "error")])
def test_a_default_that_is_replaced_answers_for_what_no_list_names(client, tmp_path, default, expected):
    run = client.prepare(write_strategy(tmp_path, write(tmp_path / "a", on_error="continue")))["runId"]
    client.send("update_policy", runId=run, mode="write", default=default)
    client.send("start_run", runId=run)
    client.hear("strategy_completed")
    assert [status for status, _ in results(client)] == [expected]
    assert not asked(client)


def test_a_default_of_allow_also_answers_what_the_classifier_asks_about(client, daemon, tmp_path):
    sensitive = write(daemon.project / "credentials.json") + write(daemon.project / ".envrc", on_error="continue")
    run = client.prepare(write_strategy(tmp_path, sensitive))["runId"]
    client.send("update_policy", runId=run, tool="write_file", mode="write", default="allow")
    client.send("start_run", runId=run)
    client.hear("strategy_completed")
    assert [status for status, _ in results(client)] == ["completed", "error"]
    assert not asked(client)


# 5. Everyone learns of it


def test_late_subscribers_get_what_is_pending_and_others_learn_of_answers(client, daemon, tmp_path):
    run = client.launch(write_strategy(tmp_path, write(tmp_path / "a") + write(tmp_path / "b")))
    question = client.hear("request_permission")
    with Runner(daemon) as late:
        late.send("subscribe", runId=run)
        assert late.hear("request_permission") == question
        late.decide(run, question, "allow")
        assert client.hear("permission_resolved") == {
            "type": "permission_resolved",
            "runId": run,
            "requestId": question["requestId"],
            "decision": "allow",
            "by": daemon.user,
            "ts": client.heard[-1]["ts"],
        }
        second = late.hear("request_permission")
        assert "permission_resolved" not in late.kinds()
        late.send("unsubscribe", runId=run)
        assert late.quiet() == []
        client.decide(run, client.hear("request_permission"), "deny-session")
        client.hear("strategy_error")
        assert second["requestId"] == asked(client)[-1]["requestId"]
        assert late.quiet() == []


def test_an_answer_by_another_dialect_is_told_as_well(client, daemon, tmp_path):
    out = tmp_path / "a"
    run = client.launch(write_strategy(tmp_path, write(out) + write(out, 2)))
    question = client.hear("request_permission")
    pending = daemon.api(daemon.owner).get("/api/permissions").json()["pending"]
    assert question["requestId"] in [p["id"] for p in pending]
    body = {"requestId": question["requestId"], "decision": "approve", "scope": "session"}
    assert daemon.api(daemon.owner).post("/api/permissions", json=body).status_code == 200
    assert client.hear("permission_resolved", runId=run)["decision"] == "allow-session"
    client.hear("policy_updated")
    client.hear("strategy_completed")
    assert len(asked(client)) == 1
    assert daemon.api(daemon.owner).get("/api/grants").json()["grants"] == []


# 6. Questions expire


def test_a_question_that_nobody_answers_expires_and_denies(tmp_path):
    with Running(tmp_path / "d", "--expiry", "1s") as daemon, Runner(daemon) as client:
        run = client.launch(write_strategy(tmp_path, write(tmp_path / "a")))
        question = client.hear("request_permission")
        assert question["expiresAt"] > question["ts"]
        told = client.hear("permission_resolved")
        assert (told["decision"], told["requestId"], told["by"]) == ("expired", question["requestId"], "expiry")
        error = client.hear("strategy_error", runId=run)["error"]
        assert error == {"code": "EXECUTION_ERROR", "message": "step 1 write_file: denied: nobody answered in time"}
        assert not (tmp_path / "a").exists()


# 7. Confinement


def test_a_link_out_of_the_folder_is_asked_about_as_what_it_leads_to(client, daemon, tmp_path):
    (tmp_path / "real").write_text("out")
    link = daemon.project / "inside-link"
    link.symlink_to(tmp_path / "real")
    run = client.launch(write_strategy(tmp_path, "- {agent: a, tool: read_file, input: {path: inside-link}}"))
    question = client.hear("request_permission")
    assert (question["operation"], question["resource"]) == ("fs.read", str(tmp_path / "real"))
    client.decide(run, question, "allow")
    assert client.hear("strategy_completed")["result"] == "out"


FORBIDDEN = (
    ".git/config",
    ".env",
    "a/.env.local",
    "x.pem",
    "d/k.key",
    "id_rsa",
    "a/secrets/b",
    ".npmrc",
    "c/.yarnrc",
    "c.crt",
)


def test_forbidden_globs_hold_whatever_is_said(client, daemon, tmp_path):
    steps = "".join(
        f"- {{agent: a, tool: {tool}, input: {given}, on_error: continue}}\n"
        for path in FORBIDDEN
        for tool, given in (
            ("read_file", f"{{path: {path}}}"),
            ("write_file", f"{{path: {path}, content: x}}"),
        )
    )
    steps += command("cat .env", on_error="continue") + command("cat ../.env", on_error="continue").replace(
        "'cat ../.env'", "'cat ../.env', cwd: sub"
    )
    (daemon.project / "sub").mkdir(exist_ok=True)
    run = client.prepare(write_strategy(tmp_path, steps))["runId"]
    for mode in ("read", "write"):
        client.send("update_policy", runId=run, mode=mode, allow=["**"], default="allow")
    client.send("start_run", runId=run)
    client.hear("strategy_completed", seconds=60)
    assert not asked(client)
    outcomes = results(client)
    assert len(outcomes) == 2 * len(FORBIDDEN) + 2
    assert all(status == "error" and "is forbidden in a run" in text for status, text in outcomes)


# 8. Names


def test_names_are_unique_and_follow_the_path(client, daemon, tmp_path):
    strategy = write_strategy(tmp_path, "", top="ask: ['Write(./generated/**)']\n")
    steps = write("'generated/*.json'") + write("generated/a-b") + write("generated/a.b")
    write_strategy(tmp_path, steps, top="ask: ['Write(generated/**)']\n")
    run = client.launch(strategy)
    for _ in range(3):
        client.decide(run, client.hear("request_permission"), "allow-session")
    client.hear("strategy_completed")
    names = [p["name"] for p in [m for m in client.heard if m["type"] == "policy_updated"][-1]["policies"]]
    assert names == [
        *BASE,
        "ask-rules",
        "write-path-policy",
        "classifier",
        "session-allow-write-generated---json",
        "session-allow-write-generated-a-b",
        "session-allow-write-generated-a-b-2",
    ]


# 9. Path policies


def test_deny_comes_before_allow_and_reads_pass_a_policy_for_writes(client, daemon, tmp_path):
    (daemon.project / "gen").mkdir(exist_ok=True)
    (daemon.project / "gen" / "a").write_text("a")
    read = "- {agent: a, tool: read_file, input: {path: gen/a}}\n"
    run = client.prepare(write_strategy(tmp_path, read + write("gen/a", on_error="continue")))["runId"]
    client.send("update_policy", runId=run, mode="write", allow=["gen/**"], deny=["gen/a"])
    client.send("start_run", runId=run)
    client.hear("strategy_completed")
    assert [status for status, _ in results(client)] == ["completed", "error"]


# 10. Several at once


def test_several_questions_are_pending_at_once_and_the_first_answer_wins(client, daemon, tmp_path):
    names = ["a", "b", "c"]
    inner = "".join("    " + write(tmp_path / n) for n in names)
    run = client.launch(write_strategy(tmp_path, f"- name: all\n  parallel:\n{inner}"))
    questions = {client.hear("request_permission")["resource"]: client.heard[-1] for _ in names}
    assert len(questions) == 3
    for name in reversed(names):
        client.decide(run, questions[str(tmp_path / name)], "allow")
        until(lambda name=name: (tmp_path / name).exists())
    client.hear("strategy_completed")
    again = questions[str(tmp_path / "a")]["requestId"]
    assert client.refused("permission_decision", runId=run, permissionRequestId=again, decision="deny") == (
        "NO_PENDING_PERMISSION",
        f"No pending permission request {again} for run {run}",
    )


def test_answers_that_come_in_a_burst_all_count_in_their_order_before_what_follows_them(client, daemon, tmp_path):
    steps = "\n".join(
        f"  - {{agent: a, tool: write_file, input: {{path: {tmp_path}/{n}, content: x}}}}" for n in range(9)
    )
    run = client.launch(write_strategy(tmp_path, f"- parallel:\n{steps}\n"))
    asked = [client.hear("request_permission") for _ in range(9)]
    for question in asked:
        client.decide(run, question, "allow")
        client.decide(run, question, "deny")
    client.send("list_runs", requestId="then")
    for _ in range(9):
        assert client.hear("error")["code"] == "NO_PENDING_PERMISSION"
    client.hear("run_list", requestId="then")  # whatever follows answers is obeyed after them
    states = [daemon.api(daemon.owner).get(f"/api/permissions/{q['requestId']}").json()["status"] for q in asked]
    assert states == ["approved"] * 9
    client.find("strategy_completed", runId=run)
    assert all((tmp_path / str(number)).exists() for number in range(9))
