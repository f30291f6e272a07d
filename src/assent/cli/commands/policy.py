"""`assent policy`: show the policy in force, lint rules, and test them on their examples."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from assent.cli import exit_codes
from assent.cli.engines import open_engines
from assent.cli.options.arguments import add_folder_option, add_output_option, make_parser
from assent.cli.options.tool_call import find_folder
from assent.cli.output.screen import STYLE_OF, has_colour, paint, say, visible
from assent.config.assent_yaml import load_policy
from assent.config.layers import load_layers
from assent.model import AssentError, ConfigError, Layer
from assent.platform.files import find_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assent.cli.rule_examples import RuleTrial
    from assent.model import Policy
    from assent.policy.lint import LintFinding, RuleMeaning

_EXAMPLES = (
    "assent policy show                     every layer, rule and path policy in force here",
    "assent policy lint assent.yaml         rules that never take effect, or allow too much",
    "assent policy test                     test every rule on its own examples",
)
_HELP_EXAMPLES = {
    "show": ("assent policy show --cwd ../other --json",),
    "lint": ("assent policy lint", "assent policy lint assent.yaml --json"),
    "test": ("assent policy test", "assent policy test assent.yaml"),
}


def run(argv: list[str]) -> int:
    """Run the command."""
    parser = make_parser("policy", "Show, lint and test the policy in force.", _EXAMPLES)
    parser.add_argument("action", metavar="show|lint|test", choices=_ACTIONS)
    if argv and argv[0] in _ACTIONS:
        return _ACTIONS[argv[0]](argv[1:])
    parser.parse_args(argv)
    raise AssentError("pass an action: assent policy show, lint or test")


def _show(argv: list[str]) -> int:
    from assent.cli.output.outline import draw  # noqa: PLC0415 - as above
    from assent.cli.policy_layers import describe, outline_of  # noqa: PLC0415 - only this action needs it

    parser = make_parser("policy show", "Show the merged policy layers.", _HELP_EXAMPLES["show"])
    add_folder_option(parser)
    add_output_option(parser)
    given = parser.parse_args(argv)
    cwd = find_folder(given.cwd)
    shown = describe(open_engines().find(cwd))
    if given.json:
        _say_json(shown)
    else:
        draw(outline_of(shown))
    return exit_codes.OK


def _lint(argv: list[str]) -> int:
    import time  # noqa: PLC0415 - only this action needs it

    from assent.policy.lint import explain_rules, lint  # noqa: PLC0415 - only this action needs it

    given = _files("lint", "Find rules that are probably mistakes, and explain each rule.", argv)
    policies = _policies(given)
    findings = lint(policies, now=time.time())
    if given.json:
        _say_json(findings)
    else:
        _show_meanings(explain_rules(policies))
        _show_findings(findings)
    return exit_codes.FOUND if any(f.severity != "hint" for f in findings) else exit_codes.OK


def _test(argv: list[str]) -> int:
    from assent.cli.rule_examples import RuleTrial, try_examples  # noqa: PLC0415 - only this action needs it

    given = _files("test", "Test every rule on its own examples.", argv)
    try:
        tried = try_examples(_policies(given))
    except ConfigError as error:
        # Loading a file tries its examples too, and stops at the first that fails.
        tried = [RuleTrial(origin=f"{error.file}:{error.line}" if error.line else error.file, failure=error.message)]
    if given.json:
        _say_json(tried)
    else:
        _show_tried(tried)
    return exit_codes.FOUND if any(t.failure for t in tried) else exit_codes.OK


_ACTIONS: dict[str, Callable[[list[str]], int]] = {"show": _show, "lint": _lint, "test": _test}


def _files(action: str, does: str, argv: list[str]) -> Any:
    parser = make_parser(f"policy {action}", does, _HELP_EXAMPLES[action])
    parser.add_argument("files", metavar="FILE", nargs="*", help="policy files (default: the layers in force here)")
    add_folder_option(parser)
    add_output_option(parser)
    return parser.parse_args(argv)


def _policies(given: Any) -> Sequence[Policy]:
    if given.files:
        return [_load(file) for file in given.files]
    return load_layers(find_folder(given.cwd)).policies


def _load(file: str) -> Policy:
    if find_file(file) is None:
        raise AssentError(f"file not found: `{file}`")
    return load_policy(file, layer=Layer.USER)


def _show_findings(findings: Sequence[LintFinding]) -> None:
    colour = has_colour(sys.stdout)
    for finding in findings:
        word = paint(finding.severity, STYLE_OF[finding.severity], colour=colour)
        rule = f"{visible(finding.rule)}: " if finding.rule else ""
        hint = f" ({visible(finding.suggestion)})" if finding.suggestion else ""
        say(f"{visible(str(finding.origin))}: {word}: {rule}{visible(finding.message)}{hint}")
    say(f"{len(findings)} findings" if len(findings) != 1 else "1 finding")


def _show_meanings(meanings: Sequence[RuleMeaning]) -> None:
    colour = has_colour(sys.stdout)
    for meaning in meanings:
        origin = paint(visible(str(meaning.origin)), "dim", colour=colour)
        say(f"{origin}: {visible(meaning.rule)}: {visible(meaning.means)}")


def _show_tried(tried: Sequence[RuleTrial]) -> None:
    colour = has_colour(sys.stdout)
    width = max((len(visible(t.rule)) for t in tried), default=0)
    for entry in tried:
        style, word = ("red", "FAIL") if entry.failure else ("green", "ok  ")
        text = (
            f"{entry.effect or 'file':<5}  {visible(entry.rule):<{width}}  {entry.examples:>3}  {visible(entry.origin)}"
        )
        say(f"{paint(word, style, colour=colour)}  {text}")
        if entry.failure:
            say(f"      {visible(entry.failure)}")
    examples, failed = sum(t.examples for t in tried), sum(bool(t.failure) for t in tried)
    say(f"{len(tried)} rules with {examples} examples, {failed} failed")


def _say_json(value: Any) -> None:
    from assent.cli.output.decision_json import encode_record  # noqa: PLC0415 - only for JSON output

    say(encode_record(value).decode())
