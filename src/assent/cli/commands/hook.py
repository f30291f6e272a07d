"""`assent hook`: what an agent's hook calls. `assent init` writes a quicker way to the same."""

from __future__ import annotations

import sys

from assent.cli import hook_client
from assent.cli.options.arguments import make_parser
from assent.config.settings import read_duration
from assent.model import AssentError
from assent.platform.paths import assent_home
from assent.server.hooks.agents import AGENTS

_EXAMPLES = (
    "assent hook claude-code < call.json       decide one call, in the words of Claude Code",
    "assent hook gemini --observe              only write down what would be decided",
    "",
    "Exit code 0 hands on the agent's own form of the answer; 2 is a denial, and so is whatever goes wrong.",
)
_WAIT = "10m"


def run(argv: list[str]) -> int:
    """Run the command."""
    parser = make_parser("hook", "Decide one call of an agent, read from stdin, in the agent's own words.", _EXAMPLES)
    parser.add_argument("agent", metavar="AGENT", choices=sorted(AGENTS), help=", ".join(sorted(AGENTS)))
    parser.add_argument("--key", metavar="NAME", help="the token in Assent's home to ask with (default: the agent's)")
    parser.add_argument(
        "--wait", metavar="TIME", default=_WAIT, help=f"how long to wait for a person (default: {_WAIT})"
    )
    parser.add_argument("--url", metavar="URL", help="a daemon elsewhere")
    parser.add_argument("--observe", action="store_true", help="a trial: record, and let the agent do as it would")
    given = parser.parse_args(argv)
    try:
        seconds = read_duration(given.wait)
    except ValueError as error:
        raise AssentError(f"--wait: {error}") from None
    flags = [given.url] if given.url else []
    flags += ["observe"] if given.observe else []
    sys.stdout.flush()
    return hook_client.main(["", given.agent, assent_home(), given.key or given.agent, str(seconds), *flags])
