"""Suggest policy rules that would change a decision. Every suggestion was tried first."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, assert_never

import msgspec

import assent.lazy_regex as re
from assent.cli.output.screen import visible
from assent.model import UNKNOWN, Effect, Layer, Operation, OperationKind, Policy, Rule, RuleError, Verdict
from assent.policy.rules.parse import parse_rule

if TYPE_CHECKING:
    from assent.cli.engines import Bench
    from assent.model import Decision, ToolCall

MOST_RULES = 5
_WILD = re.compile(r"[*?\[\]{}\\]")


class Suggestion(msgspec.Struct, frozen=True):
    """Rules that change the decision when added to a list of the user's file."""

    effect: Effect
    rules: tuple[str, ...]


def suggest(decision: Decision, call: ToolCall, bench: Bench) -> Suggestion | None:
    """Find rules that would allow a call that is not allowed, or deny one that is; None if no rule should or can."""
    if _is_out_of_reach(decision):
        return None
    effect: Effect = "deny" if decision.verdict is Verdict.ALLOW else "allow"
    texts = tuple(dict.fromkeys(_candidates(decision)))
    if not texts or len(texts) > MOST_RULES or None in texts:
        return None
    found = Suggestion(effect, tuple(t for t in texts if t is not None))
    return found if _works(found, call, bench) else None


def _is_out_of_reach(decision: Decision) -> bool:
    """Return whether no rule should be suggested: the call is destructive, unparsed or touches Assent itself."""
    reading = decision.reading
    protected = any(o.policy == "self-protection" for o in decision.opinions)
    return protected or reading.destructive or reading.unreadable is not None


def _candidates(decision: Decision) -> list[str | None]:
    """Return a rule for each operation that decided; None for one that no rule can name."""
    said = [o for o in decision.opinions if o.overruled is None and o.verdict is decision.verdict]
    operations = decision.reading.operations
    indexes = sorted({o.operation for o in said if o.operation is not None})
    if decision.verdict is Verdict.ALLOW:
        indexes = indexes[:1]
    return [_rule_for(operations[i], decision.reading.tool) for i in indexes]


def _rule_for(operation: Operation, tool: str) -> str | None:
    text = _name(operation, tool)
    if text is None or UNKNOWN in text or visible(text) != text:
        return None
    return text


def _name(operation: Operation, tool: str) -> str | None:
    match operation.kind:
        case OperationKind.COMMAND_EXECUTE | OperationKind.FS_EXEC:
            return f"Bash({shlex.join(operation.argv)})" if operation.argv and not _is_wild(*operation.argv) else None
        case OperationKind.FS_READ:
            return None if _is_wild(operation.resource) else f"Read({operation.resource})"
        case OperationKind.FS_WRITE:
            return None if _is_wild(operation.resource) else f"Write({operation.resource})"
        case OperationKind.NET_CONNECT:
            return None if _is_wild(operation.resource) else f"WebFetch(domain:{operation.resource})"
        case OperationKind.TOOL_CALL:
            return None if _is_wild(tool) else tool
        case _:
            assert_never(operation.kind)


def _is_wild(*texts: str) -> bool:
    """Return whether a pattern made of these texts would contain wildcards."""
    return any(_WILD.search(t) or t.endswith(":") for t in texts)


def _works(suggestion: Suggestion, call: ToolCall, bench: Bench) -> bool:
    try:
        rules: tuple[Rule, ...] = tuple(parse_rule(text) for text in suggestion.rules)
    except RuleError:
        return False
    policy = msgspec.structs.replace(Policy(layer=Layer.USER, file="(suggestion)"), **{suggestion.effect: rules})
    return bench.with_policy(policy).decide(call).verdict.value == suggestion.effect
