"""Takes the pictures in docs/pictures: every page of the dashboard in light, in dark and on a phone.

PYTHONPATH=src:tests python tests/pictures.py [FOLDER]
"""

from __future__ import annotations

import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from browsing import PHONE, Visitor, open_browser
from daemons import Running, until

LINES = (Path(__file__).parent / "pictures.txt").read_text("utf-8").splitlines()
"""Agent, session and what it asks for, by tabs; `!` before the agent: answered with yes; `?`: left open."""
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


def fill(daemon: Running, waiting: ThreadPoolExecutor) -> None:
    """Have some agents at work, and some of them wait."""
    person = daemon.api(daemon.owner)
    tokens = {name: daemon.mint("agent", agent=name) for name in ("claude-code", "codex", "gemini-cli")}
    for line in LINES:
        who, session, command = line.split("\t")
        name, asked = who.lstrip("!?"), len(person.get("/api/permissions").json()["pending"])
        call = {"toolName": "Bash", "toolInput": {"command": command.replace("\\n", "\n")}, "sessionId": session}
        ask = partial(daemon.api(tokens[name]).post, json=call | {"cwd": str(daemon.project)})
        if who.startswith("?"):
            waiting.submit(ask, "/api/hooks/classify?wait=600")
            until(lambda before=asked: len(person.get("/api/permissions").json()["pending"]) > before)
            continue
        told = ask("/api/hooks/classify").json()
        if "requestId" in told:
            person.post("/api/permissions", json={"requestId": told["requestId"], "decision": "approve"})
            ask("/api/hooks/classify")


def take(folder: Path) -> None:
    """Take them all."""
    with tempfile.TemporaryDirectory(prefix="demo-") as root, open_browser() as browser, ThreadPoolExecutor() as pool:
        running = Running(Path(root), "--rate", "0")
        running.user_file.write_text(POLICY)
        with running as daemon:
            fill(daemon, pool)
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
