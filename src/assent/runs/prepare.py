"""From a wish to a run: its strategy and folder found, what decides in it settled, and nothing begun."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH112, PTH120

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from typing import Any

import msgspec

from assent.model import ConfigError, Layer, Policy, Workspace, within
from assent.platform.paths import refuse_folder
from assent.policy.sandbox_profiles import NAMES
from assent.runs.context import RunContext
from assent.runs.engines import PolicyAdditions
from assent.runs.protocol.client_messages import PrepareRun
from assent.runs.records import RunRecord
from assent.runs.run import Run
from assent.runs.strategies.strategy import Strategy, load_strategy
from assent.sandbox import find_machine


async def make_run(context: RunContext, wish: PrepareRun, path: str, **whose: Any) -> Run:
    """Make a run that nobody knows of yet; raises `ConfigError` if the strategy, or the folder, cannot be used."""
    loop = asyncio.get_running_loop()
    cwd, strategy = await loop.run_in_executor(context.threads, load, path, wish.cwd)
    await loop.run_in_executor(context.threads, find_machine)  # what this machine has takes a moment to find out
    found = await loop.run_in_executor(context.threads, context.find_workspace, cwd)
    setting = settle(cwd, strategy, guessed=found is None or _is_guessed(cwd, found))
    check_profiles(strategy, wish.profile, context.engines(setting).merged.profiles.specs)
    named: dict[str, Any] = {"strategy": strategy.name, "path": strategy.path, "cwd": cwd, **whose}
    record = RunRecord(**named, created_at=context.clock())
    run = Run(record, strategy, context, setting, interactive=wish.interactive)
    run.profile = wish.profile
    return run


def load(path: str, wished: str | None) -> tuple[str, Strategy]:
    """Read the strategy, and find the folder that the run is to be in."""
    if wished is not None and (not wished.startswith("/") or "\0" in wished):
        raise ConfigError("cwd must be an absolute path")
    strategy = load_strategy(path)
    cwd = os.path.realpath(wished if wished is not None else os.path.dirname(path))
    if not os.path.isdir(cwd):
        raise ConfigError(f"there is no folder {cwd}")
    reason = refuse_folder(cwd)
    if reason is not None:
        raise ConfigError(f"`{cwd}` cannot be a workspace: {reason}", suggestion="say a project's folder as cwd")
    return cwd, strategy


def _is_guessed(cwd: str, found: Workspace) -> bool:
    return found.guessed or not any(within(cwd, root) for root in found.roots)


def settle(cwd: str, strategy: Strategy, *, guessed: bool = False) -> PolicyAdditions:
    """Return what decides in a run. The profile of a process is around all of it, and so around each of its calls."""
    if strategy.process is None:
        return PolicyAdditions(cwd=cwd, layers=_layers(strategy.policy), guessed=guessed)
    policy = msgspec.structs.replace(strategy.policy, profile=None)
    return PolicyAdditions(cwd=cwd, layers=_layers(policy), guessed=guessed, contained=False)


def check_profiles(strategy: Strategy, chosen: str | None, defined: Iterable[str]) -> None:
    """Refuse a profile that nobody defined, before anything runs."""
    known = {*NAMES, *defined}
    for name in sorted(filter(None, {chosen, strategy.policy.profile, *(step.profile for step in strategy.steps)})):
        if name not in known:
            raise ConfigError(f'{strategy.path}: no sandbox profile is called "{name}"')


def _layers(policy: Policy) -> tuple[Policy, ...]:
    """Leave out a layer that says nothing: runs without one share their engine."""
    return () if msgspec.structs.replace(policy, file="") == Policy(layer=Layer.RUN) else (policy,)
