"""Try the examples that rules carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from assent.model import CallError, Effect, Policy, Rule, RuleError
from assent.policy.rules.examples import check_examples

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class RuleTrial(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one rule, or of a file that failed to load."""

    effect: Effect | None = None
    rule: str = ""
    origin: str
    examples: int = 0
    failure: str | None = None


def try_examples(policies: Iterable[Policy]) -> list[RuleTrial]:
    """Try every rule that carries examples."""
    return [
        _try(effect, rule) for policy in policies for effect, rule in _rules(policy) if rule.match or rule.not_match
    ]


def _rules(policy: Policy) -> Iterator[tuple[Effect, Rule]]:
    yield from (("deny", rule) for rule in policy.deny)
    yield from (("ask", rule) for rule in policy.ask)
    yield from (("allow", rule) for rule in policy.allow)


def _try(effect: Effect, rule: Rule) -> RuleTrial:
    failure = None
    try:
        check_examples(rule, effect)
    except (RuleError, CallError) as error:
        failure = str(error)
    count = len(rule.match) + len(rule.not_match)
    return RuleTrial(effect=effect, rule=rule.text, origin=str(rule.origin), examples=count, failure=failure)
