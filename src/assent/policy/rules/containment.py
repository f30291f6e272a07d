"""Whether one rule is about everything that another is about."""

from __future__ import annotations

from typing import assert_never

from assent.analysis.resources.globs import Glob
from assent.model import within
from assent.policy.rules.match import Matcher
from assent.policy.rules.patterns import CommandPattern, HostPattern

_WRITES = ("write", "edit")


def contains(wide: Matcher, narrow: Matcher, *, broad: bool, narrow_broad: bool) -> bool:
    """Tell whether `wide` surely matches whatever `narrow` does. `broad` and `narrow_broad`: it denies or asks."""
    if wide.exceptions:
        return False
    if wide.family == "name":
        return _names(wide, narrow, narrow_broad=narrow_broad)
    if wide.family != narrow.family and not (broad and wide.family in _WRITES and narrow.family in _WRITES):
        return False
    match wide.family:
        case "command":
            return _commands(wide.command, narrow.command, broad=broad)
        case "write" | "edit" | "read":
            if wide.family == "edit" and (wide.glob is None or not broad):
                # `Edit` alone is about the edit tools; to deny, `Edit(path)` is about every write there.
                if wide.tool != narrow.tool:
                    return False
                if wide.glob is None:
                    return narrow.glob is None or not narrow_broad
            return wide.glob is None or (
                narrow.glob is not None and _globs(wide.glob, narrow.glob, broad=broad, narrow_broad=narrow_broad)
            )
        case "host":
            same = broad or wide.tool == narrow.tool
            return same and wide.host is not None and narrow.host is not None and _hosts(wide.host, narrow.host)
        case _:
            assert_never(wide.family)


def _commands(wide: CommandPattern | None, narrow: CommandPattern | None, *, broad: bool) -> bool:
    if wide is None:
        return True
    if narrow is None:
        # The bare name is also about a line without any command, such as a redirection alone.
        return False
    if wide.expression is not None:
        return narrow == wide
    if narrow.words[: len(wide.words)] != wide.words:
        return False
    if narrow == wide:
        return True
    # An option may redirect what runs, and then the wider allow does not cover it.
    further = narrow.words[len(wide.words) :] if wide.words else ()
    return broad or (wide.open_ended and not any(_may_redirect(word) for word in (*further, *narrow.heads)))


def _may_redirect(word: str) -> bool:
    return word.startswith("-") or "=" in word


def _globs(wide: Glob, narrow: Glob, *, broad: bool, narrow_broad: bool) -> bool:
    if (wide.anchor, wide.up) != (narrow.anchor, narrow.up):
        return False
    # To deny, a path that is spelled out is about all that is in it.
    is_file = narrow.form == "exact" and not narrow_broad
    match wide.form:
        case "below":
            return within(narrow.base, wide.base) and (narrow.base != wide.base or narrow.form != "exact")
        case "level":
            return is_file and wide.matches(narrow.base)
        case "exact" | "single":
            return within(narrow.base, wide.base) if broad else is_file and wide.matches(narrow.base)
        case "pattern":
            return narrow.text == wide.text or (is_file and wide.matches(narrow.base))
        case _:
            assert_never(wide.form)


def _hosts(wide: HostPattern, narrow: HostPattern) -> bool:
    if wide == narrow or not wide.host:
        return True
    return wide.below and wide.expression is None and narrow.host.endswith("." + wide.host)


def _names(wide: Matcher, narrow: Matcher, *, narrow_broad: bool) -> bool:
    if wide.tool == "*" and wide.rule.pattern is None:
        return True
    # To deny, a host is about what commands contact too; to allow, about its own tool.
    if narrow.family != "name" and (narrow.family != "host" or narrow_broad):
        return False
    same = wide.tool == narrow.tool or (wide.tool.endswith("*") and narrow.tool.startswith(wide.tool[:-1]))
    return same and (wide.rule.pattern is None or wide.rule.pattern == narrow.rule.pattern)
