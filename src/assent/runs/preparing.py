"""From a wish to a run: its strategy and folder found, what decides in it settled, and nothing begun."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH111, PTH112, PTH118, PTH120

from __future__ import annotations

import os
from collections.abc import Iterable

import msgspec

from assent.model import ConfigError, Layer, Policy, within
from assent.policy.profiles import NAMES
from assent.runs.engines import Setting
from assent.runs.strategy import Strategy, load_strategy


def load(path: str, wished: str | None) -> tuple[str, Strategy]:
    """Read the strategy, and find the folder that the run is to be in."""
    if wished is not None and (not wished.startswith("/") or "\0" in wished):
        raise ConfigError("cwd must be an absolute path")
    if not path.startswith("/"):
        if wished is None:
            raise ConfigError("strategyPath must be absolute, or relative to a cwd that is given")
        path = os.path.join(wished, path)
    strategy = load_strategy(path)
    cwd = os.path.realpath(wished if wished is not None else os.path.dirname(path))
    if not os.path.isdir(cwd):
        raise ConfigError(f"there is no folder {cwd}")
    if within(os.path.realpath(os.path.expanduser("~")), cwd):
        raise ConfigError(f"{cwd} is no workspace: say a project's folder as cwd")
    return cwd, strategy


def settle(cwd: str, strategy: Strategy) -> Setting:
    """Return what decides in a run. The profile of a process is around all of it, and so around each of its calls."""
    if strategy.process is None:
        return Setting(cwd=cwd, layers=_layers(strategy.policy))
    policy = msgspec.structs.replace(strategy.policy, profile=None)
    return Setting(cwd=cwd, layers=_layers(policy), contained=False)


def check_profiles(strategy: Strategy, chosen: str | None, defined: Iterable[str]) -> None:
    """Refuse a profile that nobody defined, before anything runs."""
    known = {*NAMES, *defined}
    for name in sorted(filter(None, {chosen, strategy.policy.profile, *(step.profile for step in strategy.steps)})):
        if name not in known:
            raise ConfigError(f'{strategy.path}: no sandbox profile is called "{name}"')


def _layers(policy: Policy) -> tuple[Policy, ...]:
    """Leave out a layer that says nothing: runs without one share their engine."""
    return () if msgspec.structs.replace(policy, file="") == Policy(layer=Layer.RUN) else (policy,)
