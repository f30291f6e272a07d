"""`assent approve`: approve a pending call."""

from __future__ import annotations

from assent.cli import exit_codes
from assent.cli.options.answer import add_answer_options, edit_call, fetch_pending, read_scope, send_answer
from assent.cli.options.arguments import make_parser
from assent.cli.output.question import confirm
from assent.cli.output.screen import say, visible

_EXAMPLES = (
    "assent approve hook_1711929600000_a1b2c3d4e             this call, once",
    "assent approve ID --session                             also similar calls in this session",
    "assent approve ID --always --pattern 'Bash(npm test:*)' from now on, until the grant is revoked",
    "assent approve ID --for 2h",
    "assent approve ID --edit                                change the call in your editor first",
    "assent approve ID --digest HEX                          in a script, for a long call",
)


def run(argv: list[str]) -> int:
    """Run the command."""
    parser = make_parser("approve", "Approve a pending call.", _EXAMPLES)
    add_answer_options(parser)
    parser.add_argument("--edit", action="store_true", help="change the call in your editor first")
    parser.add_argument("--digest", metavar="HEX", help="the digest of the call you have read, from `assent pending`")
    given = parser.parse_args(argv)
    scope = read_scope(given, timed="always")
    modified = edit_call(given.id) if given.edit else None
    if not given.edit and not confirm(fetch_pending(given.id), given.digest):
        say("nothing was answered")
        return exit_codes.FOUND
    say(visible(send_answer(given, "approve", scope=scope, modified=modified)))
    return exit_codes.OK
