"""Takes the pictures in docs/pictures: every page of the dashboard in light, in dark and on a phone.

PYTHONPATH=src:tests python tests/pictures.py [FOLDER]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from browsing import PHONE, Visitor, open_browser
from daemons import Running

LINES = (Path(__file__).parent / "pictures.txt").read_text("utf-8").splitlines()
"""Agent, session and what it asks for, by tabs; `!` before the agent: answered at once, with yes."""
POLICY = """
permissions:
  mode: default
  allow: ["Bash(npm test:*)", "Bash(git commit:*)"]
  ask:
    - {rule: "Bash(git push:*)", reason: "a person looks at what is published"}
  deny:
    - {rule: "Bash(terraform destroy:*)", reason: "use the staging account"}
    - "Read(**/.env.production)"
"""
PAGES = {
    "inbox": "/",
    "sessions": "/sessions",
    "audit": "/audit",
    "policy": "/policy",
    "playground": "/policy?tab=playground&command=cd+build+%26%26+node+pack.js+%3E+out.log%3B+rm+-rf+..%2Fold",
    "draft": "/policy?tab=draft&rule=Bash(npm+install:*)",
    "overview": "/overview",
    "people": "/people",
}
SIZE = {"width": 1160, "height": 760}
LOOKS = {
    "light": {"viewport": SIZE},
    "dark": {"viewport": SIZE, "color_scheme": "dark"},
    "phone": {"viewport": PHONE},
}


def fill(daemon: Running) -> None:
    """Have some agents at work."""
    agents = {}
    for name in ("claude-code", "codex", "gemini-cli"):
        agents[name] = daemon.api(daemon.mint("agent", agent=name))
    person = daemon.api(daemon.owner)
    for line in LINES:
        agent, session, command = line.split("\t")
        text = command.replace("\\n", "\n")
        body = {"toolName": "bash", "toolInput": {"command": text}, "cwd": str(daemon.project), "sessionId": session}
        told = agents[agent.lstrip("!")].post("/api/hooks/classify", json=body).json()
        if agent.startswith("!") and "requestId" in told:
            person.post("/api/permissions", json={"requestId": told["requestId"], "decision": "approve"})
            agents[agent.lstrip("!")].post("/api/hooks/classify", json=body)


def take(folder: Path) -> None:
    """Take them all."""
    with tempfile.TemporaryDirectory() as root, open_browser() as browser:
        running = Running(Path(root), "--rate", "0")
        running.user_file.write_text(POLICY)
        with running as daemon:
            fill(daemon)
            for look, wishes in LOOKS.items():
                visitor = Visitor(browser, daemon, **wishes)
                page = visitor.log_in()
                for name, path in PAGES.items():
                    page.goto(path)
                    page.wait_for_load_state("networkidle")
                    page.screenshot(path=folder / f"{name}-{look}.png")
                visitor.close()
                assert visitor.complaints == [], visitor.complaints


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "pictures")
    target.mkdir(parents=True, exist_ok=True)
    take(target)
