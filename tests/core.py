"""Use an installation of the wheel without extras: `make core` makes one and runs this with its Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

ASSENT = [str(Path(sys.executable).with_name("assent"))]
PYTHON = [sys.executable, "-c"]
CALL = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "session_id": "s", "hook_event_name": "PreToolUse"}
APP = """
from assent import create_agent_app, define_tool, parse_rules
note = define_tool(name="note", parameters={}, execute=lambda given: "noted")
with create_agent_app(tools=[note], store="sqlite", permission_policy={"allow": parse_rules(["note"])}) as app:
    print(app.run_tool("note", {}).content)
"""
CLIENT = """
import asyncio, assent
async def ask():
    await assent.AsyncClient(url="http://127.0.0.1:1").health()
try:
    asyncio.run(ask())
except assent.UnreachableError as error:
    print(error)
"""
POSTGRES = ["--store", "postgresql://127.0.0.1:1/x"]
CASES = (
    ([*ASSENT, "check", "ls"], 0, "allow"),
    ([*ASSENT, "check", "rm -rf /"], 4, "deny"),
    ([*ASSENT, "explain", "git status"], 0, "what it would do"),
    ([*ASSENT, "policy", "show"], 0, "mode: default"),
    ([*ASSENT, "hook", "claude-code"], 2, '"permissionDecision": "deny"'),  # without a daemon nothing is allowed
    ([*ASSENT, "token", "list"], 0, ""),
    ([*ASSENT, "audit", "verify"], 0, "the log is valid"),
    ([*PYTHON, "import assent; print([getattr(assent, n) for n in ('Engine', 'Reading', 'Client')])"], 0, "Reading"),
    ([*PYTHON, APP], 0, "noted"),
    ([*PYTHON, CLIENT], 0, "the daemon can"),
    ([*PYTHON, "from assent import create_stream_route"], 1, "needs the server extra: pip install 'assent[server]'"),
    ([*ASSENT, "serve", "--help"], 0, "usage: assent serve"),
    ([*ASSENT, "serve"], 2, "assent serve needs the server extra: pip install 'assent[server]'"),
    ([*ASSENT, "token", "list", *POSTGRES], 2, "needs the postgres extra: pip install 'assent[postgres]'"),
)


def main() -> None:
    """Run each case in an emptied home, and stop at the first that ends otherwise."""
    installed = {found.name.lower() for found in metadata.distributions()}
    if extra := installed & {"starlette", "uvicorn", "uvloop", "httptools", "psycopg"}:
        sys.exit(f"this installation has extras: {', '.join(sorted(extra))}")
    with tempfile.TemporaryDirectory() as home:
        environ = {"PATH": os.environ["PATH"], "HOME": home, "ASSENT_HOME": f"{home}/state"}
        for words, code, shown in CASES:
            done = subprocess.run(
                words, input=json.dumps(CALL | {"cwd": home}), capture_output=True, text=True, env=environ, cwd=home,
                timeout=120, check=False,
            )  # fmt: skip
            said = done.stdout + done.stderr
            if done.returncode != code or shown not in said:
                sys.exit(f"{' '.join(words[1:])} ended with {done.returncode}, not {code}:\n{said}")
    sys.stdout.write(f"{len(CASES)} uses of the core work without extras\n")


if __name__ == "__main__":
    main()
