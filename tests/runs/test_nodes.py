"""Runs of several daemons on one PostgreSQL: each runs its own, and all know what became of them."""

from __future__ import annotations

import os
import signal

import pytest

from assent.runs.crash_recovery import SILENT
from daemons import Running, until
from runners import Runner, write_strategy

LEASE = "10"
"""Long enough that a busy machine is not taken for a dead daemon."""


@pytest.fixture
def nodes(tmp_path, postgres, request):
    url = postgres.ready_database()
    flags = ("--store", url, "--rate", "0", "--lease", getattr(request, "param", "1h"))
    one, two = (Running(tmp_path / name, *flags) for name in ("one", "two"))
    with one, two:
        yield one, two


silence_counts = pytest.mark.parametrize("nodes", [LEASE], indirect=True)


def status(client, run):
    return listed(client, run)["status"]


def listed(client, run):
    (found,) = [r for r in client.ask("list_runs", "run_list")["runs"] if r["runId"] == run]
    return found


def test_a_run_is_answered_at_any_node_and_read_back_at_every(nodes, tmp_path):
    one, two = nodes
    person = one.owner
    until(lambda: two.api(person).get("/api/login").status_code == 200)
    strategy = write_strategy(tmp_path, f"- {{agent: a, tool: write_file, input: {{path: {tmp_path}/x, content: x}}}}")
    with Runner(one, person) as here, Runner(two, person) as there:
        run = here.launch(strategy)
        question = here.hear("request_permission")["requestId"]
        assert status(there, run) == "running"
        assert there.refused("start_run", runId=run)[0] == "START_FAILED"
        assert there.refused("update_policy", runId=run, mode="read")[0] == "RUN_NOT_FOUND"
        answer = {"requestId": question, "decision": "approve"}
        assert two.api(person).post("/api/permissions", json=answer).status_code == 200
        done = here.hear("strategy_completed")
        assert (tmp_path / "x").read_text() == "x"
        told = there.ask("prepare_run", "run_prepared", runId=run)["conversation"]["messages"]
        assert (told[1]["decision"], told[-1]["result"]) == ("allow", done["result"])


def test_a_run_is_followed_answered_and_stopped_at_another_node(nodes, tmp_path):
    one, two = nodes
    until(lambda: two.api(one.owner).get("/api/login").status_code == 200)
    write = f"- {{agent: a, tool: write_file, input: {{path: {tmp_path}/x, content: x}}}}\n"
    strategy = write_strategy(tmp_path, write + write + f"{write.replace('/x', '/y')}")
    with Runner(one, one.owner) as here, Runner(two, one.owner) as there:
        run = here.launch(strategy)
        question = here.hear("request_permission")
        told = there.ask("prepare_run", "run_prepared", runId=run)
        assert [m["type"] for m in told["conversation"]["messages"]] == ["step_started"]
        seen = there.hear("request_permission")
        assert seen == question
        wrong = {"runId": run, "permissionRequestId": "nope", "decision": "allow"}
        assert there.refused("permission_decision", **wrong)[0] == "NO_PENDING_PERMISSION"
        with Runner(two, two.mint("user", user="somebody-else")) as stranger:
            for kind, more in (
                ("subscribe", {}),
                ("prepare_run", {}),
                ("stop_run", {}),
                ("permission_decision", {"permissionRequestId": question["requestId"], "decision": "allow"}),
            ):
                assert stranger.refused(kind, runId=run, **more)[0] == "FORBIDDEN"
        there.decide(run, seen, "allow-session")
        assert here.hear("permission_resolved")["decision"] == "allow-session"
        here.hear("policy_updated")
        last = there.hear("request_permission", resource=str(tmp_path / "y"))  # the second write asked nothing
        kinds = there.kinds()
        assert kinds.count("request_permission") == 2
        assert {"permission_resolved", "step_started", "agent_streaming"} <= set(kinds)
        there.send("stop_run", runId=run)
        assert here.hear("strategy_error")["error"]["message"] == "Run cancelled by client"
        assert there.hear("strategy_error")["error"]["code"] == "CANCELLED"
        again = {"runId": run, "permissionRequestId": last["requestId"], "decision": "allow"}
        assert there.refused("permission_decision", **again)[0] == "NO_PENDING_PERMISSION"
    assert not (tmp_path / "y").exists()


@silence_counts
def test_a_run_whose_daemon_died_for_good_is_ended_by_another(nodes, tmp_path):
    one, two = nodes
    person = one.owner
    until(lambda: two.api(person).get("/api/login").status_code == 200)
    asking = write_strategy(tmp_path, f"- {{agent: a, tool: write_file, input: {{path: {tmp_path}/x, content: x}}}}")
    program = tmp_path / "p.yaml"
    program.write_text("name: p\nprocess: {agent: p, command: [sh, -c, 'echo \"<$ASSENT_TOKEN>\"; exec sleep 300']}\n")
    with Runner(one, person) as here, Runner(two, person) as there:
        lent = program_token(here, here.launch(program))
        until(lambda: two.api(lent).get("/api/permissions").status_code == 200)
        said = two.api(lent).post("/api/hooks/classify", json={"toolName": "bash", "toolInput": {"command": "ls"}})
        assert (said.status_code, "belongs to another daemon; ask that daemon" in said.json()["error"]) == (403, True)
        prepared = here.prepare(asking, runId="prepared")["runId"]
        run = here.launch(asking)
        question = here.hear("request_permission", runId=run)["requestId"]
        there.send("subscribe", runId=run)
        there.hear("request_permission", runId=run)
        one.kill()
        assert there.hear("strategy_error", runId=run)["error"] == {"code": "EXECUTION_ERROR", "message": SILENT}
        for left in (run, prepared):
            assert (status(there, left), listed(there, left)["error"]) == ("error", SILENT)
        assert there.find("permission_resolved", requestId=question)["decision"] == "cancelled"
        outcome = two.api(person).get(f"/api/permissions/{question}").json()
        assert outcome["status"] == "cancelled"
        until(lambda: two.api(lent).get("/api/permissions").status_code == 401)
        one.start()
        assert status(there, run) == "error"
        told = two.api(person).get(f"/api/audit?session={run}&type=run.status").json()["events"]
        assert [event["body"]["payload"]["status"] for event in told].count("error") == 1


def program_token(client, run):
    text = ""
    while ">" not in text:
        event = client.hear("agent_streaming", runId=run)["event"]
        text += event.get("text", "")
    return text.partition("<")[2].partition(">")[0]


@silence_counts
def test_a_daemon_that_was_away_too_long_does_no_more_of_its_runs(nodes, tmp_path):
    one, two = nodes
    person = one.owner
    until(lambda: two.api(person).get("/api/login").status_code == 200)
    write = f"- {{agent: a, tool: write_file, input: {{path: {tmp_path}/FILE, content: x}}}}\n"
    asking = write_strategy(tmp_path, write.replace("FILE", "asked"), name="asking")
    working = write_strategy(
        tmp_path,
        "- {agent: a, tool: run_command, input: {command: 'echo at it; sleep 300'}, on_error: continue}\n"
        "- {agent: a, tool: write_file, input: {path: after, content: x}}",
        name="working",
    )
    with Runner(one, person) as here, Runner(two, person) as there:
        busy = here.launch(working)
        here.hear("agent_streaming", runId=busy, event={"type": "text", "text": "at it\n"})
        ready = here.prepare(asking, runId="ready")["runId"]
        run = here.launch(asking)
        question = here.hear("request_permission", runId=run)
        os.kill(one.process.pid, signal.SIGSTOP)
        try:
            there.decide(run, question, "allow")  # heard of at the other only when it comes back
            for left in (run, busy, ready):
                until(lambda left=left: status(there, left) == "error")
        finally:
            os.kill(one.process.pid, signal.SIGCONT)
        assert here.refused("start_run", runId=ready)[0] == "START_FAILED"
        for left in (run, busy, ready):
            assert here.find("strategy_error", runId=left)["error"]["message"] == SILENT
            assert listed(here, left)["error"] == SILENT
        assert here.refused("stop_run", runId=run)[0] == "RUN_NOT_FOUND"
        again = here.launch(write_strategy(tmp_path, "- {agent: a, tool: list_dir, input: {path: .}}"))
        here.hear("strategy_completed", runId=again)
    assert not (tmp_path / "asked").exists()
    assert not (one.project / "after").exists()
    for left in (run, busy):
        assert not one.api(person).get(f"/api/audit?session={left}&type=tool.result").json()["events"]
