"""Which engine decides in a run: the layers of its folder, what its strategy and step add, and the sandbox."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

from assent.engine import Engine
from assent.model import Facts, Layer, Policy
from assent.policy.profiles import SANDBOX
from assent.sandbox.outlook import Outlook, may_contain

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
    guessed: bool = False
    """Whether neither a project nor a person says that the folder is a workspace."""
    contained: bool = True
    """Whether the daemon itself runs the commands, and so can put them in the sandbox."""


class Engines:
    """Makes engines, and lends the same one to runs that stand on the same ground."""

    def __init__(self, policies: Policies, facts: Callable[[], Facts], environ: Mapping[str, str]) -> None:
        self._policies = policies
        self._facts = facts
        self._environ = environ
        self._made: dict[tuple[object, ...], tuple[tuple[Policy, ...], Engine]] = {}
        self._lock = threading.Lock()

    def find(self, setting: Setting) -> Engine:
        """Return the engine for a setting, by the files as they are now."""
        policies = self._policies(setting.cwd)
        key = (id(policies), setting)
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
        outlook = Outlook((setting.cwd,), self._environ, tried=may_contain((*policies, *more)))
        return Engine((*policies, *more), facts=lambda: outlook(self._facts()))
