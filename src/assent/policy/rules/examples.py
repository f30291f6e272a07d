"""Examples that a rule carries with it, checked when its file is loaded."""

from __future__ import annotations

from typing import assert_never

from assent.analysis.read import read
from assent.analysis.resources.paths import place_of
from assent.model import Certainty, Effect, Facts, Rule, RuleError, Session, ToolCall
from assent.policy.call_view import View
from assent.policy.rules.match import Matcher, compile_rule

_HOME = "/example/home"
_PROJECT = "/example/home/project"
_FACTS = Facts(home=_HOME)
_SESSION = Session(workspace=(_PROJECT,))


def check_examples(rule: Rule, effect: Effect) -> None:
    """Raise `RuleError` if a rule's pattern cannot be used, or says something else than its own examples."""
    matcher = compile_rule(rule)
    for text in rule.match:
        if not _matches(matcher, text, effect):
            raise RuleError(f"the example `{text}` does not match {rule.text}, though it is listed under `match`")
    for text in rule.not_match:
        if not _is_left_alone(matcher, text, effect):
            raise RuleError(f"the example `{text}` matches {rule.text}, though it is listed under `not_match`")


def _matches(matcher: Matcher, text: str, effect: Effect) -> bool:
    answers = _answers(matcher, text, effect)
    if effect == "allow":
        return bool(answers) and all(a is Certainty.YES for a in answers)
    return Certainty.YES in answers


def _is_left_alone(matcher: Matcher, text: str, effect: Effect) -> bool:
    if effect == "allow":
        return not _matches(matcher, text, effect)
    return set(_answers(matcher, text, effect)) <= {Certainty.NO}


def _answers(matcher: Matcher, text: str, effect: Effect) -> list[Certainty]:
    """Ask the rule about every operation of the example that it could be about."""
    call = _call(matcher, text)
    place = place_of(call, _SESSION, _FACTS)
    view = View(call, _SESSION, read(call, place), place)
    operations = view.reading.operations
    if matcher.family == "command":
        operations = tuple(o for o in operations if view.is_command(o))
    return [matcher.match(o, view, broad=effect != "allow") for o in operations]


def _call(matcher: Matcher, text: str) -> ToolCall:
    """Make the call that an example stands for: a command, a path, an address, or a tool's only input."""
    match matcher.family:
        case "command":
            field, value = "command", text
        case "read" | "write" | "edit":
            field, value = "file_path", text
        case "host":
            field, value = "url", text if "://" in text else f"https://{text}/"
        case "name":
            field, value = ("url" if matcher.tool == "WebFetch" else "input"), text
        case _:
            assert_never(matcher.family)
    return ToolCall(tool=matcher.tool, input={field: value}, cwd=_PROJECT)
