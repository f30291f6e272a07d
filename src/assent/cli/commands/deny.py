"""`assent deny`: deny a pending call."""

from __future__ import annotations

from assent.cli import exit_codes
from assent.cli.options.answer import add_answer_options, read_scope, send_answer
from assent.cli.options.arguments import make_parser
from assent.cli.output.screen import say, visible

_EXAMPLES = (
    "assent deny hook_1711929600000_a1b2c3d4e --feedback 'use the staging database'",
    "assent deny ID --session        also similar calls in this session",
    "assent deny ID --always         also from now on, until the grant is revoked",
)


def run(argv: list[str]) -> int:
    """Run the command."""
    parser = make_parser("deny", "Deny a pending call.", _EXAMPLES)
    add_answer_options(parser)
    given = parser.parse_args(argv)
    say(visible(send_answer(given, "reject", scope=read_scope(given, timed="session"))))
    return exit_codes.OK
