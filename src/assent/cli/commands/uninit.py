"""`assent uninit`: remove an agent's hook and restore its settings."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH108

from __future__ import annotations

import contextlib
import os

from assent.agents.specs import WIRINGS
from assent.agents.wiring.restore import restore
from assent.agents.wiring.settings_changes import Wired, find_wired, hold_book, read_book, write_book
from assent.cli import exit_codes
from assent.cli.agent_wiring import Target, add_target_options, find_target, follow_move, token_file
from assent.cli.commands.token import open_keys
from assent.cli.options.arguments import make_parser
from assent.cli.output.screen import say, visible
from assent.model import AssentError, NotFoundError
from assent.platform.paths import assent_home
from assent.platform.user import user_name
from assent.server.auth.tokens import revoke

_EXAMPLES = ("assent uninit claude-code", "assent uninit codex --project")


def run(argv: list[str]) -> int:
    """Run the command."""
    parser = make_parser("uninit", "Remove an agent's hook and restore its settings.", _EXAMPLES)
    add_target_options(parser)
    target, home = find_target(parser.parse_args(argv)), assent_home()
    with hold_book(home):
        _undo(target, home)
    say(f"{target.agent} is disconnected")
    return exit_codes.OK


def _undo(target: Target, home: str) -> None:
    book = follow_move(read_book(home), target)
    wired = find_wired(book, target.agent, target.scope, target.root)
    if wired is None:
        where = "in this project" if target.scope == "project" else "for all projects"
        raise AssentError(f"{target.agent} is not connected {where}")
    switches = WIRINGS[target.agent].switches if target.agent in WIRINGS else ()
    for written in reversed(wired.files):
        say(visible(restore(written, home, switches)))
    write_book(home, [each for each in book if each is not wired])
    _end_token(wired, home)


def _end_token(wired: Wired, home: str) -> None:
    with open_keys(None) as (store, log), contextlib.suppress(NotFoundError):
        store.write(revoke(wired.token, user_name(), log)).result()
    with contextlib.suppress(FileNotFoundError):
        os.unlink(token_file(home, wired.key))
