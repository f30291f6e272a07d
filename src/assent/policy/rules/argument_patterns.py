"""Patterns over what MCP tools and a program's own tools are given: places as they resolve, and plain text."""

from __future__ import annotations

import functools
from typing import Any

import msgspec

from assent.analysis.resources.globs import Glob, compile_glob
from assent.model import FS_READ, FS_WRITE, MAYBE, NO, YES, Certainty, Operation, RuleError, within
from assent.policy.call_view import View
from assent.policy.rules.path_patterns import path_match
from assent.policy.rules.patterns import compile_text

_FILES = (FS_READ, FS_WRITE)


class ArgumentPattern(msgspec.Struct, frozen=True):
    """A pattern over arguments. To deny, it finds any of them by any name; to allow, all of them must be covered."""

    text: str
    glob: Glob | None
    """The pattern as one over paths, if it can be one."""
    is_place: bool
    """It is written as a path: what names a place is then compared by that place, never as text."""

    def match(self, operation: Operation, view: View, *, broad: bool) -> Certainty:
        """Compare with one operation of a call."""
        if not broad:
            return YES if self._covers(operation, view) else NO
        if operation.kind in _FILES:
            return self._find_place(operation, view)
        return self._find_text(view.call.input)

    def _find_place(self, operation: Operation, view: View) -> Certainty:
        answer = NO if self.glob is None else path_match(self.glob, operation, view, broad=True)
        return YES if answer is not YES and any(map(self._fits, _shown(operation, view))) else answer

    def _find_text(self, given: dict[str, Any]) -> Certainty:
        """Look for the pattern in every string; what is no string may be written as one, but not as a path."""
        from assent.analysis.tools.argument_resources import leaves  # noqa: PLC0415 - few rules are about arguments

        doubt = NO
        for leaf in leaves(given):
            if not isinstance(leaf.value, str):
                doubt = NO if self.is_place else MAYBE
            elif self._fits(leaf.value):
                return YES
        return doubt

    def _covers(self, operation: Operation, view: View) -> bool:
        if operation.kind not in _FILES:
            files = [o for o in view.reading.operations if o.kind in _FILES] if self.is_place else []
            only = len(view.call.input) == 1 and isinstance(next(iter(view.call.input.values())), str)
            return only and all(self._is_below(f, view) for f in files) if files else self._is_whole(view)
        if self._is_below(operation, view):
            return True
        return not self.is_place and view.traits(operation).inside and self._is_whole(view)

    def _is_below(self, operation: Operation, view: View) -> bool:
        return self.glob is not None and path_match(self.glob, operation, view, broad=False) is YES

    def _is_whole(self, view: View) -> bool:
        """Tell whether the call is given one string, and that is what the pattern says."""
        values = list(view.call.input.values())
        return len(values) == 1 and isinstance(values[0], str) and self._fits(values[0])

    def _fits(self, text: str) -> bool:
        return compile_text(self.text).fullmatch(text) is not None


def _shown(operation: Operation, view: View) -> list[str]:
    """Return the names of a path as a person would write them: from the workspace, or whole if it lies outside."""
    names = [n for n in (operation.resource, operation.target) if n is not None]
    roots = [r for r in (*view.place.workspace, view.place.cwd) if r is not None]
    return [next((n[len(r.rstrip("/")) + 1 :] for r in roots if within(n, r) and n != r), n) for n in names]


@functools.lru_cache(maxsize=65536)
def compile_argument(pattern: str) -> ArgumentPattern:
    """Read the pattern of a rule about an MCP tool or a program's own tool."""
    compile_text(pattern)
    try:
        glob = compile_glob(pattern)
    except RuleError:
        glob = None
    is_place = ("/" in pattern and "://" not in pattern) or pattern.startswith(("~", "."))
    return ArgumentPattern(pattern, glob, is_place)
