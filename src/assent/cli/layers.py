"""The layers as they are merged: what `assent policy show` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from assent.cli.outlines import Outline, Span, line
from assent.cli.screen import STYLE_OF
from assent.model import Effect, Layer, Mode, PathPolicy, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.cli.engines import Bench
    from assent.model import Policy, Rule


class ShownRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A rule in the list it stands in."""

    rule: str
    origin: str
    counts: bool
    """Whether it has a say: a project's allow counts once the project is trusted."""
    reason: str | None = None


class ShownLayer(msgspec.Struct, frozen=True, kw_only=True):
    """What one file says besides its rules."""

    layer: Layer
    file: str
    version: str
    trusted: bool
    mode: Mode | None
    classifier: bool | None
    interactive: bool | None
    profile: str | None
    unknown_repository: Verdict | None
    read: PathPolicy
    write: PathPolicy
    forbidden: tuple[str, ...]
    deny_commands: tuple[str, ...]
    approve_commands: tuple[str, ...]
    commands: tuple[str, ...]
    """The commands that it has entries for."""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """Everything in force for one folder."""

    version: str
    modes: tuple[Mode, ...]
    """The one that holds, then those that may only tighten it."""
    classifier: bool
    interactive: bool
    profiles: tuple[str, ...]
    workspace: tuple[str, ...]
    chain: tuple[str, ...]
    layers: tuple[ShownLayer, ...]
    deny: tuple[ShownRule, ...]
    ask: tuple[ShownRule, ...]
    allow: tuple[ShownRule, ...]
    notices: tuple[str, ...]


def describe(bench: Bench) -> Shown:
    """Gather what is in force."""
    merged = bench.engine.merged
    return Shown(
        version=merged.version,
        modes=merged.modes,
        classifier=merged.classifier,
        interactive=merged.interactive,
        profiles=merged.profiles.names,
        workspace=bench.found.workspace,
        chain=bench.guard.chain,
        layers=tuple(map(_layer, bench.policies)),
        deny=tuple(_rules(bench.policies, "deny")),
        ask=tuple(_rules(bench.policies, "ask")),
        allow=tuple(_rules(bench.policies, "allow")),
        notices=bench.found.notices,
    )


def _layer(policy: Policy) -> ShownLayer:
    names = (f for f in ShownLayer.__struct_fields__ if f not in ("version", "commands"))
    commands = tuple(name for written in policy.commands for name in written.names)
    return ShownLayer(version=policy.version, commands=commands, **{name: getattr(policy, name) for name in names})


def _rules(policies: tuple[Policy, ...], effect: Effect) -> Iterator[ShownRule]:
    for policy in policies:
        counts = effect != "allow" or policy.layer >= Layer.USER or (policy.layer is Layer.PROJECT and policy.trusted)
        rules: tuple[Rule, ...] = getattr(policy, effect)
        for rule in rules:
            yield ShownRule(rule=rule.text, origin=str(rule.origin), counts=counts, reason=rule.reason)


def outline_of(shown: Shown) -> Outline:
    """Draw it as a tree."""
    main, *tighter = (mode.value for mode in shown.modes)
    also = f", tightened by {', '.join(tighter)}" if tighter else ""
    files = tuple(map(_outline_layer, shown.layers)) or (line(Span("none: the default policy holds", "dim")),)
    return line(
        Span("policy ", "bold"),
        shown.version,
        below=(
            _fact("mode: ", main + also),
            _fact("classifier: ", "on" if shown.classifier else "off"),
            _fact("interactive: ", "yes" if shown.interactive else "no"),
            *(_fact("sandbox profile: ", name) for name in shown.profiles),
            _fact("workspace: ", ", ".join(shown.workspace) or "none"),
            line(Span("layers", "bold"), below=files),
            *(_outline_rules(effect, getattr(shown, effect)) for effect in ("deny", "ask", "allow")),
            _fact("chain: ", " > ".join(shown.chain)),
            *(line(Span("note: ", "yellow"), notice) for notice in shown.notices),
        ),
    )


def _fact(label: str, text: str) -> Outline:
    return line(Span(label, "dim"), text)


def _outline_layer(layer: ShownLayer) -> Outline:
    switches = (("mode", layer.mode), ("profile", layer.profile), ("unknown_repository", layer.unknown_repository))
    said = [_fact(f"{name}: ", str(value)) for name, value in switches if value is not None]
    flags = (("classifier", layer.classifier), ("interactive", layer.interactive))
    said += [_fact(f"{name}: ", "yes" if value else "no") for name, value in flags if value is not None]
    said += [*_outline_paths("read", layer.read), *_outline_paths("write", layer.write)]
    lists = (
        ("forbidden", layer.forbidden),
        ("deny_commands", layer.deny_commands),
        ("approve_commands", layer.approve_commands),
        ("commands", layer.commands),
    )
    said += [_fact(f"{name}: ", ", ".join(globs)) for name, globs in lists if globs]
    trust = Span("" if layer.trusted else " (not trusted: its allows do not count)", "yellow")
    return line(Span(f"{layer.layer.value} ", "bold"), layer.file, trust, below=tuple(said))


def _outline_paths(name: str, paths: PathPolicy) -> Iterator[Outline]:
    for word, globs in (("deny", paths.deny), ("allow", paths.allow)):
        if globs:
            yield _fact(f"{name} {word}: ", ", ".join(globs))
    if paths.default is not None:
        yield _fact(f"{name} default: ", paths.default.value)


def _outline_rules(effect: str, rules: tuple[ShownRule, ...]) -> Outline:
    below = tuple(
        line(
            Span(r.rule, "" if r.counts else "dim"),
            Span(f"  {r.origin}", "dim"),
            Span("" if r.counts else "  (does not count: not trusted)", "yellow"),
        )
        for r in rules
    )
    return line(Span(effect, STYLE_OF[effect]), below=below or (line(Span("no rules", "dim")),))
