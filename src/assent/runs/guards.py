"""The guards of a run, one for each tool: what was said in the run, and the way in for a call."""

from __future__ import annotations

import threading
from typing import Literal

import msgspec

from assent.approvals.cases import Aside, Then
from assent.engine import Engine
from assent.gate import Gate, OnAsk, Ruling
from assent.model import Session, ToolCall, Verdict
from assent.policy.guard import Guard, SessionDecision
from assent.policy.layers import Merged
from assent.runs.tools import TOOLS, guarded_name

_FOREVER = 400 * 86400.0
"""Questions end by their expiry, long before this."""


class ToolGuard:
    """One tool's guard in one run. What people say while it runs is kept here, in memory, and nowhere else.

    `on_ask` is awaited with every question that the guard has to put, before its answer is waited for.
    """

    def __init__(self, tool: str, rules: Guard, gate: Gate, on_ask: OnAsk) -> None:
        self.tool = tool
        self._gate = gate
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

    def patch(
        self,
        dimension: Literal["read", "write"],
        *,
        allow: tuple[str, ...],
        deny: tuple[str, ...],
        default: Verdict | None,
    ) -> None:
        """Add to its path policy; only the default is replaced."""
        with self._lock:
            self._change(self._rules.patch(dimension, allow=allow, deny=deny, default=default))

    async def admit(self, call: ToolCall, session: Session, then: Then = lambda _: ()) -> Ruling:
        """Decide a call, asking if need be; returns once it is allowed or denied, and that is on record.

        `then` is written with an allow, in the same transaction: that it begins.
        """
        return await self._gate.settle(call, session, _FOREVER, aside=Aside(then=then), on_ask=self._on_ask)

    def _change(self, rules: Guard) -> None:
        self._rules = rules
        self._based.clear()


class Guards:
    """All guards of a run. Those of the guarded tools are there from the start, others come with their first call."""

    def __init__(self, engine: Engine, cwd: str, gate: Gate, on_ask: OnAsk) -> None:
        self._engine = engine
        self._cwd = cwd
        self._gate = gate
        self._on_ask = on_ask
        self._guards = {tool: self._make(tool) for tool in TOOLS}

    def find(self, tool: str) -> ToolGuard:
        """Return the guard of a tool, by any of its names."""
        name = guarded_name(tool)
        if name not in self._guards:
            self._guards[name] = self._make(name)
        return self._guards[name]

    def named(self, tool: str | None) -> tuple[ToolGuard, ...]:
        """Return the guard that goes by exactly this name, or without one all that there are."""
        if tool is None:
            return tuple(self._guards.values())
        return (self._guards[tool],) if tool in self._guards else ()

    def _make(self, tool: str) -> ToolGuard:
        return ToolGuard(tool, self._engine.guard(tool, cwd=self._cwd, run=True), self._gate, self._on_ask)


def _rebase(rules: Guard, merged: Merged) -> Guard:
    """Put a guard on the layers as they are now: a rule that was added meanwhile counts."""
    return rules if rules.merged is merged else msgspec.structs.replace(rules, merged=merged)
