"""Asked in one dialect and answered in another: every pair, approved and rejected, with what the asker then does."""

from __future__ import annotations

import asyncio
import itertools
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from websockets.sync.client import connect

from assent import create_agent_app, define_tool, queue_approvals
from daemons import PATIENT, until
from runners import Runner, write_strategy

_numbers = itertools.count()
WAIT = "?wait=120"


class Asked:
    """One question: who asked it, its id and its session, and whether in the end the asker's call went through."""

    def __init__(self, daemon, how):
        self.daemon, self.number = daemon, next(_numbers)
        self.session = f"matrix-{self.number}"
        self.command = f"node step{self.number}.js"
        self._aside = ThreadPoolExecutor(1)
        self._went = self._aside.submit(how, self)
        self.id = until(self._find)

    def _find(self):
        assert not (self._went.done() and self._went.exception()), self._went.exception()
        listed = self.daemon.api(self.daemon.owner).get("/api/permissions").json()["pending"]
        return next((item["id"] for item in listed if self.is_about(item)), None)

    def is_about(self, item):
        text = json.dumps(item["toolInput"])
        return self.command in text or f"{self.session}.txt" in text

    def went(self):
        with self._aside:
            return self._went.result(120)


def agent_of(asked):
    return asked.daemon.api(asked.daemon.mint("agent", agent="asker"))


def call_of(asked):
    return {
        "toolName": "bash",
        "toolInput": {"command": asked.command},
        "sessionId": asked.session,
        "cwd": str(asked.daemon.project),
    }


def by_run(asked):
    """A run that writes outside of its folder."""
    target = asked.daemon.root / f"{asked.session}.txt"
    step = f"- {{agent: a, tool: write_file, input: {{path: {target}, content: x}}}}"
    with Runner(asked.daemon) as client:
        path = write_strategy(asked.daemon.root / "strategies", step, name=asked.session)
        client.launch(path, runId=asked.session)
        while client.heard[-1]["type"] not in ("strategy_completed", "strategy_error"):
            client.heard.append(json.loads(client.ws.recv(timeout=120)))
    assert target.exists() == (client.heard[-1]["type"] == "strategy_completed")
    return target.exists()


def by_classify(asked):
    return agent_of(asked).post(f"/api/hooks/classify{WAIT}", json=call_of(asked)).json()["allow"]


def by_runtime(asked):
    told = agent_of(asked).post(f"/api/runtime/evaluate_permission{WAIT}", json=call_of(asked)).json()
    return {"allow": True, "deny": False}[told["permissionDecision"]["decision"]]


def by_sdk(asked):
    ran = []
    parameters = {"type": "object", "properties": {"command": {"type": "string"}}}
    tool = define_tool(name="Bash", parameters=parameters, execute=lambda p: ran.append(p["command"]) or "done")
    token = asked.daemon.mint("agent", agent="asker")
    shared = {"url": asked.daemon.url, "token": token, "workspace": asked.daemon.project}
    with create_agent_app(**shared, tools=[tool], approval_handler=queue_approvals) as app:
        result = asyncio.run(app.session(asked.session).call_tool("Bash", {"command": asked.command}))
    assert bool(ran) != result.is_error
    return bool(ran)


def by_hook(asked):
    call = {
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": asked.command},
        "session_id": asked.session,
        "cwd": str(asked.daemon.project),
    }
    answer = agent_of(asked).post(f"/api/hooks/claude-code{WAIT}", json=call)
    said = answer.json()["hookSpecificOutput"]["permissionDecision"]
    assert (said == "deny") == (answer.headers["x-assent-exit"] == "2")
    return {"allow": True, "deny": False}[said]


ASKING = {
    "run protocol": by_run,
    "classify": by_classify,
    "runtime": by_runtime,
    "session (Python package)": by_sdk,
    "agent hook": by_hook,
}


def in_run(asked, approve):
    with Runner(asked.daemon) as client:
        decision = {"runId": asked.session, "permissionRequestId": asked.id}
        client.send("permission_decision", **decision, decision="allow" if approve else "deny")
        assert [m for m in client.quiet() if m["type"] == "error"] == []


def in_rest(asked, approve):
    answer = {"requestId": asked.id, "decision": "approve" if approve else "reject"}
    done = asked.daemon.api(asked.daemon.owner).post("/api/permissions", json=answer)
    assert (done.status_code, done.json()["success"]) == (200, True)


def in_socket(asked, approve):
    url = f"ws://127.0.0.1:{asked.daemon.port}/ws/permissions?userId={asked.daemon.user}"
    headers = {"Authorization": f"Bearer {asked.daemon.owner}"}
    with connect(url, additional_headers=headers, **PATIENT) as ws:
        data = {"requestId": asked.id, "decision": "approve" if approve else "reject"}
        ws.send(json.dumps({"type": "decision", "data": data}))
        while (told := json.loads(ws.recv(timeout=60)))["type"] != "decision_ack":
            assert told["type"] != "error", told
        assert told["data"]["requestId"] == asked.id


def in_runtime(asked, approve):
    answer = {"actionId": asked.id, "decision": "allow" if approve else "deny"}
    done = asked.daemon.api(asked.daemon.owner).post("/api/runtime/respond_action", json=answer)
    assert (done.status_code, done.json()["actionId"]) == (200, asked.id)


def in_session(asked, approve):
    answer = {"kind": "permission", "decision": "approved" if approve else "rejected"}
    done = asked.daemon.api(asked.daemon.owner).post(f"/api/sessions/{asked.session}/respond", json=answer)
    assert (done.status_code, done.json()) == (200, {"ok": True})


def in_terminal(asked, approve):
    done = asked.daemon.run("approve" if approve else "deny", asked.id)
    assert (done.returncode, asked.id in done.stdout) == (0, True), done.stderr


ANSWERING = {
    "run protocol": in_run,
    "permissions over REST": in_rest,
    "permissions over WebSocket": in_socket,
    "runtime": in_runtime,
    "session": in_session,
    "terminal": in_terminal,
}

NO_SENSE = {
    (asking, "run protocol"): "an answer of the run protocol names a run, and what was asked is in none"
    for asking in ASKING
    if asking != "run protocol"
}
PAIRS = [pair for pair in itertools.product(ASKING, ANSWERING) if pair not in NO_SENSE]


@pytest.mark.parametrize("approve", [True, False], ids=["approved", "rejected"])
@pytest.mark.parametrize(("asking", "answering"), PAIRS, ids=map(" - ".join, PAIRS))
def test_asked_in_one_dialect_and_answered_in_another(daemon, asking, answering, approve):
    asked = Asked(daemon, ASKING[asking])
    ANSWERING[answering](asked, approve)
    assert asked.went() is approve
    kept = daemon.api(daemon.owner).get(f"/api/permissions/{asked.id}").json()
    assert kept["status"] == ("approved" if approve else "rejected")


@pytest.mark.parametrize(("asking", "answering"), NO_SENSE, ids=map(" - ".join, NO_SENSE))
def test_a_pair_that_makes_no_sense_is_refused_and_the_question_stays(daemon, asking, answering):
    asked = Asked(daemon, ASKING[asking])
    with Runner(daemon) as client:
        code, _ = client.refused(
            "permission_decision", runId=asked.session, permissionRequestId=asked.id, decision="allow"
        )
    assert code == "NO_PENDING_PERMISSION"
    in_rest(asked, approve=False)
    assert asked.went() is False


def test_every_pair_is_tried_or_has_its_reason():
    assert len(PAIRS) + len(NO_SENSE) == len(ASKING) * len(ANSWERING)
