"""The real agents, each with a home and a network of its own, wired up by `assent init`, against a scripted model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
BIN = Path(os.environ.get("ASSENT_AGENTS") or ROOT / ".venv" / "agents" / "node_modules" / ".bin")
SCRIPTED = Path(__file__).parent / "scripted.py"
OPENCODED = Path(__file__).parent / "opencoded.py"
CLAUDE_USER = Path(__file__).parent / "claudeuser.py"
SECONDS = 240
"""How long an agent may take for all it does, on a machine that is busy with other things too."""
_CODEX = """model = "m"
model_provider = "s"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.s]
name = "s"
base_url = "http://127.0.0.1:8099/v1"
wire_api = "responses"
env_key = "KEY"

[analytics]
enabled = false
"""
_GEMINI = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "telemetry": {"enabled": False},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"disableAutoUpdate": True},
}
_OPENCODE = {
    "provider": {
        "s": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "s",
            "options": {"baseURL": "http://127.0.0.1:8099/v1", "apiKey": "x"},
            "models": {"m": {"name": "m"}},
        }
    },
    "model": "s/m",
    "small_model": "s/m",
    "share": "disabled",
    "autoupdate": False,
    "permission": {"*": "allow", "bash": {"*": "allow", "sh ./approved.sh": "ask"}},
}


@dataclass
class Agent:
    """How one agent is started, and what it calls its tools."""

    name: str
    argv: list[str]
    shell: tuple[str, str]
    """Its shell tool, and the field of the command."""
    writer: tuple[str, str, str] | None = None
    """Its tool that writes a file, with the fields of the path and the text."""
    environ: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)

    def run(self, command: str):
        tool, name = self.shell
        more = {} if self.name == "codex" else {"description": "x"}
        return tool, {name: command, **more}

    def write(self, path: Path, text: str):
        if self.writer is None:
            return self.run(f"echo {text} > {path}")
        tool, where, what = self.writer
        return tool, {where: str(path), what: text}


AGENTS = {
    agent.name: agent
    for agent in (
        Agent(
            "claude-code",
            ["claude", "-p", "do it", "--output-format", "text"],
            ("Bash", "command"),
            ("Write", "file_path", "content"),
            environ={
                "ANTHROPIC_BASE_URL": "http://127.0.0.1:8099",
                "ANTHROPIC_API_KEY": "sk-test",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_AUTOUPDATER": "1",
                "DISABLE_TELEMETRY": "1",
            },
        ),
        Agent(
            "codex",
            ["codex", "exec", "--skip-git-repo-check", "do it"],
            ("exec_command", "cmd"),
            environ={"KEY": "x"},
            files={".codex/config.toml": _CODEX},
        ),
        Agent(
            "gemini",
            ["gemini", "--skip-trust", "--approval-mode", "yolo", "-p", "do it"],
            ("run_shell_command", "command"),
            environ={
                "GEMINI_API_KEY": "x",
                "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:8099",
                "GEMINI_CLI_NO_RELAUNCH": "1",
            },
            files={".gemini/settings.json": json.dumps(_GEMINI, indent=2)},
        ),
        Agent(
            "opencode",
            [sys.executable, "-I", "-S", str(OPENCODED), str(BIN / "opencode"), "do it"],
            ("bash", "command"),
            ("write", "filePath", "content"),
            environ={
                "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENCODE_DISABLE_MODELS_FETCH": "1",
                "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
                "npm_config_offline": "true",
            },
            # It fetches a package when it has plugins; where there is nobody to fetch from, it goes on without.
            files={".config/opencode/opencode.json": json.dumps(_OPENCODE, indent=2), ".npmrc": "offline=true\n"},
        ),
    )
}


class Workplace:
    """An agent's home and project, and the Assent of its user."""

    def __init__(self, agent: Agent, home: Path, project: Path, state: Path) -> None:
        self.agent, self.home, self.project, self.state = agent, home, project, state
        for folder in (home, project / ".git", home / "tmp"):
            folder.mkdir(parents=True, exist_ok=True)
        kept = {
            name: os.environ[name] for name in ("LANG", "PYTHONPATH", "COVERAGE_PROCESS_START") if name in os.environ
        }
        path = os.pathsep.join(
            (str(BIN), "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
        )
        self.environ = kept | {"HOME": str(home), "PATH": path, "ASSENT_HOME": str(state), "TMPDIR": str(home / "tmp")}
        for name, text in agent.files.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text)

    def program(self) -> str:
        found = BIN / self.agent.argv[0]
        assert found.exists(), f"{found} is missing: `make test` installs the agents, or set ASSENT_AGENTS"
        return str(found)

    def assent(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "assent", *words]

    def drive(self, *commands: list[str], script: list | None = None) -> dict:
        """Run commands one after the other in an empty network, with the model there to talk to."""
        plan = {
            "commands": commands,
            "script": script or [],
            "environ": self.environ | self.agent.environ,
            "cwd": str(self.project),
            "seconds": SECONDS,
        }
        file = self.home / "plan.json"
        file.write_text(json.dumps(plan))
        alone = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-r", "-n"]
        done = subprocess.run(
            [*alone, sys.executable, "-I", "-S", str(SCRIPTED), str(file)],
            capture_output=True,
            check=False,
            timeout=len(commands) * SECONDS + 60,
        )
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    def work(self, script: list) -> dict:
        """Have the agent do what the model asks for."""
        return self.drive([self.program(), *self.agent.argv[1:]], script=script)
