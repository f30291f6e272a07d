"""Rules in plain words: how a matcher reads what its author wrote."""

from __future__ import annotations

from typing import assert_never

from assent.model import Effect
from assent.policy.rules.match import Matcher
from assent.policy.rules.patterns import CommandPattern, split_program


def phrase(matcher: Matcher, effect: Effect) -> str:
    """Say what a rule matches: for `deny: Bash(git:push*)`, commands like `git push*`."""
    pattern = matcher.rule.pattern
    match matcher.family:
        case "command":
            if matcher.command is None:
                return f"any {matcher.tool} call"
            return _phrase_command(matcher.command, pattern or "", effect)
        case "write" | "edit":
            return "any write" if pattern is None else f"writes to `{pattern}`"
        case "read":
            return "any read" if pattern is None else f"reads of `{pattern}`"
        case "host":
            return f"connections to `{(pattern or '').removeprefix('domain:').strip()}`"
        case "name":
            called = f"any call of `{matcher.tool}`"
            return called if pattern is None else f"{called} whose input matches `{pattern}`"
        case _:
            assert_never(matcher.family)


def _phrase_command(command: CommandPattern, pattern: str, effect: Effect) -> str:
    if command.expression is not None:
        return f"commands like `{split_program(pattern.strip())}`"
    if not command.words:
        return "any command"
    words = " ".join(command.words)
    if command.open_ended or effect != "allow":
        return f"`{words}`, alone or with anything after it"
    return f"exactly `{words}`"
