"""The real programs, wired up by `assent init`: the disk shows what ran, the model hears why the rest did not."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from uuid import uuid4

import pytest

from daemons import Running, until
from realagents import AGENTS, CLAUDE_USER, SECONDS, Workplace

FEEDBACK = "use the staging script instead"


class Scene:
    """One session of one agent: nine calls, one after the other, and a person who answers."""

    def __init__(self, agent, daemon: Running) -> None:
        self.daemon, self.agent = daemon, agent
        self.place = Workplace(agent, daemon.home, daemon.project, daemon.state)
        self.outside = self.place.home / "outside.txt"
        self.kept = self.place.project / "treasure.txt"
        self.kept.write_text("there is no other copy\n")
        (self.place.project / "notes.txt").write_text("a line of notes\n")
        for name in ("approved", "rejected", "asked", "edited", "late"):
            (self.place.project / f"{name}.sh").write_text(f"touch {self.place.project}/ran-{name}\n")
        self.escaped = Path("/usr/local") / f"assent-{uuid4()}"
        (self.place.project / "boxed.sh").write_text(f"touch ran-boxed\ntouch {self.escaped}\ntrue\n")
        daemon.user_file.write_text("permissions: {mode: auto}\n")
        self.seen: list[dict] = []

    def play(self) -> None:
        """Have the agent wired up, and do all of it."""
        place, daemon = self.place, self.daemon
        wired = place.drive(place.assent("init", self.agent.name, "--yes", "--no-start"))["commands"][0]
        assert wired["code"] == 0, wired
        self.checked = place.drive(place.assent("doctor"))["commands"][0]
        answering = threading.Thread(target=self.answer, args=(daemon.api(daemon.owner),))
        answering.start()
        self.done = place.work(self.script())
        self.results = self.done["results"]
        answering.join(60)
        assert daemon.process is None, self.done

    def ran(self, name: str) -> bool:
        return (self.place.project / f"ran-{name}").exists()

    def script(self) -> list:
        run = self.agent.run
        return [
            run("sh ./boxed.sh"),
            self.agent.write(self.outside, "outside"),
            run("cat notes.txt"),
            run("sh ./approved.sh"),
            run("sh ./rejected.sh"),
            run("shred -u treasure.txt"),
            run("sh ./asked.sh"),
            run("cat missing.txt"),
            run("sh ./late.sh"),
        ]

    def answer(self, person) -> None:
        """Answer each question as it comes; at the last one, the daemon is killed."""
        for word, answer in (
            ("outside.txt", {"decision": "approve"}),
            ("approved.sh", {"decision": "approve"}),
            ("rejected.sh", {"decision": "reject", "feedback": FEEDBACK}),
            ("asked.sh", {"decision": "approve", "modifiedInput": "sh ./edited.sh"}),
            ("late.sh", None),
        ):
            asked = until(lambda word=word: self._pending(person, word), SECONDS, pause=0.1)
            self.seen.append(asked)
            if word == "outside.txt":
                self.leave_the_sandbox(person)
            if answer is None:
                # What became of the call before may still be on its way.
                until(lambda: self._reported(person, "cat missing.txt"), SECONDS, pause=0.1)
                self.daemon.kill()
            else:
                done = person.post("/api/permissions", json={"requestId": asked["id"], **answer})
                assert done.status_code == 200, done.text

    def leave_the_sandbox(self, person) -> None:
        """From here on, what is dangerous is asked about."""
        self.daemon.user_file.write_text("permissions: {mode: default}\n")
        call = {"toolName": "Bash", "toolInput": {"command": "sh ./approved.sh"}, "cwd": str(self.place.project)}
        until(lambda: person.post("/api/decide", json=call).json()["decision"] == "ask")

    def _reported(self, person, text: str) -> bool:
        events = person.get("/api/audit", params={"limit": 50}).json()["events"]
        return any(e["type"] in ("tool.result", "tool.failed") and text in e["text"] for e in events)

    def _pending(self, person, word: str) -> dict | None:
        found = person.get("/api/permissions").json()["pending"]
        return next((each for each in found if word in each["command"] + str(each["toolInput"])), None)


def told(scene, number: int) -> str:
    assert len(scene.results) > number, scene.done
    return scene.results[number]


def what_must_be_held_runs_inside_the_sandbox_and_nothing_leaves_it(scene):
    assert scene.ran("boxed"), scene.done
    assert not scene.escaped.exists()
    held = [e for e in scene.log if e["type"].startswith("sandbox.")]
    assert {"sandbox.applied", "sandbox.violation"} <= {e["type"] for e in held}


def a_safe_call_runs_silently(scene):
    assert "a line of notes" in told(scene, 2)


def a_dangerous_one_runs_once_a_person_said_yes(scene):
    assert scene.ran("approved")


def what_a_person_rejects_does_not_run_and_the_model_hears_why(scene):
    assert not scene.ran("rejected")
    assert FEEDBACK in told(scene, 4)


def what_can_not_be_undone_is_blocked(scene):
    assert scene.kept.read_text() == "there is no other copy\n"
    assert "Blocked" in told(scene, 5)


def a_write_outside_the_workspace_asks(scene):
    assert scene.outside.read_text().strip() == "outside"


def what_a_person_changed_is_what_runs(scene):
    assert scene.ran("edited")
    assert not scene.ran("asked")


def when_the_daemon_dies_the_call_is_denied(scene):
    assert not scene.ran("late")
    assert len(scene.results) == 9, scene.done
    assert "not allowed" in told(scene, 8)


def the_log_joins_what_ran_to_why_it_might(scene):
    outcomes = [e for e in scene.log if e["type"] in ("tool.result", "tool.failed")]
    approved = next(e for e in outcomes if "approved.sh" in e["text"])
    assert approved["approval"] == scene.seen[1]["id"]
    edited = next(e for e in outcomes if "edited.sh" in e["text"])
    assert edited["approval"] == scene.seen[3]["id"]
    alarms = ("without a decision", "NOT as it was decided")
    assert not [e for e in outcomes if any(alarm in e["text"] for alarm in alarms)]


def what_failed_is_on_record_as_failed(scene):
    outcomes = {e["text"].partition(" · ")[0]: e for e in scene.log if e["type"] in ("tool.result", "tool.failed")}
    assert outcomes["cat missing.txt"]["type"] == "tool.failed", outcomes["cat missing.txt"]["text"]
    assert "ode 1" in outcomes["cat missing.txt"]["text"].replace(": 1", " 1")
    assert outcomes["cat notes.txt"]["type"] == "tool.result"


def doctor_proves_the_wiring(scene):
    assert scene.checked["code"] == 0, scene.checked
    assert "bad" not in scene.checked["out"].split()


CHECKS = (
    what_must_be_held_runs_inside_the_sandbox_and_nothing_leaves_it,
    a_safe_call_runs_silently,
    a_dangerous_one_runs_once_a_person_said_yes,
    what_a_person_rejects_does_not_run_and_the_model_hears_why,
    what_can_not_be_undone_is_blocked,
    a_write_outside_the_workspace_asks,
    what_a_person_changed_is_what_runs,
    when_the_daemon_dies_the_call_is_denied,
    the_log_joins_what_ran_to_why_it_might,
    what_failed_is_on_record_as_failed,
    doctor_proves_the_wiring,
)


@pytest.mark.parametrize("name", ["claude-code", "codex", "gemini", "opencode"])
def test_a_session_of_the_real_agent(name, tmp_path):
    agent = AGENTS[name]
    with Running(tmp_path) as daemon:
        scene = Scene(agent, daemon)
        scene.play()
        scene.log = daemon.start().api(daemon.owner).get("/api/audit", params={"limit": 500}).json()["events"]
    for check in CHECKS:
        check(scene)


def test_claude_code_asks_its_own_user_where_that_is_preferred(tmp_path):
    agent = AGENTS["claude-code"]
    with Running(tmp_path, "--agent-prompt", "defer") as daemon:
        place = Workplace(agent, daemon.home, daemon.project, daemon.state)
        place.drive(place.assent("init", agent.name, "--yes", "--no-start"))
        (place.project / "notes.txt").write_text("a line of notes\n")
        for name in ("wanted", "unwanted"):
            (place.project / f"{name}.sh").write_text(f"touch {place.project}/ran-{name}\n")
        calls = ("cat notes.txt", "sh ./wanted.sh", "sh ./unwanted.sh", "shred -u notes.txt")
        user = [sys.executable, "-I", "-S", str(CLAUDE_USER), place.program(), "/wanted.sh"]
        done = place.drive(user, script=[agent.run(command) for command in calls])
        person = daemon.api(daemon.owner)
        asked = person.get("/api/audit", params={"type": "permission.requested"}).json()["events"]
        decided = person.get("/api/audit", params={"type": "permission.evaluated", "verdict": "ask"}).json()["events"]
    asked_there = [json.loads(line)["command"] for line in done["commands"][0]["out"].splitlines()]
    assert asked_there == ["sh ./wanted.sh", "sh ./unwanted.sh"], done
    assert asked == []  # nobody was asked here,
    # and the log has what was left to them, once.
    assert sorted(event["text"].partition(" · ")[0] for event in decided) == sorted(asked_there)
    assert (place.project / "ran-wanted").exists()
    assert not (place.project / "ran-unwanted").exists()
    assert "not now" in done["results"][2]
    assert "Blocked" in done["results"][3]
    assert (place.project / "notes.txt").exists()
