"""A real Claude Code as the program of a run, driven by a scripted model inside its sandbox."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys

import pytest

from daemons import until
from realagents import AGENTS, BIN, SCRIPTED, SECONDS, Workplace
from runners import Runner

# The model and the agent run inside; the settings are copied to where they can be written.
LAUNCH = """
mkdir -p /tmp/config && cp -r {config}/. /tmp/config &&
sed "s/@TOKEN@/$ASSENT_RUN_TOKEN/" {plan} > /tmp/plan.json &&
exec {python} -I -S {scripted} /tmp/plan.json
"""


@pytest.fixture
def place(daemon):
    """A home with Claude Code wired up, and a profile in which its program is seen."""
    made = Workplace(AGENTS["claude-code"], daemon.home, daemon.project, daemon.state)
    wired = subprocess.run(
        made.assent("init", "claude-code", "--yes", "--no-start"),
        env=made.environ,
        cwd=made.project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert wired.returncode == 0, wired.stdout + wired.stderr
    seen = [str(BIN.parent.resolve()), str(SCRIPTED.parent), str(made.home / ".claude")]
    daemon.user_file.write_text(
        json.dumps({"profiles": {"claude": {"extends": "agent", "read": ["/", *seen], "write": ["."]}}})
    )
    return made


def launched(client, strategy):
    """Start the run; nothing while the daemon has not yet looked at its policy again."""
    try:
        return client.launch(strategy, profile="claude")
    except AssertionError as error:
        if "no sandbox profile" not in str(error):
            raise
        return None


def test_a_real_claude_code_asks_in_the_run_and_does_what_is_allowed(daemon, place, tmp_path):
    agent = place.agent
    inside = place.project / "made.txt"
    for name in ("allowed", "refused"):
        (place.project / f"{name}.sh").write_text(f"touch {place.project}/ran-{name}\n")
    plan = place.project / "plan.json"
    plan.write_text(
        json.dumps(
            {
                "commands": [[place.program(), *agent.argv[1:]]],
                "script": [
                    agent.write(inside, "made"),
                    agent.run("sh ./allowed.sh"),
                    agent.run("sh ./refused.sh"),
                    agent.run("sh ./allowed.sh"),
                ],
                "environ": place.environ
                | agent.environ
                | {"ASSENT_RUN_TOKEN": "@TOKEN@", "CLAUDE_CONFIG_DIR": "/tmp/config", "TMPDIR": "/tmp", "HOME": "/tmp"},
                "cwd": str(place.project),
                "seconds": SECONDS,
            }
        )
    )
    script = LAUNCH.format(
        config=place.home / ".claude", plan=plan, python=sys.executable, scripted=shlex.quote(str(SCRIPTED))
    )
    strategy = tmp_path / "claude.yaml"
    process = {"agent": "claude-code", "command": ["sh", "-c", script], "timeout": "2m"}
    strategy.write_text(json.dumps({"name": "claude", "process": process}))
    with Runner(daemon) as client:
        run = until(lambda: launched(client, strategy))
        for word, decision in (("allowed", "allow-session"), ("refused", "deny")):
            question = client.hear("request_permission", seconds=60)
            assert word in question["resource"]
            assert (question["agentName"], question["toolName"]) == ("claude-code", "Bash")
            client.decide(run, question, decision)
        # Below stands what the sandbox stopped: an agent tries this and that.
        told = json.loads(client.hear("strategy_completed", seconds=90)["result"].splitlines()[0])
    assert told["commands"][0]["code"] == 0, told
    assert inside.read_text() == "made"
    assert (place.project / "ran-allowed").exists()
    assert not (place.project / "ran-refused").exists()
    assert client.kinds().count("request_permission") == 2
