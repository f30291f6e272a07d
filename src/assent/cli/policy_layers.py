"""The merged policy layers as `assent policy show` prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

import msgspec

from assent.cli.output.outline import Outline, StyledText, line
from assent.cli.output.screen import STYLE_OF
from assent.model import Effect, Layer, Mode, PathPolicy, Verdict
from assent.policy.rules.describe import phrase
from assent.policy.rules.match import compile_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.cli.engines import Bench
    from assent.model import Policy, Rule


class ShownRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One rule of a list."""

    rule: str
    means: str
    """The meaning of the rule in plain words."""
    origin: str
    counts: bool
    """Whether the rule applies: a project's allow rule needs a trusted project."""
    ignored: str | None = None
    """Why the rule does not apply."""
    reason: str | None = None


class ShownLayer(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one policy file besides its rules."""

    layer: Layer
    file: str
    version: str
    trusted: bool
    """Whether the file's exact content is trusted; only a project's file needs it."""
    allows_count: bool
    standing: str
    """Which parts of the file apply, and why."""
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
    """The commands that the file has entries for."""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """The policy in force for one folder."""

    version: str
    modes: tuple[Mode, ...]
    """The mode in force, then the modes that only tighten it."""
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
    """Collect the policy in force."""
    merged = bench.engine.merged
    return Shown(
        version=merged.version,
        modes=merged.modes,
        classifier=merged.classifier,
        interactive=merged.interactive,
        profiles=merged.profiles.names,
        workspace=bench.found.workspace.roots,
        chain=bench.guard.chain,
        layers=tuple(map(shown_layer, bench.policies)),
        deny=tuple(shown_rules(bench.policies, "deny")),
        ask=tuple(shown_rules(bench.policies, "ask")),
        allow=tuple(shown_rules(bench.policies, "allow")),
        notices=bench.found.notices,
    )


def shown_layer(policy: Policy) -> ShownLayer:
    """Describe one policy file and which parts of it apply."""
    commands = tuple(name for written in policy.commands for name in written.names)
    computed: dict[str, Any] = {"version": policy.version, "commands": commands, "allows_count": policy.loosens}
    computed["standing"] = standing_of(policy)
    names = (f for f in ShownLayer.__struct_fields__ if f not in computed)
    return ShownLayer(**computed, **{name: getattr(policy, name) for name in names})


def standing_of(policy: Policy) -> str:
    """Return which parts of a layer apply, and why."""
    match policy.layer:
        case Layer.MANAGED:
            return "your organisation's: all of it applies"
        case Layer.USER:
            return "your own: all of it applies"
        case Layer.PROJECT if policy.trusted:
            return "trusted: its allow rules apply, its other settings only tighten"
        case Layer.PROJECT:
            return "not trusted: allow rules ignored, other settings only tighten; run `assent trust`"
        case Layer.RUN:
            return "a run's: allow rules ignored, other settings only tighten"
        case _:
            assert_never(policy.layer)


def shown_rules(policies: tuple[Policy, ...], effect: Effect) -> Iterator[ShownRule]:
    """Yield the rules of one list, each with whether it applies."""
    for policy in policies:
        counts = effect != "allow" or policy.loosens
        why = None if counts else "not trusted" if policy.layer is Layer.PROJECT else "a run only tightens"
        rules: tuple[Rule, ...] = getattr(policy, effect)
        for rule in rules:
            origin, means = str(rule.origin), phrase(compile_rule(rule), effect)
            yield ShownRule(rule=rule.text, means=means, origin=origin, counts=counts, ignored=why, reason=rule.reason)


def outline_of(shown: Shown) -> Outline:
    """Return the policy as an outline."""
    main, *tighter = (mode.value for mode in shown.modes)
    also = f", tightened by {', '.join(tighter)}" if tighter else ""
    files = tuple(map(_outline_layer, shown.layers)) or (line(StyledText("none: defaults apply", "dim")),)
    return line(
        StyledText("policy ", "bold"),
        shown.version,
        below=(
            _fact("mode: ", main + also),
            _fact("classifier: ", "on" if shown.classifier else "off"),
            _fact("interactive: ", "yes" if shown.interactive else "no"),
            *(_fact("sandbox profile: ", name) for name in shown.profiles),
            _fact("workspace: ", ", ".join(shown.workspace) or "none"),
            line(StyledText("layers", "bold"), below=files),
            *(_outline_rules(effect, getattr(shown, effect)) for effect in ("deny", "ask", "allow")),
            _fact("chain: ", " > ".join(shown.chain)),
            *(line(StyledText("note: ", "yellow"), notice) for notice in shown.notices),
        ),
    )


def _fact(label: str, text: str) -> Outline:
    return line(StyledText(label, "dim"), text)


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
    standing = StyledText(f" ({layer.standing})", "dim" if layer.allows_count else "yellow")
    return line(StyledText(f"{layer.layer.value} ", "bold"), layer.file, standing, below=tuple(said))


def _outline_paths(name: str, paths: PathPolicy) -> Iterator[Outline]:
    for word, globs in (("deny", paths.deny), ("allow", paths.allow)):
        if globs:
            yield _fact(f"{name} {word}: ", ", ".join(globs))
    if paths.default is not None:
        yield _fact(f"{name} default: ", paths.default.value)


def _outline_rules(effect: str, rules: tuple[ShownRule, ...]) -> Outline:
    below = tuple(
        line(
            StyledText(r.rule, "" if r.counts else "dim"),
            StyledText(f"  {r.origin}", "dim"),
            StyledText(f"  (ignored: {r.ignored})" if r.ignored else "", "yellow"),
        )
        for r in rules
    )
    return line(StyledText(effect, STYLE_OF[effect]), below=below or (line(StyledText("no rules", "dim")),))
