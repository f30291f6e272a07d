"""The guards of a run, one for each tool: what was said in the run, and the way in for a call."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterable

import msgspec

from assent.analysis.tools.names import find_tool
from assent.decisions.request import HostContext, OnAllow
from assent.decisions.ruling import Ruling
from assent.decisions.service import Decisions, OnAsk
from assent.model import Session, ToolCall
from assent.policy.engine import Engine
from assent.policy.guard import Guard, Patch, SessionDecision
from assent.policy.layers import Merged
from assent.runs.tools.inputs import TOOLS, guarded_name

MOST_GUARDS = 500
"""How many tools of a run are remembered: a program may make up names."""
MOST_GLOBS = 1000
"""How many patterns were ever added to what a guard says about reads, or about writes."""

_FOREVER = 400 * 86400.0
"""Questions end by their expiry, long before this."""


class ToolGuard:
    """One tool's guard in one run. What people say while it runs is kept here, in memory, and nowhere else.

    `on_ask` is awaited with every question that the guard has to put, before its answer is waited for.
    """

    def __init__(self, tool: str, rules: Guard, decisions: Decisions, on_ask: OnAsk) -> None:
        self.tool = tool
        self._decisions = decisions
        self._on_ask = on_ask
        self._lock = threading.Lock()
        self._rules = rules
        self._based: dict[int, tuple[Merged, Guard]] = {}

    def rules(self, merged: Merged) -> Guard:
        """Return the guard as a value, on these layers."""
        with self._lock:
            known = self._based.get(id(merged))
            if known is None or known[0] is not merged:
                known = self._based[id(merged)] = (merged, _rebase(self._rules, merged))
            return known[1]

    def remember(self, decision: SessionDecision) -> None:
        """Keep what a person said for the rest of the run; from any thread."""
        with self._lock:
            self._change(self._rules.remember(decision))

    def patch(self, added: Patch) -> None:
        """Add to its path policy; only the default is replaced."""
        with self._lock:
            self._change(_patched(self._rules, added))

    def has_room(self, added: Patch) -> bool:
        """Tell whether its path policy can take that in."""
        held = [p for p in _patched(self._rules, added).patches if p.dimension == added.dimension]
        return all(len(p.allow) + len(p.deny) <= MOST_GLOBS for p in held)

    async def admit(self, call: ToolCall, session: Session, on_allow: OnAllow = lambda _: ()) -> Ruling:
        """Decide a call, asking if need be; returns once it is allowed or denied, and that is on record.

        `on_allow` returns the events that are written with an allow, in the same transaction.
        """
        call = msgspec.structs.replace(call, rewritable=True)
        return await self._decisions.decide(
            call, session, wait=_FOREVER, host=HostContext(on_allow=on_allow), on_ask=self._on_ask
        )

    def _change(self, rules: Guard) -> None:
        self._rules = rules
        self._based.clear()


class Guards:
    """All guards of a run. Those of the guarded tools are there from the start, others come with their first call.

    What was said for all of them holds for those that come later too.
    """

    def __init__(self, engine: Engine, cwd: str, decisions: Decisions, on_ask: OnAsk) -> None:
        self._engine = engine
        self._cwd = cwd
        self._decisions = decisions
        self._on_ask = on_ask
        self._for_all: dict[str, Patch] = {}
        self._guards = {tool: self._make(tool) for tool in TOOLS}

    def find(self, tool: str) -> ToolGuard:
        """Return the guard of a tool, by any of its names."""
        name = guarded_name(tool)
        known = self._guards.get(name)
        if known is None:
            known = self._make(name)
            if len(self._guards) < MOST_GUARDS:
                self._guards[name] = known
        return known

    def named(self, tool: str | None) -> tuple[ToolGuard, ...]:
        """Return the guard of a tool by any of its names, or without one all that there are; none for no tool."""
        if tool is None:
            return tuple(self._guards.values())
        is_tool = guarded_name(tool) in self._guards or find_tool(tool).shape != "unknown"
        return (self.find(tool),) if is_tool else ()

    def patch(self, guards: Iterable[ToolGuard], added: Patch, *, for_all: bool) -> None:
        """Add to the path policy of some guards, or of all that there are and will be."""
        for guard in guards:
            guard.patch(added)
        if for_all:
            self._for_all[added.dimension] = self._for_all.get(added.dimension, Patch(added.dimension)).plus(added)

    def _make(self, tool: str) -> ToolGuard:
        rules = functools.reduce(_patched, self._for_all.values(), self._engine.guard(tool, cwd=self._cwd, run=True))
        return ToolGuard(tool, rules, self._decisions, self._on_ask)


def _patched(rules: Guard, added: Patch) -> Guard:
    return rules.patch(added.dimension, allow=added.allow, deny=added.deny, default=added.default)


def _rebase(rules: Guard, merged: Merged) -> Guard:
    """Put a guard on the layers as they are now: a rule that was added meanwhile counts."""
    return rules if rules.merged is merged else msgspec.structs.replace(rules, merged=merged)
