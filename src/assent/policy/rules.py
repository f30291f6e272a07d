"""Reading rules: `Tool` or `Tool(pattern)`, from text."""

from __future__ import annotations

from collections.abc import Iterable

from assent.model import Origin, Rule, RuleError

LONGEST_RULE = 4096


def parse_rule(text: str, origin: Origin = Origin()) -> Rule:  # noqa: B008 - an immutable record
    """Read one rule, or raise `RuleError` with the message for its author."""
    rule = text.strip()
    if not rule:
        raise RuleError("Invalid permission rule: empty string")
    shown = rule if len(rule) <= 80 else rule[:77] + "…"
    if len(rule) > LONGEST_RULE:
        raise RuleError(f'Invalid permission rule "{shown}": longer than {LONGEST_RULE} characters')
    if any(ord(c) < 32 or ord(c) == 127 for c in rule):
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
    rules = []
    for index, text in enumerate(texts):
        try:
            rules.append(parse_rule(text))
        except RuleError as error:
            raise RuleError(f"Permission rule at index {index} is invalid: {error}") from None
        except AttributeError:
            raise RuleError(f"Permission rule at index {index} is invalid: it is not a string") from None
    return tuple(rules)
