"""Which engine decides in a run: the layers of its folder, what its strategy and step add, and the sandbox."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeAlias

import msgspec

from assent.engine import Engine
from assent.model import Facts, Layer, Policy
from assent.policy.profiles import SANDBOX
from assent.sandbox import probe

Policies: TypeAlias = Callable[[str], tuple[Policy, ...]]
"""The layers that hold in a folder, as they are now; raises `ConfigError` while they can not be read."""

MOST_ENGINES = 256
CONTAINED = Policy(layer=Layer.RUN, profile=SANDBOX, file="(runs)")
"""Commands of a run are always in the sandbox, whatever else is said about profiles."""


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What a run, or a step of it, adds to the layers of its folder."""

    cwd: str
    layers: tuple[Policy, ...]
    """Layers that can only tighten."""
    hosts: tuple[str, ...] = ()
    """What the sandbox may reach, where its profile says so."""
    contained: bool = True
    """Whether the daemon itself runs the commands, and so can put them in the sandbox."""


class Engines:
    """Makes engines, and lends the same one to runs that stand on the same ground."""

    def __init__(self, policies: Policies, facts: Callable[[], Facts]) -> None:
        self._policies = policies
        self._facts = facts
        self._made: dict[tuple[object, ...], tuple[tuple[Policy, ...], Engine]] = {}
        self._lock = threading.Lock()

    def find(self, setting: Setting) -> Engine:
        """Return the engine for a setting, by the files as they are now."""
        policies = self._policies(setting.cwd)
        key = (id(policies), setting.layers, setting.hosts, setting.contained)
        with self._lock:
            known = self._made.pop(key, None)
            if known is None or known[0] is not policies:
                known = (policies, self._make(policies, setting))
            self._made[key] = known
            if len(self._made) > MOST_ENGINES:
                del self._made[next(iter(self._made))]
            return known[1]

    def look(self) -> Facts:
        """Look at the world."""
        return self._facts()

    def _make(self, policies: tuple[Policy, ...], setting: Setting) -> Engine:
        more = (CONTAINED, *setting.layers) if setting.contained else setting.layers
        return Engine((*policies, *more), facts=_Eyes(self._facts, setting))


class _Eyes:
    """The world as a run sees it: with a sandbox, if there is one."""

    def __init__(self, facts: Callable[[], Facts], setting: Setting) -> None:
        self._look = facts
        self._setting = setting
        self._last: tuple[Facts, Facts] | None = None

    def __call__(self) -> Facts:
        seen = self._look()
        last = self._last
        if last is None or last[0] is not seen:
            sandbox = self._setting.contained and not probe().missing
            facts = msgspec.structs.replace(seen, sandbox=sandbox, sandbox_hosts=self._setting.hosts)
            last = self._last = (seen, facts)
        return last[1]
