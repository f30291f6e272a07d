"""`assent hook-script`: print the hook for containers that have no Python."""

from __future__ import annotations

import sys
from importlib import resources

from assent.cli import exit_codes
from assent.cli.options.arguments import make_parser

_EXAMPLES = (
    "assent hook-script > assent-hook.sh && chmod +x assent-hook.sh",
    "",
    "In the container, set ASSENT_URL and ASSENT_TOKEN (`assent token create --role agent --remote`).",
    "ASSENT_AGENT: docker-agent (default) or generic. ASSENT_WAIT: seconds to wait for an answer.",
)


def run(argv: list[str]) -> int:
    """Run the command."""
    make_parser(
        "hook-script", "Print a hook for containers: a POSIX shell script that needs curl.", _EXAMPLES
    ).parse_args(argv)
    sys.stdout.write(script())
    return exit_codes.OK


def script() -> str:
    """Return the text of the script."""
    return (resources.files("assent.agents.hooks") / "container-hook.sh").read_text()
