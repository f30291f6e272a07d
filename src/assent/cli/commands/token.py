"""`assent token`: create, list and revoke tokens, whether or not the daemon is running."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from assent.audit.log import Log
from assent.cli import exit_codes
from assent.cli.options.arguments import add_output_option, make_parser
from assent.cli.output.screen import say, visible
from assent.config.effective_settings import dashboard_url, load_settings
from assent.config.settings import read_duration
from assent.model import AssentError
from assent.model.principal import Role
from assent.platform.paths import assent_home
from assent.platform.user import user_name
from assent.server.auth.tokens import SELECT_TOKENS, check_token_request, issue, make_link, revoke, token_of
from assent.store.store import Store, open_store

if TYPE_CHECKING:
    import argparse

    from assent.model.principal import Token

_EXAMPLES = (
    "assent token create --role agent --agent claude --workspace .     print only the token",
    "assent token create --role agent --agent ci --remote --no-ask     for a container; never ask, deny",
    "assent token create --role user --user alice --expires 30d",
    "assent token link                                                 a one-time login link",
    "assent token list",
    "assent token revoke tok_4f2c9a1b7d30",
)


def run(argv: list[str]) -> int:
    """Run the command."""
    parser = make_parser("token", "Create, list and revoke tokens.", _EXAMPLES)
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    _add_create(actions.add_parser("create", help="create a token and print it"))
    listing = actions.add_parser("list", help="list the valid tokens")
    add_output_option(listing)
    ending = actions.add_parser("revoke", help="revoke a token")
    ending.add_argument("id", metavar="ID", help="the token's id, as `assent token list` shows it")
    link = actions.add_parser("link", help="create a one-time login link")
    link.add_argument("--user", metavar="NAME", help="the user (default: you)")
    link.add_argument(
        "--role", choices=("user", "admin"), default="admin", help="the permissions of the browser session"
    )
    for action in actions.choices.values():
        action.add_argument("--store", metavar="URL", help="the store (default: the configured one)")
    given = parser.parse_args(argv)
    with open_keys(given.store) as (store, log):
        return {"create": _create, "list": _list, "revoke": _revoke, "link": _link}[given.action](given, store, log)


def _add_create(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--role", choices=[role.value for role in Role], required=True, help="the permissions of the token"
    )
    parser.add_argument("--user", metavar="NAME", help="the user (default: you)")
    parser.add_argument("--agent", metavar="NAME", default="", help="the agent's name")
    parser.add_argument("--label", metavar="TEXT", default="", help="a note about its use")
    parser.add_argument("--workspace", metavar="DIR", action="append", default=[], help="the agent's workspace")
    parser.add_argument("--remote", action="store_true", help="remote agent (other machine or container)")
    parser.add_argument("--no-ask", action="store_true", help="never ask, deny")
    parser.add_argument("--expires", metavar="TIME", help="how long it is valid, such as 12h or 30d")


@contextlib.contextmanager
def open_keys(url: str | None) -> Iterator[tuple[Store, Log]]:
    """Open the store and its log, whether or not the daemon runs."""
    settings = load_settings({} if url is None else {"store": url})
    home = assent_home()
    with open_store(settings.store or None, home=home) as store:
        log = Log(store, home)
        try:
            yield store, log
        finally:
            log.close()


def _create(given: Any, store: Store, log: Log) -> int:
    wish = check_token_request(
        Role(given.role),
        user=given.user or user_name(),
        agent=given.agent,
        label=given.label,
        remote=given.remote,
        interactive=False if given.no_ask else None,
        workspace=tuple(os.path.realpath(root) for root in given.workspace),
        seconds=_read_time(given.expires),
    )
    say(store.write(issue(wish, user_name(), log)).result().secret)
    return exit_codes.OK


def _read_time(text: str | None) -> float | None:
    try:
        return None if text is None else read_duration(text)
    except ValueError as error:
        raise AssentError(f"--expires: {error}") from None


def _list(given: Any, store: Store, _log: Log) -> int:
    query = SELECT_TOKENS + " WHERE revoked_at IS NULL ORDER BY created_at, id"
    tokens = [token_of(row) for row in store.read(query).result()]
    if given.json:
        say(msgspec.json.format(msgspec.json.encode(tokens), indent=2).decode())
        return exit_codes.OK
    for token in tokens:
        say(visible(_describe(token)))
    return exit_codes.OK


def _describe(token: Token) -> str:
    who = f"{token.user}/{token.agent}" if token.agent else token.user
    facts: list[str] = [token.kind] if token.kind != "bearer" else []
    facts += ["remote"] if token.remote else []
    facts += ["no-ask"] if token.interactive is False else []
    facts += [f"workspace {root}" for root in token.workspace]
    facts += [f"until {_date(token.expires_at)}"] if token.expires_at is not None else []
    facts += [token.label] if token.label else []
    return f"{token.id}  {token.role:<5}  {who:<20}  {_date(token.created_at)}  {', '.join(facts)}".rstrip()


def _date(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")


def _revoke(given: Any, store: Store, log: Log) -> int:
    store.write(revoke(given.id, user_name(), log)).result()
    say(f"revoked: {visible(given.id)}")
    return exit_codes.OK


def _link(given: Any, store: Store, log: Log) -> int:
    say(f"{dashboard_url()}/login#{make_link(store, log, given.user or user_name(), Role(given.role))}")
    return exit_codes.OK
