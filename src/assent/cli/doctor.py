"""`assent doctor`: look at everything the daemon stands on, and say what is wrong and what to do."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH112, PTH116, PTH118, PTH208

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

import msgspec

from assent.cli import exits
from assent.cli.arguments import add_output_option, make_parser
from assent.cli.screen import has_colour, paint, say, visible
from assent.config.daemon import load_settings
from assent.config.facts import observe
from assent.config.layers import load_layers
from assent.config.places import assent_home
from assent.model import AssentError
from assent.sdk.client import UnreachableError, find_client

Grade: TypeAlias = Literal["ok", "note", "bad"]
_STYLE = {"ok": "green", "note": "yellow", "bad": "red"}


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    grade: Grade
    what: str
    hint: str = ""


def run(argv: list[str]) -> int:
    """Run the command."""
    parser = make_parser("doctor", "Check what the daemon stands on.", ("assent doctor", "assent doctor --json"))
    add_output_option(parser)
    given = parser.parse_args(argv)
    findings = [finding for check in CHECKS for finding in _look(check)]
    if given.json:
        say(msgspec.json.format(msgspec.json.encode(findings), indent=2).decode())
    else:
        _show(findings, colour=has_colour(sys.stdout))
    return exits.FOUND if any(finding.grade == "bad" for finding in findings) else exits.OK


def _show(findings: list[Finding], *, colour: bool) -> None:
    for finding in findings:
        say(f"{paint(f'{finding.grade:<4}', _STYLE[finding.grade], colour=colour)}  {visible(finding.what)}")
        if finding.hint:
            say(f"      {visible(finding.hint)}")


def _look(check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from check()
    except AssentError as error:
        yield Finding("bad", str(error))
    except OSError as error:
        yield Finding("bad", f"{error.filename}: {error.strerror}")


def check_home() -> Iterator[Finding]:
    """Look at who can read and write Assent's home."""
    home = assent_home()
    if not os.path.isdir(home):
        yield Finding("note", f"{home} is not there yet", "start the daemon with `assent serve`")
        return
    status = os.stat(home)
    if status.st_uid != os.geteuid() or status.st_mode & 0o077:
        yield Finding("bad", f"others than you can look into {home}", f"chmod 700 {home}")
    else:
        yield Finding("ok", f"{home} is yours alone")
    open_files = [name for name in sorted(os.listdir(home)) if _is_open(os.path.join(home, name))]
    for name in open_files:
        yield Finding("bad", f"others can read or write {os.path.join(home, name)}", "make its mode 0600")


def _is_open(path: str) -> bool:
    status = os.lstat(path)
    return not stat.S_ISLNK(status.st_mode) and bool(status.st_mode & 0o077)


def check_policy() -> Iterator[Finding]:
    """Look whether the policy files can be read, here."""
    observe()
    found = load_layers(os.getcwd())  # noqa: PTH109 - paths are strings here
    files = [policy.file for policy in found.policies]
    yield Finding(
        "ok", f"the policy can be read: {', '.join(files) if files else 'no files, so the default one holds'}"
    )
    for notice in found.notices:
        yield Finding("note", notice)


def check_settings() -> Iterator[Finding]:
    """Look whether the daemon's settings can be read."""
    settings = load_settings()
    yield Finding("ok", f"the daemon is set to listen on {settings.host}:{settings.port}")
    if settings.expose:
        yield Finding("note", "others than this machine may reach the daemon", "put TLS in front of it")


def check_daemon() -> Iterator[Finding]:
    """Look whether the daemon runs and takes this user's token."""
    try:
        client = find_client()
        client.health()
    except UnreachableError as error:
        yield Finding("note", str(error), "start it with `assent serve`")
        return
    who = client.who()
    yield Finding("ok", f"the daemon runs, and knows you as {who.user_id} ({who.role})")
    stats = client.stats()
    yield Finding("ok", f"{stats.pending} pending, the log ends at {stats.audit_position}")
    if stats.policy_fault:
        yield Finding("bad", f"the daemon goes by older rules: {stats.policy_fault}")


CHECKS = (check_home, check_policy, check_settings, check_daemon)
