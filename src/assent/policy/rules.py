"""Reading rules: `Tool` or `Tool(pattern)`, from text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import assent.regex as re
from assent.model import Origin, Rule, RuleError

LONGEST_RULE = 4096
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def parse_rule(text: str, origin: Origin = Origin()) -> Rule:  # noqa: B008 - an immutable record
    """Read one rule, or raise `RuleError` with the message for its author."""
    if not isinstance(text, str):
        raise RuleError("it is not a string")
    rule = text.strip()
    if not rule:
        raise RuleError("Invalid permission rule: empty string")
    shown = rule if len(rule) <= 80 else rule[:77] + "…"
    if len(rule) > LONGEST_RULE:
        raise RuleError(f'Invalid permission rule "{shown}": longer than {LONGEST_RULE} characters')
    if _CONTROL.search(rule):
        raise RuleError(f"Invalid permission rule {shown!r}: control characters are not allowed")
    tool, opening, rest = rule.partition("(")
    tool = tool.rstrip()
    if opening and not rest.endswith(")"):
        raise RuleError(f'Invalid permission rule "{shown}": missing closing parenthesis')
    if not tool:
        raise RuleError(f'Invalid permission rule "{shown}": tool name is empty')
    if not opening:
        return Rule(tool=tool, origin=origin)
    pattern = rest[:-1].strip()
    if not pattern:
        raise RuleError(f'Invalid permission rule "{shown}": pattern inside parentheses is empty')
    return Rule(tool=tool, pattern=pattern, origin=origin)


def parse_rules(texts: Iterable[str]) -> tuple[Rule, ...]:
    """Read a list of rules; an error names the place in the list."""
    if isinstance(texts, str):
        raise RuleError(f'expected a list of rules, not the text "{texts}"')
    if isinstance(texts, bytes | Mapping) or not isinstance(texts, Iterable):
        raise RuleError(f"expected a list of rules, not {type(texts).__name__}")
    rules = []
    for index, text in enumerate(texts):
        try:
            rules.append(parse_rule(text))
        except RuleError as error:
            raise RuleError(f"Permission rule at index {index} is invalid: {error}") from None
    return tuple(rules)
