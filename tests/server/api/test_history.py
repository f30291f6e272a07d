"""What people may look back on: records, exports, sessions, figures, trials of rules; each only of what is theirs."""

from __future__ import annotations

import json

import pytest

from daemons import Running, until
from runners import Runner, write_strategy


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def daemon(request, tmp_path_factory):
    """One daemon on each engine: what is asked of the log is written for both."""
    store = ()
    if request.param == "postgresql":
        store = ("--store", request.getfixturevalue("postgres").new_database())
    with Running(tmp_path_factory.mktemp("daemon"), "--rate", "0", *store) as running:
        yield running


@pytest.fixture(scope="module")
def people(daemon):
    """Two users with an agent each, who asked for the same things."""
    made = {}
    for name in ("ida", "jan"):
        agent = daemon.api(daemon.mint("agent", user=name, agent=f"{name}s", remote=True))
        for line in ("ls", f"cargo install {name}", "cargo install both", "rm -rf /"):
            body = {"toolName": "bash", "toolInput": {"command": line}, "sessionId": f"{name}-1"}
            assert agent.post("/api/hooks/classify", json=body).status_code == 200
        made[name] = daemon.api(daemon.mint("user", user=name))
    return made


def lines(answer):
    return [json.loads(line) for line in answer.text.splitlines()]


def test_an_export_has_what_was_found_in_order_and_nothing_of_others(people, daemon):
    mine = lines(people["ida"].get("/api/audit/export"))
    assert {line["user"] for line in mine} == {"ida"}
    assert [line["position"] for line in mine] == sorted(line["position"] for line in mine)
    denied = lines(people["ida"].get("/api/audit/export", params={"verdict": "deny", "user": "jan"}))
    assert [line["text"].split(" · ")[0] for line in denied] == ["rm -rf /"]
    everything = daemon.api(daemon.owner).get("/api/audit/export")
    assert everything.headers["content-disposition"].startswith("attachment")
    assert {"ida", "jan"} <= {line["user"] for line in lines(everything)}


def test_a_record_is_shown_to_whom_it_concerns_and_hangs_on_the_one_before(people, daemon):
    record = people["ida"].get("/api/audit", params={"brief": "true", "verdict": "deny"}).json()["events"][0]
    assert record["body"] is None
    path = f"/api/audit/{record['position']}"
    shown = people["ida"].get(path).json()
    assert shown["event"]["body"]["permissionDecision"]["reading"]["tier"] == "destructive"
    assert shown["chain"]["holds"] is True
    assert people["jan"].get(path).status_code == 404
    assert daemon.api(daemon.owner).get(path).json()["event"]["hash"] == shown["event"]["hash"]
    for wrong in ("0", "nothing", "-1", "99999999", "9" * 30):
        assert people["ida"].get(f"/api/audit/{wrong}").status_code in (400, 404)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"text": "CARGO Install"}, 4),
        ({"text": "%"}, 0),
        ({"text": "_s"}, 0),
        ({"text": "cargo install", "type": "permission.evaluated"}, 2),
        ({"tier": "destructive"}, 1),
        ({"verdict": "allow"}, 1),
        ({"source": "classifier"}, 4),
        ({"agent": "idas", "tool": "Bash", "type": "permission.requested"}, 2),
        ({"agent": "jans"}, 0),
        ({"session": "ida-1"}, 6),
        ({"since": "1", "until": "2"}, 0),
        ({"since": "1", "until": "99999999999", "verdict": "deny"}, 1),
    ],
    ids=str,
)
def test_every_filter_finds_what_it_names_and_nothing_else(people, wanted, found):
    first = people["ida"].get("/api/audit", params={**wanted, "limit": 1}).json()
    events, cursor = first["events"], first.get("cursor")
    while cursor:
        page = people["ida"].get("/api/audit", params={**wanted, "limit": 1, "cursor": cursor}).json()
        events, cursor = events + page["events"], page.get("cursor")
    assert len(events) == found
    assert [e["position"] for e in events] == sorted((e["position"] for e in events), reverse=True)


def test_the_log_is_verified_beside_and_says_how_far_it_is(daemon):
    owner = daemon.api(daemon.owner)
    assert owner.post("/api/audit/verify", json={}).json()["state"] == "running"
    assert owner.post("/api/audit/verify", json={}).json()["state"] == "running"
    done = until(lambda: (p := owner.get("/api/audit/verify").json())["state"] != "running" and p)
    assert done["state"] == "done"
    assert done["report"]["ok"] is True
    assert done["report"]["events"] == done["done"] > 0


def test_sessions_and_figures_are_of_ones_own_agents(people, daemon):
    (session,) = people["jan"].get("/api/sessions").json()["sessions"]
    assert (session["id"], session["agentId"], session["allow"], session["deny"]) == ("jan-1", "jans", 1, 1)
    found = people["jan"].get("/api/stats/history", params={"days": 1}).json()
    assert (found["calls"], found["asked"]) == (4, 2)
    assert found["mostAsked"][0] == {
        "tool": "Bash",
        "begins": "cargo install",
        "example": "cargo install both",
        "count": 2,
        "allowed": 0,
    }
    everyone = daemon.api(daemon.owner).get("/api/stats/history").json()
    assert everyone["calls"] >= 8
    agent = daemon.api(daemon.mint("agent", user="jan", agent="jans", remote=True))
    agent.post("/api/hooks/classify", json={"toolName": "bash", "toolInput": {"command": "ls"}, "sessionId": "jan-2"})
    for days in (1, 7, 31, 366):
        found = people["jan"].get("/api/stats/history", params={"days": days}).json()
        assert (found["calls"], found["asked"], found["violations"]) == (5, 2, 0)
        assert sum(point["allow"] for point in found["points"]) == 2
    assert people["jan"].get("/api/stats/history", params={"days": 0}).status_code == 400


def test_figures_since_the_start_are_of_ones_own_agents_and_metrics_are_the_admins(people, daemon):
    agent = daemon.api(daemon.mint("agent", user="kim", agent="kims", remote=True))
    kim, everyone = daemon.api(daemon.mint("user", user="kim")), daemon.api(daemon.owner)
    before = everyone.get("/api/stats").json()
    assert kim.get("/api/stats").json()["decisions"] == {}
    for line in ("ls", "cargo install kim"):
        agent.post("/api/hooks/classify", json={"toolName": "bash", "toolInput": {"command": line}})
    mine, after = (api.get("/api/stats").json() for api in (kim, everyone))
    assert (mine["decisions"], mine["pending"], mine["questions"]) == ({"allow": 1, "ask": 1}, 1, {})
    assert sum(after["decisions"].values()) == sum(before["decisions"].values()) + 2 > 2
    assert after["pending"] == before["pending"] + 1 > 1
    asked = kim.get("/api/permissions").json()["pending"][0]["id"]
    kim.post("/api/permissions", json={"requestId": asked, "decision": "reject"}).raise_for_status()
    until(lambda: kim.get("/api/stats").json()["questions"] == {"rejected": 1})
    assert "rejected" not in people["jan"].get("/api/stats").json()["questions"]
    assert mine["store"] in ("sqlite", "postgresql")
    assert after["store"].startswith(mine["store"] + "://")
    assert kim.get("/metrics").status_code == 403


def test_earlier_answers_are_of_the_same_user(people, daemon):
    questions = people["ida"].get("/api/permissions").json()["pending"]
    first, second = (q["id"] for q in questions)
    assert people["jan"].get(f"/api/permissions/{second}/similar").status_code == 404
    assert people["ida"].get(f"/api/permissions/{second}/similar").json() == {"similar": []}
    people["ida"].post("/api/permissions", json={"requestId": first, "decision": "reject", "feedback": "no"})
    (before,) = people["ida"].get(f"/api/permissions/{second}/similar").json()["similar"]
    assert (before["status"], before["feedback"], before["by"]) == ("rejected", "no", "ida")
    other = people["jan"].get("/api/permissions").json()["pending"][0]["id"]
    assert people["jan"].get(f"/api/permissions/{other}/similar").json() == {"similar": []}


@pytest.mark.parametrize(
    ("wish", "changed"),
    [
        ({"rule": "Bash(cargo install:*)"}, 2),
        ({"rule": "cargo install both"}, 1),
        ({"rule": "Bash(cargo install:*)", "effect": "allow"}, 2),
        ({"rule": "Bash(cargo:*)", "effect": "deny"}, 2),
        ({"rule": "Bash(ls:*)", "effect": "ask"}, 1),
        ({"rule": "Bash(ls:*)"}, 0),
        ({"rule": "Bash(rm:*)", "effect": "allow"}, 0),
        ({"rule": "Bash(cargo install:*)", "agentId": "jans"}, 0),
    ],
    ids=str,
)
def test_a_rule_is_tried_on_ones_own_calls_alone(people, wish, changed):
    found = people["ida"].post("/api/policy/try", json=wish).json()
    assert (found["changed"], found["whole"]) == (changed, True)
    assert all("jan" not in change["command"] for change in found["changes"])


@pytest.mark.parametrize(
    "wish", [{}, {"rule": " "}, {"rule": "Bash()"}, {"rule": "x", "days": 0}, {"rule": "x", "days": 1e9}]
)
def test_what_is_no_rule_is_400(people, wish):
    assert people["ida"].post("/api/policy/try", json=wish).status_code == 400


def test_what_a_call_would_do_is_listed_where_it_is_wanted(people):
    plain = people["jan"].get("/api/permissions").json()["pending"][0]
    whole = people["jan"].get("/api/permissions", params={"details": "true"}).json()["pending"][0]
    assert "operations" not in plain
    assert whole["operations"][0]["argv"][:2] == ["cargo", "install"]
    assert people["jan"].get(f"/api/permissions/{whole['id']}").json()["operations"] == whole["operations"]


def test_a_run_is_listed_shown_with_what_guards_its_tools_and_stopped(people, daemon, tmp_path):
    ida = daemon.mint("user", user="ida")
    step = "- {agent: w, tool: run_command, input: {command: node x.js}}\n"
    with Runner(daemon, ida) as runner:
        ready = daemon.home / ".config" / "assent" / "strategies"
        run = runner.launch(write_strategy(ready, step, name="waits"))
        runner.find("request_permission", runId=run)
        assert [each["runId"] for each in people["ida"].get("/api/runs").json()["runs"]] == [run]
        shown = people["ida"].get(f"/api/runs/{run}").json()
        assert (shown["run"]["status"], shown["run"]["strategyName"]) == ("running", "waits")
        chains = {each["tool"]: [link["name"] for link in each["policies"]] for each in shown["guards"]}
        base = ["self-protection", "forbidden-globs"]
        assert chains["run_command"] == [*base, "read-path-policy", "write-path-policy", "classifier"]
        assert chains["read_file"] == [*base, "read-path-policy", "classifier"]
        runner.send("update_policy", runId=run, tool="read_file", mode="write", allow=["out/**"])
        told = runner.hear("policy_updated")
        shown = people["ida"].get(f"/api/runs/{run}").json()
        assert {"tool": "read_file", "policies": told["policies"]} in shown["guards"]
        assert people["jan"].get("/api/runs").json()["runs"] == []
        for method in ("GET", "DELETE"):
            for whose, wanted in ((people["jan"], run), (people["ida"], "nothing")):
                assert whose.request(method, f"/api/runs/{wanted}").status_code == 404
        assert people["ida"].delete(f"/api/runs/{run}").json() == {"success": True, "id": run}
        runner.find("strategy_error", runId=run)
    assert people["ida"].delete(f"/api/runs/{run}").status_code == 404
    assert people["ida"].get(f"/api/runs/{run}").json()["run"]["status"] == "cancelled"


@pytest.mark.parametrize(
    ("asked", "pattern", "scope", "answered"),
    [
        ("node a.js", "Bash(node:*)", "always", {"node a.js"}),
        ("npm install x", "Bash(npm install:*)", "always", {"npm install x", "npm install y", "npm install w"}),
        ("npm install x", "Bash(npm install:*)", "session", {"npm install x", "npm install w"}),
    ],
)
def test_what_is_counted_for_a_standing_answer_is_what_it_answers(tmp_path, asked, pattern, scope, answered):
    """It binds an agent, a workspace or a session, and the files that are run: a pattern alone would promise more."""
    with Running(tmp_path, "--rate", "0") as running:
        for name in ("a.js", "b.js"):
            (running.project / name).write_text("1")
        elsewhere = running.home / "elsewhere"
        (elsewhere / ".git").mkdir(parents=True)
        agent = running.api(running.mint("agent", agent="coder"))
        calls = {
            "node a.js": (running.project, "one"),
            "node b.js": (running.project, "one"),
            "npm install x": (running.project, "one"),
            "npm install y": (running.project, "two"),
            "npm install z": (elsewhere, "three"),
            "npm install w": (elsewhere, "one"),  # a session's workspace is where it began
        }

        def ask(line: str) -> dict:
            cwd, session = calls[line]
            body = {"toolName": "bash", "toolInput": {"command": line}, "cwd": str(cwd), "sessionId": session}
            return agent.post("/api/hooks/classify", json=body).json()

        pending = {line: ask(line)["requestId"] for line in calls}
        person = running.api(running.owner)
        wish = {"rule": pattern, "agentId": "coder", "requestId": pending[asked], "scope": scope}
        told = person.post("/api/policy/try", json=wish).json()
        assert {change["command"] for change in told["changes"]} == answered
        answer = {"requestId": pending[asked], "decision": "approve", "scope": scope, "pattern": pattern}
        assert person.post("/api/permissions", json=answer).status_code == 200
        for line, request in pending.items():
            if line != asked:
                person.post("/api/permissions", json={"requestId": request, "decision": "reject"})
        ask(asked)  # the yes to this very call is used up
        assert {line for line in calls if ask(line)["allow"]} == answered
        assert person.post("/api/policy/try", json=wish | {"requestId": "hook_nothing"}).status_code == 404
