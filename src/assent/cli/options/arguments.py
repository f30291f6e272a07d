"""Parsers of the command line. The arguments of a command to decide or run stay untouched."""

from __future__ import annotations

import argparse
import contextlib
import os
from typing import TYPE_CHECKING, Any, NoReturn

from assent.cli.options.environment import add_environment_options
from assent.model import MODE_ALIASES, AssentError, Mode

if TYPE_CHECKING:
    from collections.abc import Sequence

MODES: dict[str, Mode] = {mode.value: mode for mode in Mode} | MODE_ALIASES


class CommandParser(argparse.ArgumentParser):
    """A parser that raises `AssentError` instead of exiting."""

    def error(self, message: str) -> NoReturn:
        """Raise the message as a usage error."""
        raise AssentError(f"{message} (see `{self.prog} --help`)")


class _Layout(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal. argparse would look up the width for every option, which is slow."""

    def __init__(self, prog: str) -> None:
        columns = os.environ.get("COLUMNS", "")
        width = int(columns) if columns.isdecimal() else 0
        with contextlib.suppress(OSError):
            width = width or os.get_terminal_size().columns
        super().__init__(prog, width=(width or 80) - 2)


def make_parser(name: str, does: str, examples: Sequence[str]) -> CommandParser:
    """Return the parser of one command; its help ends with examples."""
    return CommandParser(
        prog=f"assent {name}",
        description=does,
        epilog="examples:\n" + "\n".join(f"  {line}" for line in examples),
        formatter_class=_Layout,
        allow_abbrev=False,
    )


def add_output_option(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_folder_option(parser: argparse.ArgumentParser) -> None:
    """Add `--cwd`."""
    parser.add_argument("--cwd", metavar="DIR", help="the working directory of the call (default: the current one)")


def add_call_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that describe a call: tool, input, working directory, mode and policy files."""
    parser.add_argument("--tool", metavar="NAME", default="Bash", help="the tool that is called (default: Bash)")
    add_folder_option(parser)
    parser.add_argument("--mode", type=read_mode, help="override the mode of your own policy: " + ", ".join(MODES))
    parser.add_argument(
        "--policy",
        metavar="FILE",
        action="append",
        default=[],
        help="also apply this policy file, as one of your own (repeatable)",
    )
    add_environment_options(parser)
    add_output_option(parser)
    parser.add_argument(
        "command",
        metavar="COMMAND",
        nargs=argparse.REMAINDER,
        help="a shell command, quoted or as several words; for other tools a path, URL or JSON object; - reads stdin",
    )


def parse_call(parser: argparse.ArgumentParser, argv: Sequence[str]) -> Any:
    """Parse options, then a command. Options may follow a command of one word, but not `--`."""
    if "--" in argv:
        end = list(argv).index("--")
        given = parser.parse_args(argv[:end])
        if not given.command:
            given.command = list(argv[end + 1 :])
            return given
    given = parser.parse_args(argv)
    return _take_trailing(parser, given) or given


def _take_trailing(parser: argparse.ArgumentParser, given: argparse.Namespace) -> argparse.Namespace | None:
    word, tail = given.command[:1], given.command[1:]
    if not tail or not tail[0].startswith("--") or "--help" in tail or "-h" in tail:
        return None
    from copy import deepcopy  # noqa: PLC0415 - rarely needed

    try:
        more = parser.parse_args(tail, deepcopy(given))
    except AssentError:
        return None
    if more.command:
        return None
    more.command = word
    return more


def read_mode(text: str) -> Mode:
    """Read a mode by any of its names."""
    if text not in MODES:
        raise argparse.ArgumentTypeError(f"unknown mode `{text}`; known: {', '.join(MODES)}")
    return MODES[text]
