"""`/api/permissions`, to the letter."""

from __future__ import annotations

import json

import pytest

MESSAGE = "Permission system initialized. Pending requests will appear here."
BASE = {"id", "agentId", "userId", "toolName", "toolInput", "tier", "reason", "timestamp", "status"}


def ask(agent, command, **more):
    body = {"toolName": "bash", "toolInput": {"command": command}, **more}
    return agent.post("/api/hooks/classify", json=body).json()["requestId"]


def answer(person, request_id, decision="approve", **more):
    return person.post("/api/permissions", json={"requestId": request_id, "decision": decision, **more})


def test_a_pending_question_has_every_field(agent, person, daemon):
    wanted = ask(agent, "node fields.js")
    listed = person.get("/api/permissions")
    assert listed.status_code == 200
    assert listed.json()["message"] == MESSAGE
    item = next(p for p in listed.json()["pending"] if p["id"] == wanted)
    assert item.keys() >= BASE
    assert item["agentId"] == "agent_123"
    assert item["userId"] == daemon.user
    assert item["toolName"] == "bash"
    assert item["toolInput"] == {"command": "node fields.js"}
    assert item["tier"] == "dangerous"
    assert item["reason"].startswith("Dangerous command: ")
    assert item["status"] == "pending"
    assert isinstance(item["timestamp"], int)
    assert item["timestamp"] > 1_700_000_000_000


def test_the_newest_is_last_and_agents_are_told_apart(daemon, person):
    first, second = (daemon.api(daemon.mint("agent", agent=name, remote=True)) for name in ("one", "two"))
    ids = [ask(first, "node 1.js"), ask(second, "node 2.js"), ask(first, "node 3.js")]
    listed = [p["id"] for p in person.get("/api/permissions").json()["pending"]]
    assert [i for i in listed if i in ids] == ids
    only = [p["id"] for p in person.get("/api/permissions?agentId=one").json()["pending"]]
    assert only == [ids[0], ids[2]]
    assert person.get("/api/permissions?agentId=nobody").json()["pending"] == []


def test_pages_follow_each_other_without_loss(daemon, person):
    client = daemon.api(daemon.mint("agent", agent="pages", remote=True))
    ids = [ask(client, f"node page-{n}.js") for n in range(7)]
    seen, cursor = [], None
    while True:
        query = {"agentId": "pages", "limit": 3} | ({"cursor": cursor} if cursor else {})
        page = person.get("/api/permissions", params=query).json()
        assert len(page["pending"]) <= 3
        seen += [p["id"] for p in page["pending"]]
        cursor = page.get("cursor")
        if cursor is None:
            break
    assert seen == ids


@pytest.mark.parametrize("query", ["limit=0", "limit=x", "limit=99999", "status=x", "cursor=%00nonsense"])
def test_a_bad_query_is_400(person, query):
    assert person.get(f"/api/permissions?{query}").status_code == 400


def test_an_answer_is_told_as_the_seed_has_it(agent, person):
    wanted = ask(agent, "node told.js")
    done = answer(person, wanted)
    assert done.status_code == 200
    assert {k: done.json()[k] for k in ("success", "requestId", "decision")} == {
        "success": True,
        "requestId": wanted,
        "decision": "approve",
    }
    one = person.get(f"/api/permissions/{wanted}").json()
    assert (one["status"], one["decision"], one["toolInput"]) == ("approved", "approve", {})
    assert wanted not in [p["id"] for p in person.get("/api/permissions").json()["pending"]]
    assert wanted in [p["id"] for p in person.get("/api/permissions?status=approved&limit=1000").json()["pending"]]
    assert wanted in [p["id"] for p in person.get("/api/permissions?status=all&limit=1000").json()["pending"]]


def test_a_rejection_keeps_its_words(agent, person):
    wanted = ask(agent, "node rejected.js")
    assert answer(person, wanted, "reject", feedback="not today").json()["decision"] == "reject"
    one = person.get(f"/api/permissions/{wanted}").json()
    assert (one["status"], one["decision"], one["feedback"]) == ("rejected", "reject", "not today")


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({}, "Missing requestId or decision"),
        ({"requestId": "x"}, "Missing requestId or decision"),
        ({"decision": "approve"}, "Missing requestId or decision"),
        ({"requestId": "", "decision": "approve"}, "Missing requestId or decision"),
        ({"requestId": "x", "decision": None}, "Missing requestId or decision"),
        (
            {"requestId": "x", "decision": "maybe"},
            "Invalid decision value. Must be one of: approve, reject, approve_always.",
        ),
        (
            {"requestId": "x", "decision": "APPROVE"},
            "Invalid decision value. Must be one of: approve, reject, approve_always.",
        ),
        ({"requestId": 3, "decision": "approve"}, "Invalid body: Expected `str | null`, got `int` - at `$.requestId`"),
        (
            {"requestId": "x", "decision": "approve_always", "scope": "once"},
            "Contradiction: approve_always with scope once",
        ),
        ({"requestId": "x", "decision": "approve", "expiresIn": -1}, "Invalid expiresIn: expected a number of seconds"),
        (
            {"requestId": "x", "decision": "approve", "expiresIn": 1e300},
            "Invalid expiresIn: expected a number of seconds",
        ),
        ({"requestId": "x", "decision": "reject", "modifiedInput": "ls"}, "A rejected call has no modifiedInput"),
    ],
    ids=json.dumps,
)
def test_a_bad_answer_is_400_with_the_exact_words(person, body, error):
    done = person.post("/api/permissions", json=body)
    assert (done.status_code, done.json()) == (400, {"error": error})


@pytest.mark.parametrize("wanted", ["perm_1_x", "x" * 5000, "../../x", "'; DROP TABLE approvals; --", "\u202e"])
def test_an_unknown_question_is_404(person, wanted):
    done = answer(person, wanted)
    assert (done.status_code, done.json()) == (404, {"error": "Request not found"})


def test_an_unknown_question_can_not_be_looked_at(person):
    done = person.get("/api/permissions/hook_1_x")
    assert (done.status_code, done.json()) == (404, {"error": "Request not found"})


def test_a_second_answer_is_404_and_says_who_was_first(agent, person, daemon):
    wanted = ask(agent, "node twice.js")
    assert answer(person, wanted, "reject").status_code == 200
    again = answer(person, wanted, "approve")
    assert again.status_code == 404
    assert again.json()["error"] == "Request not found"
    assert again.json()["by"] == daemon.user
    assert again.json()["detail"] == f"already rejected by {daemon.user}"


def test_without_a_token_it_is_401(daemon):
    client = daemon.api()
    for done in (
        client.get("/api/permissions"),
        client.get("/api/permissions/x"),
        client.post("/api/permissions", json={}),
    ):
        assert (done.status_code, done.json()) == (401, {"error": "Unauthorized"})


def test_an_agent_can_not_answer_its_own_question_or_anothers(daemon, agent):
    wanted = ask(agent, "node own.js")
    other = daemon.api(daemon.mint("agent", agent="other", remote=True))
    for client in (agent, other):
        done = answer(client, wanted)
        assert (done.status_code, done.json()) == (403, {"error": "Forbidden"})


def test_an_agent_sees_its_own_questions_only(daemon, agent):
    wanted = ask(agent, "node seen.js")
    other = daemon.api(daemon.mint("agent", agent="other", remote=True))
    assert wanted in [p["id"] for p in agent.get("/api/permissions").json()["pending"]]
    assert wanted not in [p["id"] for p in other.get("/api/permissions").json()["pending"]]
    assert other.get(f"/api/permissions/{wanted}").status_code == 404
    assert other.get("/api/permissions?agentId=agent_123").status_code == 403


def test_a_user_sees_and_answers_for_their_own_agents_only(daemon, agent):
    wanted = ask(agent, "node mine.js")
    stranger = daemon.api(daemon.mint("user", user="stranger"))
    assert stranger.get("/api/permissions").json()["pending"] == []
    assert stranger.get(f"/api/permissions/{wanted}").status_code == 404
    done = answer(stranger, wanted)
    assert (done.status_code, done.json()) == (404, {"error": "Request not found"})
    admin = daemon.api(daemon.owner)
    assert answer(admin, wanted).status_code == 200


def test_a_modified_input_that_policy_denies_is_400_and_the_question_stays(agent, person):
    wanted = ask(agent, "node smuggle.js")
    done = answer(person, wanted, modifiedInput="rm -rf /")
    assert done.status_code == 400
    assert done.json()["error"].startswith("The modified input is not allowed: ")
    assert person.get(f"/api/permissions/{wanted}").json()["status"] == "pending"
    assert answer(person, wanted, "reject").status_code == 200


@pytest.mark.parametrize(
    ("modified", "error"),
    [
        ("", "Invalid modifiedInput: expected a command"),
        ("  ", "Invalid modifiedInput: expected a command"),
        (3, "Invalid body: Expected `str | object | null`, got `int` - at `$.modifiedInput`"),
    ],
)
def test_a_modified_command_is_a_command(agent, person, modified, error):
    wanted = ask(agent, "node cmd.js")
    done = answer(person, wanted, modifiedInput=modified)
    assert (done.status_code, done.json()) == (400, {"error": error})


def test_another_tools_modified_input_is_an_object_or_its_text(agent, person):
    call = {"toolName": "frobnicate", "toolInput": {"level": 9}}
    for modified in ({"level": 1}, '{"level": 1}'):
        wanted = agent.post("/api/hooks/classify", json=call).json()["requestId"]
        assert answer(person, wanted, modifiedInput="level 1").status_code == 400
        assert answer(person, wanted, modifiedInput=modified).status_code == 200
        told = agent.post("/api/hooks/classify", json={**call, "honoursUpdatedInput": True}).json()
        assert (told["allow"], told["updatedInput"]) == (True, {"level": 1})


def test_an_answer_for_the_session_holds_in_it_alone(agent, person):
    wanted = ask(agent, "node session.js", sessionId="one")
    assert answer(person, wanted, scope="session").status_code == 200
    body = {"toolName": "bash", "toolInput": {"command": "node session.js"}}
    for _ in range(2):
        assert agent.post("/api/hooks/classify", json={**body, "sessionId": "one"}).json()["allow"] is True
    assert agent.post("/api/hooks/classify", json={**body, "sessionId": "two"}).json()["allow"] is False


def test_a_pattern_widens_a_standing_answer_and_a_bad_one_is_refused(agent, person):
    wanted = ask(agent, "node lib/a.js")
    assert answer(person, wanted, "approve_always", pattern="Bash()").status_code == 400
    assert answer(person, wanted, "approve_always", pattern="Bash(node lib/*)").status_code == 200
    body = {"toolName": "bash", "toolInput": {"command": "node lib/b.js"}}
    assert agent.post("/api/hooks/classify", json=body).json()["allow"] is True
    body = {"toolName": "bash", "toolInput": {"command": "node lib/b.js && rm -rf /"}}
    assert agent.post("/api/hooks/classify", json=body).json()["allow"] is False


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("Bash(npx", "did you mean `Bash(npx)`?"),
        ("npx)", "its parentheses do not match"),
        ("Bash(Bash(npx))", "it holds another rule"),
        ("Bash(npx) Bash(rm:*)", "its parentheses do not match"),
        ("Bash(npx),Bash(rm:*)", "its parentheses do not match"),
        ("deny: Bash(npx)", "it holds another rule"),
        ("!Bash(npx)", "it holds another rule"),
        ("Bash(npx 'a)", "a quote in it has no end"),
        ('npx "a', "a quote in it has no end"),
        ("npx a && npx b", "write one rule for each command"),
        ("npx\u200b x", "invisible characters"),
        ("*(npx)", "an allow needs a tool's full name"),
    ],
)
def test_a_malformed_pattern_is_refused_with_a_suggestion_and_nothing_is_stored(agent, person, pattern, said):
    wanted = ask(agent, f"npx tool-{abs(hash(pattern))}")
    before = person.get("/api/grants").json()["grants"]
    for more in ({"decision": "approve_always"}, {"decision": "approve", "scope": "session"}):
        refused = answer(person, wanted, pattern=pattern, **more)
        assert (refused.status_code, said in refused.text) == (400, True)
    assert person.post("/api/policy/try", json={"rule": pattern}).status_code == 400
    assert person.get("/api/grants").json()["grants"] == before
    assert person.get(f"/api/permissions/{wanted}").json()["status"] == "pending"


def test_waiting_for_one_question_ends_with_its_answer(agent, person):
    wanted = ask(agent, "node waits.js")
    assert agent.get(f"/api/permissions/{wanted}?wait=0.1").json()["status"] == "pending"
    answer(person, wanted)
    assert agent.get(f"/api/permissions/{wanted}?wait=30").json()["status"] == "approved"


def test_a_question_keeps_the_name_its_tool_was_called_by(agent, person):
    asked = agent.post(
        "/api/hooks/classify", json={"toolName": "exec", "toolInput": {"command": "node named.js"}}
    ).json()
    answer = {"requestId": asked["requestId"], "decision": "approve"}
    assert person.post("/api/permissions", json=answer).status_code == 200
    assert person.get(f"/api/permissions/{asked['requestId']}").json()["toolName"] == "exec"
