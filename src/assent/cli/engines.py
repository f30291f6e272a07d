"""Engines by working directory: created on first use, cached while their policies stay unchanged."""

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
    """The policy layers of one project and the engine built from them."""

    found: Layers
    """The layers as loaded from files."""
    policies: tuple[Policy, ...]
    """The policies in force, including those of the command line."""
    engine: Engine
    guard: Guard

    def decide(self, call: ToolCall, modes: tuple[Mode, ...] = (), environment: Environment | None = None) -> Decision:
        """Decide one call; `modes` can only tighten. Without an environment its variables are unknown."""
        found = self.found.workspace
        session = Session(workspace=found.roots, guessed=found.guessed, modes=modes, environment=environment)
        return self.engine.decide(call, session, guard=self.guard)

    def with_policy(self, policy: Policy) -> Bench:
        """Return a copy with one more policy."""
        return make_bench(self.found, (*self.policies, policy))


def open_engines(
    *, mode: Mode | None = None, files: Sequence[str] = (), notices: Notices | None = None
) -> EngineCache[Bench]:
    """Return the cache of project engines. `mode` and `files` count as the user's layer.

    Notices about the layers go to `notices`, if given.
    """
    extra = tuple(map(_load, files))

    def make(found: Layers, _fault: str | None) -> Bench:
        return make_bench(found, replace_user_mode(found.policies + extra, mode))

    def follow(live: LivePolicies, before: str | None, _made: Bench | None) -> None:
        if notices is not None:
            notices.follow(live, before)

    observe()  # report a broken environment before anything is decided
    locate = functools.lru_cache(MOST_FOLDERS)(find_places)
    return EngineCache(make, locate=locate, follow=follow, most=MOST_ENGINES)


def _load(file: str) -> Policy:
    from assent.config.assent_yaml import load_policy  # noqa: PLC0415 - slow to load, rarely needed

    return load_policy(file, layer=Layer.USER)


def make_bench(found: Layers, policies: tuple[Policy, ...]) -> Bench:
    """Build an engine that reports an ask as ask, even where nobody could be asked."""
    engine = Engine(policies, facts=_observer(found, policies))
    return Bench(found, policies, engine, Guard(msgspec.structs.replace(engine.merged, interactive=True)))


def _observer(found: Layers, policies: tuple[Policy, ...]) -> Callable[[], Facts]:
    """Return the source of facts; it probes the sandbox only if a policy may use one, since that is slow."""
    observer = Observer()
    if not any(p.profile or p.mode in (Mode.AUTO, Mode.ON_FAILURE) for p in policies):
        return observer
    from assent.sandbox.capabilities import SandboxCapabilities  # noqa: PLC0415 - as above

    outlook = SandboxCapabilities(found.workspace.roots, tried=True)
    return lambda: outlook(observer())


def replace_user_mode(policies: tuple[Policy, ...], mode: Mode | None) -> tuple[Policy, ...]:
    """Replace the mode of the user's layer; other layers keep theirs."""
    if mode is None:
        return policies
    others = tuple(msgspec.structs.replace(p, mode=None) if p.layer is Layer.USER else p for p in policies)
    return (*others, Policy(mode=mode, layer=Layer.USER, file="--mode"))


def refuse(call: ToolCall, error: AssentError) -> Decision:
    """Deny a call that cannot be analysed."""

    def fail() -> NoReturn:
        raise error

    return Engine(facts=fail).decide(call)
