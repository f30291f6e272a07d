"""`assent serve`: run the daemon."""

from __future__ import annotations

import sys

from assent.cli import exit_codes
from assent.cli.options.arguments import make_parser
from assent.cli.output.screen import complain, say
from assent.config.effective_settings import load_settings
from assent.config.settings import SETTINGS
from assent.platform.paths import assent_home

_EXAMPLES = (
    "assent serve                                   on 127.0.0.1:7422, with the store in Assent's home",
    "assent serve --link                            and print a one-time login link",
    "assent serve --store postgresql://db/assent    several daemons may share one database",
    "",
    "Every option can also be set in assent.yaml under `server:`, or as environment variable ASSENT_NAME.",
)


def run(argv: list[str]) -> int:
    """Run the command."""
    parser = make_parser("serve", "Run the daemon: questions, answers, audit log, API and dashboard.", _EXAMPLES)
    for setting in SETTINGS:
        parser.add_argument(setting.flag, dest=setting.name, metavar=setting.shown, help=setting.means)
    parser.add_argument("--link", action="store_true", help="print a one-time login link, not only on the first start")
    given = vars(parser.parse_args(argv))
    from assent.server.lifecycle import serve  # noqa: PLC0415 - its packages are an optional extra; `--help` works without it

    link = given.pop("link")
    settings = load_settings({name: text for name, text in given.items() if text is not None})
    if settings.expose:
        complain("note: other machines can reach this daemon; put a TLS proxy in front of it")
    serve(settings, assent_home(), link=link, announce=_announce)
    return exit_codes.OK


def _announce(text: str) -> None:
    say(text)
    sys.stdout.flush()
