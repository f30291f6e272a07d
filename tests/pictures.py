"""Takes the pictures in docs/pictures: every page of the dashboard in light, in dark and on a phone.

PYTHONPATH=src:tests python tests/pictures.py [FOLDER]
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from assent import Session, ToolCall
from assent.model import State
from browsing import PHONE, Visitor, open_browser, settle
from daemons import Running, until
from keeping import ADMIN, NO, YES, Node
from runners import Runner, write_strategy

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
OWNER = "dana"
SIZE = {"width": 1160, "height": 760}
LOOKS = {
    "light": {"viewport": SIZE},
    "dark": {"viewport": SIZE, "color_scheme": "dark"},
    "phone": {"viewport": PHONE},
}


STEPS = """
- {agent: packager, tool: list_dir, input: {path: .}}
- {agent: packager, tool: run_command, on_error: continue, input: {command: touch /opt/release.txt}}
- {agent: packager, tool: run_command, input: {command: node publish.js --tag next}}
"""


def remember(daemon: Running) -> None:
    """Have worked here for a week: calls by day, some of them asked about and answered within minutes."""
    chance, now = random.Random(7), time.time()
    clock = [now]
    lines = [line.split("\t") for line in LINES if not line.startswith("?")]

    async def work(node: Node, who: str, command: str) -> None:
        session = Session(id="last-week", user=OWNER, agent=who.lstrip("!"), workspace=("/code",))
        call = ToolCall(tool="Bash", input={"command": command}, cwd="/code", call_id=str(clock[0]))
        ruling = await node.decisions.decide(call, session)
        if ruling.approval is not None and ruling.approval.state is State.PENDING:
            clock[0] += chance.expovariate(1 / 40)
            await node.decisions.answer(ruling.approval.id, chance.choices((YES, NO), (5, 1))[0], ADMIN)

    async def week(node: Node) -> None:
        for hour in range(7 * 24):
            moment = now - (7 * 24 - hour) * 3600
            busy = 8 <= time.gmtime(moment).tm_hour < 19 and time.gmtime(moment).tm_wday < 5
            for _ in range(chance.randrange(2, 14) if busy else 0):
                clock[0] = moment + chance.random() * 3000
                who, _, command = chance.choice(lines)
                await work(node, who, command)

    with Node(daemon.state, clock=lambda: clock[0]) as node:
        asyncio.run(week(node))


def begin_run(daemon: Running, token: str) -> str:
    """Have a run under way that something was stopped in, and that waits for an answer."""
    with Runner(daemon, token) as runner:
        run = runner.launch(write_strategy(daemon.root, STEPS, name="release"))
        runner.decide(run, runner.find("request_permission", runId=run), "allow")
        runner.hear("request_permission", runId=run)
    return run


def fill(daemon: Running, token: str, waiting: ThreadPoolExecutor) -> None:
    """Have some agents at work, and some of them wait."""
    person = daemon.api(token)
    tokens = {name: daemon.mint("agent", user=OWNER, agent=name) for name in ("claude-code", "codex", "gemini-cli")}
    for line in LINES:
        who, session, command = line.split("\t")
        name, asked = who.lstrip("!?"), len(person.get("/api/permissions").json()["pending"])
        call = {"toolName": "Bash", "toolInput": {"command": command.replace("\\n", "\n")}, "sessionId": session}
        ask = partial(daemon.api(tokens[name]).post, json=call | {"cwd": str(daemon.project)})
        if who.startswith("?"):
            waiting.submit(ask, "/api/hooks/classify?wait=600", timeout=600)
            until(lambda before=asked: len(person.get("/api/permissions").json()["pending"]) > before)
            continue
        told = ask("/api/hooks/classify").json()
        if "requestId" in told:
            person.post("/api/permissions", json={"requestId": told["requestId"], "decision": "approve"})
            ask("/api/hooks/classify")


def take(folder: Path) -> None:
    """Take them all."""
    with tempfile.TemporaryDirectory(prefix="demo-") as root, ThreadPoolExecutor() as pool:
        running = Running(Path(root), "--rate", "0")
        running.user_file.write_text(POLICY)
        remember(running)
        with running as daemon, open_browser() as browser:
            token = daemon.mint("admin", user=OWNER, label="laptop")
            fill(daemon, token, pool)
            pages = PAGES | {"run": f"/sessions?id={begin_run(daemon, token)}"}
            for look, wishes in LOOKS.items():
                visitor = Visitor(browser, daemon, **wishes)
                page = visitor.log_in(token=token)
                for name, path in pages.items():
                    page.goto(path)
                    page.wait_for_load_state("networkidle")
                    settle(page)
                    page.screenshot(path=folder / f"{name}-{look}.png")
                visitor.close()
                assert visitor.complaints == [], visitor.complaints


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "pictures")
    target.mkdir(parents=True, exist_ok=True)
    take(target)
