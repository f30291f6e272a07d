"""What every source says about an operation, before anything is weighed."""

from __future__ import annotations

from collections.abc import Iterator

from assent.budget import TookTooLongError, step
from assent.model import (
    ALLOW,
    ASK,
    DENY,
    MAYBE,
    NO,
    YES,
    Certainty,
    Layer,
    Operation,
    Opinion,
    Rule,
    Source,
    Verdict,
)
from assent.policy.call_view import View
from assent.policy.guard import Guard
from assent.policy.layers import NamedPolicy
from assent.policy.protections import protect
from assent.policy.rules.index import MOST_MAYBES
from assent.policy.rules.match import Matcher


def hear(view: View, guard: Guard) -> list[list[Opinion]]:
    """Collect every opinion on each operation: protections, rules, path policies, session decisions."""
    heard: list[list[Opinion]] = []
    for index, operation in enumerate(view.reading.operations):
        step()
        found = protect(index, operation, view, embedded=guard.merged.embedded)
        for link in guard.links:
            found += _said(index, operation, view, link)
        if guard.session:
            found += _session(index, operation, view, guard)
        heard.append(found)
    return heard


def _said(index: int, operation: Operation, view: View, link: NamedPolicy) -> list[Opinion]:
    found: list[Opinion] = []
    broad = link.verdict is not ALLOW
    maybes: dict[tuple[bool, bool], int] = {}
    for matcher in link.rules.candidates(operation, view):
        rule = matcher.rule
        if rule.expires is not None and view.facts.is_over(rule.expires, allows=not broad):
            continue
        answer, fault = _ask(matcher, operation, view, broad=broad)
        if answer is NO or (not broad and answer is not YES):
            continue
        if answer is MAYBE and link.by_name and matcher.names(operation, view):
            answer = YES
        if answer is MAYBE:
            # Those that are left out must weigh no more than those that are listed.
            weight = _is_firm(link.verdict, rule, answer), _opens(link.verdict, rule)
            maybes[weight] = maybes.get(weight, 0) + 1
            if maybes[weight] > MOST_MAYBES:
                continue
        found.append(_opinion(index, link, rule, answer, fault))
    return found


def _is_firm(verdict: Verdict, rule: Rule, answer: Certainty) -> bool:
    """Tell whether what a rule asks holds in every mode and under every grant."""
    if verdict is DENY:
        return answer is MAYBE
    return verdict is ASK and (rule.every_time or rule.origin.layer is Layer.MANAGED)


def _opens(verdict: Verdict, rule: Rule) -> bool:
    """Tell whether a rule asks in place of the deny of a strict mode."""
    return verdict is ASK and rule.origin.layer >= Layer.USER


def _ask(matcher: Matcher, operation: Operation, view: View, *, broad: bool) -> tuple[Certainty, str | None]:
    """Ask one rule. One that fails counts as matched if it denies or asks, and as not matched if it allows."""
    try:
        return matcher.match(operation, view, broad=broad), None
    except TookTooLongError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, it must not open a way
        return (YES if broad else NO), f"{type(error).__name__}: {error}"


def _opinion(index: int, link: NamedPolicy, rule: Rule, answer: Certainty, fault: str | None) -> Opinion:
    verdict = link.verdict
    reason = rule.reason or f"{_WORDS[verdict]} {rule.text}"
    if fault:
        reason = f"the rule {rule.text} could not be evaluated ({fault}), so it counts as matched"
    elif answer is MAYBE:
        reason = f"may match {rule.text}; the command is not fully resolvable"
    return Opinion(
        verdict=ASK if answer is MAYBE else verdict,
        source=link.source,
        policy=link.name,
        reason=reason,
        operation=index,
        firm=_is_firm(verdict, rule, answer),
        opens=_opens(verdict, rule),
        certainty=answer,
        rule=rule.ref,
        destructive=rule.destructive,
    )


_WORDS = {ALLOW: "allowed by", ASK: "approval required by", DENY: "denied by"}


_REFUSED = "refused earlier in this session"


def _session(index: int, operation: Operation, view: View, guard: Guard) -> Iterator[Opinion]:
    for decision in guard.session:
        answer = decision.touches(operation, view) if decision.verdict == "deny" else NO
        if answer is not NO:
            asks = view.call.override or answer is MAYBE
            yield Opinion(
                verdict=ASK if asks else DENY,
                source=Source.SESSION,
                policy=decision.name(guard.cwd),
                reason=_REFUSED + (", requested again" if view.call.override else ""),
                operation=index,
                firm=asks,
                certainty=answer,
            )
