"""Runs of several daemons on one PostgreSQL: each runs its own, and all know what became of them."""

from __future__ import annotations

import pytest

from daemons import Running, until
from runners import Runner, write_strategy


@pytest.fixture
def nodes(tmp_path, postgres):
    url = postgres.new_database()
    one, two = (Running(tmp_path / name, "--store", url, "--rate", "0") for name in ("one", "two"))
    with one, two:
        yield one, two


def status(client, run):
    (found,) = [r for r in client.ask("list_runs", "run_list")["runs"] if r["runId"] == run]
    return found["status"]


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
        told = there.ask("prepare_run", "run_prepared", runId=run)["conversation"]["records"]
        assert (told[1]["decision"], told[-1]["result"]) == ("allow", done["result"])
        left = here.launch(strategy)
        here.hear("request_permission", runId=left)
        one.kill()
        assert status(there, left) == "running"
        one.start()
        assert status(there, left) == "error"
        there.send("subscribe", runId=left)
        assert there.hear("strategy_error", runId=left)["error"]["message"] == "the daemon was restarted while it ran"


def test_a_run_is_followed_answered_and_stopped_at_another_node(nodes, tmp_path):
    one, two = nodes
    until(lambda: two.api(one.owner).get("/api/login").status_code == 200)
    write = f"- {{agent: a, tool: write_file, input: {{path: {tmp_path}/x, content: x}}}}\n"
    strategy = write_strategy(tmp_path, write + write + f"{write.replace('/x', '/y')}")
    with Runner(one, one.owner) as here, Runner(two, one.owner) as there:
        run = here.launch(strategy)
        question = here.hear("request_permission")
        told = there.ask("prepare_run", "run_prepared", runId=run)
        assert [m["type"] for m in told["conversation"]["records"]] == ["step_started"]
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
