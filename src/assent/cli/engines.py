"""Engines for the folders that calls are made in: made when first needed, kept while their policies stand."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NoReturn

import msgspec

from assent.config.layers import Layers, LivePolicies
from assent.decisions.engine_cache import EngineCache
from assent.model import AssentError, Decision, Environment, Facts, Layer, Mode, Policy, Session, ToolCall
from assent.platform.facts import Observer, observe
from assent.platform.paths import find_places
from assent.policy.engine import Engine
from assent.policy.guard import Guard

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assent.cli.output.layer_notices import Notices

MOST_ENGINES = 64
MOST_FOLDERS = 1024


class Bench(msgspec.Struct, frozen=True):
    """What decides in one project: its layers, and an engine made of them."""

    found: Layers
    """As the files have it."""
    policies: tuple[Policy, ...]
    """As asked for on the command line."""
    engine: Engine
    guard: Guard

    def decide(self, call: ToolCall, modes: tuple[Mode, ...] = (), environment: Environment | None = None) -> Decision:
        """Decide one call; `modes` may only tighten. Without an environment nothing is assumed of it."""
        found = self.found.workspace
        session = Session(workspace=found.roots, guessed=found.guessed, modes=modes, environment=environment)
        return self.engine.decide(call, session, guard=self.guard)

    def with_policy(self, policy: Policy) -> Bench:
        """Return a bench that hears one policy more."""
        return make_bench(self.found, (*self.policies, policy))


def open_engines(
    *, mode: Mode | None = None, files: Sequence[str] = (), notices: Notices | None = None
) -> EngineCache[Bench]:
    """Open the benches of folders. What the user says here (`mode`, `files`) is heard as the user's layer.

    What is to be known about the layers goes to `notices`, if given.
    """
    extra = tuple(map(_load, files))

    def make(found: Layers, _fault: str | None) -> Bench:
        return make_bench(found, speak_for_user(found.policies + extra, mode))

    def follow(live: LivePolicies, before: str | None, _made: Bench | None) -> None:
        if notices is not None:
            notices.follow(live, before)

    observe()  # what is broken there is to be heard of before anything is decided
    locate = functools.lru_cache(MOST_FOLDERS)(find_places)
    return EngineCache(make, locate=locate, follow=follow, most=MOST_ENGINES)


def _load(file: str) -> Policy:
    from assent.config.assent_yaml import load_policy  # noqa: PLC0415 - slow to load, and rarely asked for

    return load_policy(file, layer=Layer.USER)


def make_bench(found: Layers, policies: tuple[Policy, ...]) -> Bench:
    """Make a bench on which an ask is shown as one, also where nobody could be asked."""
    engine = Engine(policies, facts=_observer(found, policies))
    return Bench(found, policies, engine, Guard(msgspec.structs.replace(engine.merged, interactive=True)))


def _observer(found: Layers, policies: tuple[Policy, ...]) -> Callable[[], Facts]:
    """Return what looks at the world; at the sandbox too, which takes a while, where a policy may run things in one."""
    observer = Observer()
    if not any(p.profile or p.mode in (Mode.AUTO, Mode.ON_FAILURE) for p in policies):
        return observer
    from assent.sandbox.capabilities import SandboxCapabilities  # noqa: PLC0415 - as above

    outlook = SandboxCapabilities(found.workspace.roots, tried=True)
    return lambda: outlook(observer())


def speak_for_user(policies: tuple[Policy, ...], mode: Mode | None) -> tuple[Policy, ...]:
    """Replace the user's mode by the one given; every other layer's stays."""
    if mode is None:
        return policies
    others = tuple(msgspec.structs.replace(p, mode=None) if p.layer is Layer.USER else p for p in policies)
    return (*others, Policy(mode=mode, layer=Layer.USER, file="--mode"))


def refuse(call: ToolCall, error: AssentError) -> Decision:
    """Deny a call that can not even be looked at."""

    def fail() -> NoReturn:
        raise error

    return Engine(facts=fail).decide(call)
