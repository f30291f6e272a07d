"""Which engine decides in a run: the layers of its folder, what its strategy and step add, and the sandbox."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from assent.model import Facts, Layer, Policy
from assent.policy.engine import Engine
from assent.policy.sandbox_profiles import SANDBOX
from assent.sandbox.capabilities import SandboxCapabilities, may_contain

CONTAINED = Policy(layer=Layer.RUN, profile=SANDBOX, file="(runs)")
"""Commands of a run are always in the sandbox, whatever else is said about profiles."""


class PolicyAdditions(msgspec.Struct, frozen=True, kw_only=True):
    """What a run, or a step of it, adds to the layers of its folder."""

    cwd: str
    layers: tuple[Policy, ...]
    """Layers that can only tighten."""
    guessed: bool = False
    """Whether neither a project nor a person says that the folder is a workspace."""
    contained: bool = True
    """Whether the daemon itself runs the commands, and so can put them in the sandbox."""


def make_run_engine(
    policies: tuple[Policy, ...], setting: PolicyAdditions, facts: Callable[[], Facts], environ: Mapping[str, str]
) -> Engine:
    """Make the engine that decides in a run, of the layers that hold in its folder."""
    more = (CONTAINED, *setting.layers) if setting.contained else setting.layers
    outlook = SandboxCapabilities((setting.cwd,), environ, tried=may_contain((*policies, *more)))
    return Engine((*policies, *more), facts=lambda: outlook(facts()))
