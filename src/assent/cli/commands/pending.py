"""`assent pending`: list the pending questions."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import msgspec

from assent.cli import exit_codes
from assent.cli.options.arguments import add_output_option, make_parser
from assent.cli.output.question import input_lines, shortened, stakes_of
from assent.cli.output.screen import has_colour, paint, say, visible
from assent.sdk.client.clients import Client, find_client

if TYPE_CHECKING:
    from assent.wire.permissions import Permission

_EXAMPLES = (
    "assent pending",
    "assent pending --agent claude --json",
    "assent approve hook_1711929600000_a1b2c3d4e",
)


def run(argv: list[str]) -> int:
    """Run the command."""
    parser = make_parser("pending", "List the pending questions.", _EXAMPLES)
    parser.add_argument("--agent", metavar="NAME", help="only questions of this agent")
    add_output_option(parser)
    given = parser.parse_args(argv)
    found = fetch_all(find_client(), given.agent)
    if given.json:
        say(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
        return exit_codes.OK
    if not found:
        say("no pending questions")
    for item in found:
        show(item, colour=has_colour(sys.stdout))
    return exit_codes.OK


def fetch_all(client: Client, agent: str | None = None) -> list[Permission]:
    """Fetch every pending question, the oldest first."""
    found: list[Permission] = []
    cursor: str | None = None
    while True:
        page = client.permissions(agent=agent, cursor=cursor)
        found += page.pending
        cursor = page.cursor
        if cursor is None:
            return found


def show(item: Permission, *, colour: bool) -> None:
    """Print one question: stakes, call, working directory, impact and expiry."""
    left = max(0, round(item.expires_at / 1000 - time.time()))
    gone = "; the agent stopped waiting; a yes applies when it retries" if item.caller_gone else ""
    say(f"{paint(visible(item.id), 'bold', colour=colour)}  {visible(item.agent_id)}  {visible(item.tool_name)}")
    say(f"  {stakes_of(item, colour=colour)}")
    for line in shortened(item, input_lines(item)):
        say(f"  | {line}")
    if item.cwd:
        say(f"  in {visible(item.cwd)}")
    if item.impact_scope:
        say(f"  impact: {visible(item.impact_scope)}")
    say(paint(f"  expires in {left // 60} min {left % 60} s{gone}", "dim", colour=colour))
