"""Layers merged into one: lists join, and whoever is not the user may only tighten."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, get_args

import msgspec

from assent.model import (
    MODE_ALIASES,
    Effect,
    Layer,
    Mode,
    Origin,
    PathPolicy,
    Policy,
    Rule,
    RuleError,
    Source,
    Verdict,
    canonical,
    digest,
)
from assent.policy.rules.index import RuleSet
from assent.policy.rules.parse import parse_rule
from assent.policy.sandbox_profiles import Demands, demands


class NamedPolicy(msgspec.Struct, frozen=True):
    """One link of a guard's chain: a name, and the rules that give one verdict."""

    name: str
    verdict: Verdict
    source: Source
    rules: RuleSet
    by_name: bool = False
    """A path that a command names is meant, whatever the command does with it."""


class PathDefault(msgspec.Struct, frozen=True):
    """What a path policy says about a path it does not list; None is the built-in edge of the workspace."""

    verdict: Verdict | None = None
    firm: bool = False
    """The organisation's: what is said while a session runs does not replace it."""


class Merged(msgspec.Struct, frozen=True):
    """All layers, ready to decide."""

    policies: tuple[Policy, ...]
    chain: tuple[NamedPolicy, ...]
    modes: tuple[Mode, ...]
    """The one that holds, then those that may only tighten it."""
    classifier: bool
    """Whether tiers vote."""
    muted: bool
    """Whether the user switched them off, even if somebody else has them on: then `untrusted` trusts no tier."""
    embedded: bool
    interactive: bool
    read_defaults: tuple[PathDefault, ...]
    write_defaults: tuple[PathDefault, ...]
    profiles: Demands
    unknown_repository: Verdict
    """What happens to commands that read a repository where its disk cannot be seen."""
    version: str
    sources: tuple[str, ...]


DEFAULT_POLICY = Policy()


def merge(policies: Sequence[Policy]) -> Merged:
    """Merge layers. No policy at all means the default one, never "no check"."""
    checked = tuple(map(_checked, policies))
    layers = checked or (DEFAULT_POLICY,)
    trusted = [p for p in layers if p.layer >= Layer.USER]
    others = [p for p in layers if p.layer < Layer.USER]
    votes = _votes(trusted, others)
    return Merged(
        policies=checked,
        chain=_chain(layers),
        modes=_modes(trusted, others),
        classifier=True in votes,
        muted=False in votes,
        embedded=all(p.embedded for p in layers),
        interactive=all(p.interactive is not False for p in layers),
        read_defaults=_defaults(trusted, others, lambda p: p.read),
        write_defaults=_defaults(trusted, others, lambda p: p.write),
        profiles=demands(layers),
        unknown_repository=_unknown_repository(trusted, others),
        version=digest(["assent.layers.v1", [p.version for p in layers]])[:16],
        sources=tuple(f"{p.layer} {p.file or '(built in)'} {p.version}" for p in layers),
    )


def _chain(layers: Sequence[Policy]) -> tuple[NamedPolicy, ...]:
    """Build the named policies that have something to say, in the order they are shown."""
    loosening = [p for p in layers if p.loosens]
    table: tuple[tuple[str, Verdict, Source, Iterable[Rule]], ...] = (
        (
            "forbidden-globs",
            Verdict.DENY,
            Source.PATH_POLICY,
            _globs(layers, ("Read", "Write"), lambda p: p.forbidden),
        ),
        ("deny-rules", Verdict.DENY, Source.RULE, _rules(layers, lambda p: p.deny)),
        ("ask-rules", Verdict.ASK, Source.RULE, _rules(layers, lambda p: p.ask)),
        ("allow-rules", Verdict.ALLOW, Source.RULE, _rules(loosening, lambda p: p.allow)),
        (
            "read-path-policy",
            Verdict.DENY,
            Source.PATH_POLICY,
            _globs(layers, ("Read",), lambda p: p.read.deny),
        ),
        (
            "read-path-policy",
            Verdict.ALLOW,
            Source.PATH_POLICY,
            _globs(loosening, ("Read",), lambda p: p.read.allow),
        ),
        (
            "write-path-policy",
            Verdict.DENY,
            Source.PATH_POLICY,
            _globs(layers, ("Write",), lambda p: p.write.deny),
        ),
        (
            "write-path-policy",
            Verdict.ALLOW,
            Source.PATH_POLICY,
            _globs(loosening, ("Write",), lambda p: p.write.allow),
        ),
        ("deny-commands", Verdict.DENY, Source.RULE, _globs(layers, ("Bash",), lambda p: p.deny_commands)),
        (
            "approve-commands",
            Verdict.ASK,
            Source.RULE,
            _globs(layers, ("Bash",), lambda p: p.approve_commands),
        ),
    )
    links = (NamedPolicy(name, verdict, source, RuleSet(rules)) for name, verdict, source, rules in table)
    return tuple(link for link in links if len(link.rules))


def _rules(layers: Iterable[Policy], of: Callable[[Policy], tuple[Rule, ...]]) -> Iterable[Rule]:
    """Yield rules as those of their policy's layer, whatever they say themselves."""
    for policy in layers:
        for rule in of(policy):
            if rule.origin.layer is policy.layer:
                yield rule
            else:
                place = (rule.origin.file or policy.file, rule.origin.line)
                yield msgspec.structs.replace(rule, origin=Origin(policy.layer, *place))


def _globs(layers: Iterable[Policy], tools: tuple[str, ...], of: Callable[[Policy], tuple[str, ...]]) -> Iterable[Rule]:
    return (Rule(tool=t, pattern=g, origin=Origin(p.layer, p.file)) for p in layers for g in of(p) for t in tools)


def _checked(policy: Policy) -> Policy:
    """Return the policy with every field of its kind, or raise `RuleError`: it may have been built by hand."""
    if policy.mode is not None and policy.mode not in (*Mode, *MODE_ALIASES):
        raise RuleError(f'no mode is called "{policy.mode}"')
    mode = MODE_ALIASES.get(policy.mode, policy.mode) if policy.mode is not None else None
    for effect in get_args(Effect):
        _check_rules(getattr(policy, effect), effect)
    try:
        given = msgspec.to_builtins(msgspec.structs.replace(policy, mode=mode))
        checked = msgspec.convert(given, Policy)
        canonical(checked)
    except (TypeError, ValueError, RecursionError) as error:
        raise RuleError(f"this is no policy: {error}") from None
    return checked


def _check_rules(rules: Any, effect: Effect) -> None:
    for rule in rules if isinstance(rules, list | tuple) else ():
        if not isinstance(rule, Rule):
            raise RuleError(f"expected a Rule, not {rule!r}: read texts with parse_rules")
        parse_rule(rule.text)
        if effect == "allow" and rule.exceptions:
            raise RuleError(f"{rule.text}: `except` has no meaning in a rule that says allow")


def _modes(trusted: Sequence[Policy], others: Sequence[Policy]) -> tuple[Mode, ...]:
    said = sorted((p for p in trusted if p.mode is not None), key=lambda p: -p.layer.rank)
    modes = [p.mode for p in (*said, *others) if p.mode is not None]
    return tuple(dict.fromkeys(modes if said else [Mode.DEFAULT, *modes]))


def _votes(trusted: Sequence[Policy], others: Sequence[Policy]) -> frozenset[bool]:
    """Return who is for and who against letting tiers vote: on unless switched off; others only switch it on."""
    said = {p.classifier for p in trusted if p.classifier is not None}
    embedded = bool(trusted) and all(p.embedded for p in (*trusted, *others))
    return frozenset((said or {not embedded}) | {True for p in others if p.classifier})


def _unknown_repository(trusted: Sequence[Policy], others: Sequence[Policy]) -> Verdict:
    said = sorted((p for p in trusted if p.unknown_repository is not None), key=lambda p: -p.layer.rank)
    return max([v for p in (*said, *others) if (v := p.unknown_repository) is not None], default=Verdict.ALLOW)


def _defaults(
    trusted: Sequence[Policy], others: Sequence[Policy], of: Callable[[Policy], PathPolicy]
) -> tuple[PathDefault, ...]:
    """Return the default that holds, and those of others that may tighten it."""
    said = sorted((p for p in trusted if of(p).default is not None), key=lambda p: -p.layer.rank)
    base = _default(said[0], of) if said else PathDefault()
    tighter = [_default(p, of) for p in (*said[1:], *others) if of(p).default is not None]
    return tuple(dict.fromkeys((base, *tighter)))


def _default(policy: Policy, of: Callable[[Policy], PathPolicy]) -> PathDefault:
    return PathDefault(of(policy).default, firm=policy.layer is Layer.MANAGED)
