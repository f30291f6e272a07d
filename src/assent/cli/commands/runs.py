"""`assent runs`: start, list and stop runs; follow a run and answer its questions in the terminal."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH100

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from assent.cli import exit_codes
from assent.cli.interrupts import run_until_done
from assent.cli.live_run import LiveRun
from assent.cli.options.arguments import add_output_option, make_parser
from assent.cli.options.yes_to import YesTo
from assent.cli.output.screen import STYLE_OF, has_colour, paint, say, visible
from assent.model import AssentError
from assent.sdk.client.runs import RunClient

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Coroutine

_EXAMPLES = (
    "assent runs start tidy.yaml",
    "assent runs start note.yaml --input 'remember the milk'",
    "assent runs start build.yaml --yes-to run_command --yes-to 'write_file:dist/**'",
    "assent runs list",
    "assent runs stop run_4f2c9a1b7d30",
)
_STYLES = {"completed": "allow", "error": "error", "cancelled": "warning", "running": "hint", "pending": "hint"}


def run(argv: list[str]) -> int:
    """Run the command."""
    parser = make_parser("runs", "Start, list and stop runs of strategies in the daemon.", _EXAMPLES)
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    _add_start(actions.add_parser("start", help="run a strategy and answer its questions"))
    add_output_option(actions.add_parser("list", help="list your runs, newest first"))
    actions.add_parser("stop", help="stop a run").add_argument("id", metavar="ID", help="the run")
    given = parser.parse_args(argv)
    actions_by_name: dict[str, Callable[[Any], Coroutine[Any, Any, int]]] = {
        "start": _start,
        "list": _list,
        "stop": _stop,
    }
    return run_until_done(actions_by_name[given.action](given))


def _add_start(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the strategy: a file, or the name of an installed one")
    parser.add_argument("--input", metavar="TEXT", help="the input of the run")
    parser.add_argument(
        "--yes-to",
        metavar="TOOL[:PATTERN]",
        action="append",
        default=[],
        help="approve every question about this tool (only these paths, or commands as in rules); repeatable",
    )
    parser.add_argument("--cwd", metavar="DIR", help="the working directory (default: the current one)")
    parser.add_argument("--profile", metavar="NAME", help="the sandbox profile of a process (default: agent)")
    parser.add_argument("--no-ask", action="store_true", help="never ask, deny")
    add_output_option(parser)


def _start(given: Any) -> Coroutine[Any, Any, int]:
    cwd, path = os.path.abspath(given.cwd or "."), os.path.abspath(given.file)
    is_file = os.path.exists(path) or "/" in given.file  # noqa: PTH110 - as above
    return _follow(given, cwd, path if is_file else None)


async def _follow(given: Any, cwd: str, path: str | None) -> int:
    answers = tuple(YesTo.read(text, cwd) for text in given.yes_to)
    async with RunClient.open() as client:
        found = path if path is not None else await _find(client, given.file)
        prepared = await client.prepare(found, cwd=cwd, interactive=not given.no_ask, profile=given.profile)
        return await LiveRun(client, prepared, answers, as_json=given.json).follow(given.input)


async def _find(client: RunClient, wanted: str) -> str:
    """Return the file of an installed strategy."""
    ready = {strategy.name: strategy.path for strategy in await client.list_strategies()}
    if wanted not in ready:
        raise AssentError(f"no file or strategy `{wanted}`; strategies: {', '.join(ready)}")
    return ready[wanted]


async def _list(given: Any) -> int:
    async with RunClient.open() as client:
        found = await client.list_runs()
    if given.json:
        say(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
        return exit_codes.OK
    if not found:
        say("no runs")
    colour = has_colour(sys.stdout)
    for run_ in found:
        status = paint(f"{run_.status:<9}", STYLE_OF[_STYLES[run_.status]], colour=colour)
        why = f"  {visible(run_.error)}" if run_.error else ""
        say(f"{run_.run_id}  {status}  {run_.created_at}  {visible(run_.strategy_name)}{why}")
    return exit_codes.OK


async def _stop(given: Any) -> int:
    async with RunClient.open() as client:
        await client.stop(given.id)
    say(f"stopped: {visible(given.id)}")
    return exit_codes.OK
