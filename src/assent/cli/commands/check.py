"""`assent check`: decide a call without running it, or a batch of them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from assent.cli import exit_codes
from assent.cli.engines import open_engines
from assent.cli.options.arguments import add_call_options, make_parser, parse_call
from assent.cli.options.environment import read_environment
from assent.cli.options.tool_call import call_from_words, find_folder
from assent.cli.output.decision_json import answer_of, encode
from assent.cli.output.layer_notices import Notices
from assent.cli.output.screen import STYLE_OF, has_colour, paint, say, visible
from assent.model import AssentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.cli.engines import Bench
    from assent.decisions.engine_cache import EngineCache
    from assent.model import Decision

_EXAMPLES = (
    "assent check 'rm -rf build && make'",
    "assent check --json git push --force",
    "assent check --tool Write src/app.py",
    'assent check --tool WebFetch \'{"url": "https://example.com/"}\'',
    "assent check --batch < calls.jsonl        one JSON object per line, one answer per line",
    "",
    "exit code: 0 allow or sandboxed, 3 ask, 4 deny or unavailable, 2 usage or configuration error",
)


def run(argv: list[str]) -> int:
    """Run the command."""
    parser = make_parser("check", "Decide a tool call without running it.", _EXAMPLES)
    parser.add_argument("--batch", action="store_true", help="decide the calls on stdin, one JSON object per line")
    add_call_options(parser)
    given = parse_call(parser, argv)
    cwd = find_folder(given.cwd)
    engines = open_engines(mode=given.mode, files=given.policy, notices=Notices())
    bench = engines.find(cwd)
    if given.batch:
        if given.env or given.env_from:
            raise AssentError("--env does not apply to --batch; set `environment` on each line")
        return _run_batch(engines, cwd, given.command)
    environment = read_environment(given.env, given.env_from)
    decision = bench.decide(call_from_words(given.tool, given.command, cwd), environment=environment)
    if given.json:
        say(encode(answer_of(decision)).decode())
    else:
        show(decision, colour=has_colour(sys.stdout))
    return exit_codes.exit_code(decision.decision)


def _run_batch(engines: EngineCache[Bench], cwd: str, words: list[str]) -> int:
    from assent.cli.batch import run_batch, standard_source  # noqa: PLC0415 - only for batches

    if words:
        raise AssentError("--batch reads calls from stdin and takes no command")
    run_batch(engines, cwd, standard_source(), sys.stdout.buffer)
    return exit_codes.OK


def show(decision: Decision, *, colour: bool) -> None:
    """Print the verdict and its reason on one line, the details below."""
    word = decision.decision
    say(f"{paint(word, f'bold {STYLE_OF[word]}', colour=colour)}: {visible(decision.decision_reason)}")
    for detail in details(decision):
        say(paint(f"  {visible(detail)}", "dim", colour=colour))


def details(decision: Decision) -> Iterator[str]:
    """Yield rules, stakes, impact and sandbox of a decision."""
    yield from (f"by {ref}" for ref in decision.rule_refs)
    reading = decision.reading
    if decision.stakes:
        yield f"at stake: {', '.join(decision.stakes)}"
    if reading.unreadable and reading.unreadable != decision.decision_reason:
        yield f"not analysed: {reading.unreadable}"
    if reading.impact_scope:
        yield f"impact: {reading.impact_scope}"
    if reading.rollback_advice:
        yield f"to undo: {reading.rollback_advice}"
    if decision.boundary is not None:
        lacking = "" if decision.available else ", which is not available here"
        yield f"inside the sandbox profile {decision.boundary.name}{lacking}"
