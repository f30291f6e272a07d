"""`assent hook`: decide one call for an agent's hook. `assent init` installs a faster client for the same."""

from __future__ import annotations

import sys

from assent.agents.hooks.registry import AGENTS
from assent.cli import hook_client
from assent.cli.options.arguments import make_parser
from assent.config.settings import read_duration
from assent.model import AssentError
from assent.platform.paths import assent_home

_EXAMPLES = (
    "assent hook claude-code < call.json       decide one call in the format of Claude Code",
    "assent hook gemini --observe              only record the decision",
    "",
    "exit code: 0 with the answer in the agent's format, 2 for a denial or any error",
)
_WAIT = "10m"


def run(argv: list[str]) -> int:
    """Run the command."""
    parser = make_parser("hook", "Decide one call, read from stdin in the agent's format.", _EXAMPLES)
    parser.add_argument("agent", metavar="AGENT", choices=sorted(AGENTS), help=", ".join(sorted(AGENTS)))
    parser.add_argument("--key", metavar="NAME", help="the name of the token in Assent's home (default: the agent)")
    parser.add_argument(
        "--wait", metavar="TIME", default=_WAIT, help=f"how long to wait for a person (default: {_WAIT})"
    )
    parser.add_argument("--url", metavar="URL", help="the URL of a daemon on another machine")
    parser.add_argument("--observe", action="store_true", help="trial: record decisions, block nothing")
    given = parser.parse_args(argv)
    try:
        seconds = read_duration(given.wait)
    except ValueError as error:
        raise AssentError(f"--wait: {error}") from None
    flags = [given.url] if given.url else []
    flags += ["observe"] if given.observe else []
    sys.stdout.flush()
    return hook_client.main(["", given.agent, assent_home(), given.key or given.agent, str(seconds), *flags])
