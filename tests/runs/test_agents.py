"""Real agents as the program of a run: their hooks are pointed at the daemon, without a change to their settings.

Each is driven by a scripted model inside its sandbox.
"""

from __future__ import annotations

import json
import sys

import pytest

from daemons import until
from realagents import AGENTS, BIN, SCRIPTED, SECONDS, Workplace
from runners import Runner

# An agent writes into its home, which is read-only inside; what it finds there is copied to where it may.
LAUNCH = 'mkdir -p /run/home && cp -r "$0"/. /run/home && exec "$@"'
SEEN = [str(BIN.parent.resolve()), str(SCRIPTED.parent)]


@pytest.fixture(params=["claude-code", "codex"])
def place(daemon, request, tmp_path):
    """A home in which nobody wired anything up, and a profile in which the agent's program is seen."""
    made = Workplace(AGENTS[request.param], tmp_path / "home", daemon.project, daemon.state)
    seen = [*SEEN, str(made.home)]
    daemon.user_file.write_text(
        json.dumps({"profiles": {made.agent.name: {"extends": "agent", "read": ["/", *seen], "write": ["."]}}})
    )
    return made


def launched(client, strategy, profile):
    """Start the run; nothing while the daemon has not yet looked at its policy again."""
    try:
        return client.launch(strategy, profile=profile)
    except AssertionError as error:
        if "no sandbox profile" not in str(error):
            raise
        return None


def test_a_real_agent_asks_in_its_run_and_does_what_is_allowed(daemon, place, tmp_path):
    agent = place.agent
    for name in ("allowed", "refused"):
        (place.project / f"{name}.sh").write_text(f"touch {place.project}/{agent.name}-{name}\n")
    plan = tmp_path / "home" / "plan.json"
    environ = agent.environ | {"HOME": "/run/home", "PATH": place.environ["PATH"], "TMPDIR": "/tmp"}
    script = [agent.run(f"sh ./{name}.sh") for name in ("allowed", "refused", "allowed")]
    plan.write_text(json.dumps({"script": script, "environ": environ, "cwd": str(place.project), "seconds": SECONDS}))
    strategy = tmp_path / "agent.yaml"
    model = [sys.executable, "-I", "-S", str(SCRIPTED), str(plan)]
    command = ["sh", "-c", LAUNCH, str(place.home), *model, place.program(), *agent.argv[1:]]
    process = {"agent": agent.name, "command": command, "hooks": agent.name, "timeout": "2m"}
    strategy.write_text(json.dumps({"name": agent.name, "process": process}))
    with Runner(daemon) as client:
        run = until(lambda: launched(client, strategy, agent.name))
        for word, decision in (("allowed", "allow-session"), ("refused", "deny")):
            question = client.hear("request_permission", seconds=60)
            assert word in question["resource"]
            assert question["agentName"] == agent.name
            client.decide(run, question, decision)
        # Below stands what the sandbox stopped: an agent tries this and that.
        told = json.loads(client.hear("strategy_completed", seconds=90)["result"].splitlines()[0])
    assert told["commands"][0]["code"] == 0, told
    assert (place.project / f"{agent.name}-allowed").exists()
    assert not (place.project / f"{agent.name}-refused").exists()
    assert client.kinds().count("request_permission") == 2
