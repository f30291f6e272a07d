"""`assent trust`: apply a project's allow rules, exactly as they are now."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from assent.cli import exit_codes
from assent.cli.options.arguments import make_parser
from assent.cli.options.tool_call import find_folder
from assent.cli.output.screen import say, visible
from assent.config import trust as book
from assent.config.assent_yaml import parse_assentfile
from assent.model import AssentError, Layer
from assent.platform.paths import FILE_NAME, assent_home, find_places, find_project_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.model import Policy

_EXAMPLES = (
    "assent trust                 show what this project's rules would allow, then trust them",
    "assent trust ../other --yes  the same without confirmation, for scripts",
    "assent trust --forget        stop trusting this project",
    "assent trust --list          list the trusted files",
)


def run(argv: list[str]) -> int:
    """Run the command."""
    parser = make_parser("trust", "Trust a project's allow rules as they are now.", _EXAMPLES)
    parser.add_argument("folder", metavar="DIR", nargs="?", help="a folder of the project (default: the current one)")
    parser.add_argument("--list", action="store_true", help="list list the trusted files")
    parser.add_argument("--forget", action="store_true", help="stop trusting the project")
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    given = parser.parse_args(argv)
    home = assent_home()
    if given.list:
        return _list(home)
    file = _project_file(given.folder)
    return _forget(file, home) if given.forget else _trust(file, home, yes=given.yes)


def _project_file(folder: str | None) -> str:
    places = find_places(find_folder(folder))
    if places.project_file is None:
        raise AssentError(f"`{places.project_root}` is not a project")
    return places.project_file


def _list(home: str) -> int:
    for entry in book.listing(home=home):
        say(f"{entry.sha256[:16]}  {visible(entry.path)}")
    return exit_codes.OK


def _forget(file: str, home: str) -> int:
    known = book.forget(file, home=home)
    say(f"no longer trusted: {visible(file)}" if known else f"was not trusted: {visible(file)}")
    return exit_codes.OK


def _trust(file: str, home: str, *, yes: bool) -> int:
    content = find_project_file(file)
    if content is None:
        raise AssentError(f"no {FILE_NAME} in `{os.path.dirname(file)}`")  # noqa: PTH120 - paths are strings here
    policy = parse_assentfile(content.data, file, layer=Layer.PROJECT).policy
    if book.is_trusted(file, content.data, home=home):
        say(f"already trusted: {visible(file)}")
        return exit_codes.OK
    _show(file, policy)
    if not yes and not _agrees():
        say("not trusted; nothing was changed")
        return exit_codes.FOUND
    # Trust the bytes that were shown: the file may have changed since.
    entry = book.trust(file, content.data, home=home)
    say(f"trusted: {visible(entry.path)} ({entry.sha256[:16]})")
    return exit_codes.OK


def _show(file: str, policy: Policy) -> None:
    admitted = tuple(_admitted(policy))
    say(f"{visible(file)} would allow:" if admitted else f"{visible(file)} has no allow rules")
    for text in admitted:
        say(f"  {visible(text)}")


def _admitted(policy: Policy) -> Iterator[str]:
    for rule in policy.allow:
        yield f"{rule.text}{' (destructive calls too)' if rule.destructive else ''}  line {rule.origin.line}"
    for name, paths in (("read", policy.read), ("write", policy.write)):
        yield from (f"{name} {glob}" for glob in paths.allow)


def _agrees() -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise AssentError("no terminal to confirm at; read the rules, then use --yes")
    sys.stdout.write("Trust these rules? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
