"""Reading rules: `Tool` or `Tool(pattern)`, from text."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

import assent.lazy_regex as re
from assent.analysis.tools.names import find_tool
from assent.model import Origin, Rule, RuleError
from assent.policy.rules.patterns import unquoted

LONGEST_RULE = 4096
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_WHOLE = re.compile(r"[\w*.-]+\s*\(")
"""How a text begins that is a rule, and not the pattern of one."""
_APART = re.compile(r"\W")
_NOTHING = re.compile(r"[\s()]+")


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
    if fault := _fault_of(tool, pattern):
        raise RuleError(f'Invalid permission rule "{shown}": {fault}')
    return Rule(tool=tool, pattern=pattern, origin=origin)


def parse_pattern(text: str, tool: str, origin: Origin = Origin()) -> Rule:  # noqa: B008 - an immutable record
    """Read a whole rule, or what stands in the parentheses of one for this tool; raises `RuleError` as `parse_rule`."""
    pattern = text.strip()
    if _NOTHING.fullmatch(pattern):
        raise RuleError(f'Invalid pattern "{pattern[:80]}": there is nothing inside the parentheses')
    if not _WHOLE.match(pattern):
        return parse_rule(pattern if pattern == tool else f"{tool}({pattern})", origin)
    try:
        return parse_rule(pattern, origin)
    except RuleError as error:
        hint = f"did you mean `{pattern[:80]})`?" if "missing closing" in str(error) else "write the pattern alone"
        raise RuleError(f"{error}; {hint}") from None


def check_pattern(text: str) -> None:
    """Raise `RuleError` for a rule that stands where the pattern of a path or a command belongs."""
    if fault := _nested(text.strip()):
        raise RuleError(fault)


def _fault_of(tool: str, pattern: str) -> str | None:
    """Say what in a pattern is only there by mistake."""
    if find_tool(tool).shape != "command":
        return _nested(pattern)
    bare = unquoted(pattern)
    if bare.startswith("("):
        return "no command begins with a parenthesis"
    depths = list(itertools.accumulate((letter == "(") - (letter == ")") for letter in bare))
    if depths and (min(depths) < 0 or depths[-1] != 0):
        return "its parentheses do not match; put quotes around one that is meant"
    return _nested(pattern) or _beside(bare)


def _beside(bare: str) -> str | None:
    """Say that there is a rule somewhere in the pattern of a command."""
    named = [name for part in bare.split("(")[:-1] if _is_tool(name := _APART.split(part)[-1])]
    return f"it holds another rule, of `{named[0]}`; write one rule at a time" if named else None


def _nested(pattern: str) -> str | None:
    """Say that a pattern is a rule itself."""
    tool, opening, rest = pattern.partition("(")
    if not opening or not _is_tool(tool.strip()):
        return None
    return f"it holds another rule, `{pattern}`; write `{rest.removesuffix(')')}` alone"


def _is_tool(name: str) -> bool:
    known = find_tool(name)
    return known.shape != "unknown" and known.name == name


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
