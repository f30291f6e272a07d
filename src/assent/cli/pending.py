"""`assent pending`: what waits for an answer."""

from __future__ import annotations

import sys
import time
from typing import Any

import msgspec

from assent.cli import exits
from assent.cli.arguments import add_output_option, make_parser
from assent.cli.screen import STYLE_OF, has_colour, paint, say, visible
from assent.sdk.client import Client, find_client

_EXAMPLES = (
    "assent pending",
    "assent pending --agent claude --json",
    "assent approve hook_1711929600000_a1b2c3d4e",
)


def run(argv: list[str]) -> int:
    """Run the command."""
    parser = make_parser("pending", "List what waits for your answer.", _EXAMPLES)
    parser.add_argument("--agent", metavar="NAME", help="only this agent's")
    add_output_option(parser)
    given = parser.parse_args(argv)
    found = fetch_all(find_client(), given.agent)
    if given.json:
        say(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
        return exits.OK
    if not found:
        say("nothing is waiting for an answer")
    for item in found:
        show(item, colour=has_colour(sys.stdout))
    return exits.OK


def fetch_all(client: Client, agent: str | None = None) -> list[dict[str, Any]]:
    """Fetch every pending question, the oldest first."""
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = client.get("/api/permissions", agentId=agent, cursor=cursor)
        found += page["pending"]
        cursor = page.get("cursor")
        if cursor is None:
            return found


def show(item: dict[str, Any], *, colour: bool) -> None:
    """Print one question: the call as it would run, then what is known about it."""
    tier = item["tier"]
    left = max(0, round(item["expiresAt"] / 1000 - time.time()))
    gone = ", its caller has gone" if item.get("callerGone") else ""
    say(f"{paint(visible(item['id']), 'bold', colour=colour)}  {visible(item['agentId'])}  {visible(item['toolName'])}")
    say(f"  {visible(item['command'])}")
    say(f"  {paint(tier, STYLE_OF[tier], colour=colour)}: {visible(item['reason'])}")
    if item.get("cwd"):
        say(f"  in {visible(item['cwd'])}")
    if item.get("impactScope"):
        say(f"  impact: {visible(item['impactScope'])}")
    say(paint(f"  expires in {left // 60} min {left % 60} s{gone}", "dim", colour=colour))
