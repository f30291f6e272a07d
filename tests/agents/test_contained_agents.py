"""`assent run --profile agent -- claude`: a whole agent inside the sandbox, asking from there, and changing nothing
outside."""

from __future__ import annotations

import json
import threading

import pytest

from assent.agents.sandbox_needs import NEEDS
from daemons import Running, until
from realagents import AGENTS, BIN, SECONDS, Workplace

FOLDERS = {"claude-code": ".claude", "codex": ".codex", "gemini": ".gemini"}
# Once it is approved, a script does what it likes: write what the agent would load next time, and somewhere else.
PLANT = """\
touch {project}/ran
echo '{{}}' > {folder}/settings.json
echo '{{}}' > {folder}/hooks.json
echo planted > {folder}/planted
echo planted > {home}/planted
echo planted >> {home}/.bashrc
cat {state}/token > {project}/token
true
"""


def approve(daemon: Running, place: Workplace) -> None:
    person = daemon.api(daemon.owner)
    asked = until(lambda: person.get("/api/permissions").json()["pending"], SECONDS, pause=0.1)
    assert "plant.sh" in asked[0]["command"]
    assert asked[0]["agentId"] == place.agent.name
    assert person.post("/api/permissions", json={"requestId": asked[0]["id"], "decision": "approve"}).status_code == 200


@pytest.mark.parametrize("name", FOLDERS)
def test_a_whole_agent_works_inside_and_leaves_nothing_outside(name, tmp_path):
    agent = AGENTS[name]
    with Running(tmp_path) as daemon:
        place = Workplace(agent, daemon.home, daemon.project, daemon.state)
        folder = place.home / FOLDERS[name]
        network = {"hosts": ["127.0.0.1:8099"]}  # for Codex, whose provider stands in its own settings
        boxed = {"extends": "agent", "read": ["/", str(BIN.parent.resolve())], "environment": ["KEY"]}
        daemon.user_file.write_text(json.dumps({"profiles": {"boxed": boxed | {"network": network}}}))
        wired = place.drive(place.assent("init", name, "--yes", "--no-start"))["commands"][0]
        assert wired["code"] == 0, wired
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        (place.project / "notes.txt").write_text("a line of notes\n")
        (place.project / "plant.sh").write_text(
            PLANT.format(project=place.project, folder=folder, home=place.home, state=daemon.state)
        )
        answering = threading.Thread(target=approve, args=(daemon, place))
        answering.start()
        line = place.assent("run", "--profile", "boxed", "--", place.program(), *agent.argv[1:])
        done = place.drive(line, script=[agent.run("cat notes.txt"), agent.run("sh ./plant.sh")])
        answering.join()
    assert done["commands"][0]["code"] == 0, done
    assert "a line of notes" in done["results"][0]
    assert (place.project / "ran").exists(), done
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert not (place.project / "token").read_text()
    assert not (place.home / "planted").exists()
    assert not (place.home / ".bashrc").exists()


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("", "api.anthropic.com"),
        ("https://gateway.example/v1", "gateway.example"),
        ("http://127.0.0.1:8099", "127.0.0.1:8099"),
        ("http://gateway.example", "gateway.example:80"),
        ("https://[::1]:8443/x", "[::1]:8443"),
        ("http://[broken", "api.anthropic.com"),
        ("http://host:port", "api.anthropic.com"),
    ],
)
def test_an_agent_reaches_where_its_user_points_it_to_or_else_its_maker(address, host):
    assert NEEDS["claude"].hosts_in({"ANTHROPIC_BASE_URL": address})[0] == host
