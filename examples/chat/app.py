"""A chat with an agent that writes notes, and a page that asks before it does.

Run it with `python examples/chat/app.py FOLDER`, open the link it prints, and say `note milk` or `forget milk`.
"""

from __future__ import annotations

import hmac
import secrets
import sys
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.routing import Route

from assent import AgentApp, AgentSession, create_agent_app, create_stream_route, parse_rules, queue_approvals, tool

HERE = Path(__file__).parent
POLICY = {"ask": parse_rules(["write_note"]), "deny": parse_rules(["forget_note"])}


def make_tools(folder: Path) -> list:
    """Make what the agent can do."""

    @tool
    def write_note(text: str) -> str:
        """Write a note down."""
        with (folder / "notes.txt").open("a") as file:
            file.write(text + "\n")
        return f"noted: {text}"

    @tool
    def forget_note(text: str) -> str:
        """Forget a note."""
        return f"forgotten: {text}"

    return [write_note, forget_note]


async def answer(session: AgentSession, message: str) -> str:
    """Stand in for a model: `note a, b` writes two notes, `forget a` tries to forget one."""
    verb, _, rest = message.partition(" ")
    name = {"note": "write_note", "forget": "forget_note"}.get(verb)
    if name is None:
        return "say `note …` or `forget …`"
    results = [await session.call_tool(name, {"text": text.strip()}) for text in rest.split(",")]
    return "; ".join(str(result.content) for result in results)


def make_app(folder: Path, key: str) -> tuple[Starlette, AgentApp]:
    """Put the page, the sessions and the agent together; who has the key is its user."""
    agent = create_agent_app(permission_policy=POLICY, tools=make_tools(folder), turn=answer, workspace=folder)

    def authorize(request: Request, _session: str) -> str | None:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        return "me" if hmac.compare_digest(given.encode(), key.encode()) else None

    stream = create_stream_route(agent, authorize=authorize, create_permission_approval_handler=queue_approvals)
    pages = [
        Route("/", lambda _: FileResponse(HERE / "index.html")),
        Route("/chat.js", lambda _: FileResponse(HERE / "chat.js")),
    ]
    return Starlette(routes=[*pages, *stream.routes]), agent


if __name__ == "__main__":
    made = secrets.token_urlsafe(16)
    application, _ = make_app(Path(sys.argv[1] if len(sys.argv) > 1 else "."), made)
    sys.stdout.write(f"open http://127.0.0.1:8000/#{made}\n")
    uvicorn.run(application, port=8000, log_level="warning")
