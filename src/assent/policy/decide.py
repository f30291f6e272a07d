"""Weighing: all opinions on all operations in, one verdict and one boundary out. The strictest wins."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import msgspec

from assent.model import (
    ALLOW,
    ASK,
    DESTRUCTIVE,
    SAFE,
    Consent,
    Decision,
    Facts,
    Mode,
    Opinion,
    SandboxProfile,
    Scope,
    Source,
    Verdict,
    bound_digest,
)
from assent.policy.call_view import View
from assent.policy.coverage import Coverage
from assent.policy.defaults import defaults, looks
from assent.policy.guard import Guard
from assent.policy.modes import TABLE, Cell, ModeRow
from assent.policy.open_asks import settle
from assent.policy.opinions import hear
from assent.policy.remembered_refusals import hear_refusals
from assent.policy.sandbox_profiles import SANDBOX, can_hold, intersect
from assent.policy.stakes import find_stakes

_PRECEDENCE = dict.fromkeys(Source, 99) | {
    source: rank
    for rank, source in enumerate(
        (
            Source.PERSON,
            Source.PROTECTION,
            Source.RULE,
            Source.PATH_POLICY,
            Source.SESSION,
            Source.GRANT,
            Source.TOOL_CHECK,
            Source.HOOK,
            Source.HOST_POLICY,
            Source.SANDBOX,
            Source.CLASSIFIER,
            Source.MODE,
        )
    )
}

_ALLOWING = {**_PRECEDENCE, Source.CLASSIFIER: 100}
_SANDBOXED: tuple[Cell, ...] = ("sandbox", "held-else-ask")
_PERSON = Source.PERSON
_early, _policy = operator.attrgetter("early"), operator.attrgetter("policy")
_rank, _rule = operator.attrgetter("rank"), operator.attrgetter("rule")
_verdict_rank, _boundary = operator.attrgetter("verdict.rank"), operator.attrgetter("boundary")


class Judgement(msgspec.Struct, frozen=True):
    """What one mode makes of a call."""

    mode: Mode
    verdict: Verdict
    boundary: SandboxProfile | None
    opinions: tuple[Opinion, ...]


def decide(view: View, guard: Guard, consent: Consent, call_opinions: Sequence[Opinion] = ()) -> Decision:
    """Decide one call. `call_opinions` are what checks, hooks and the host's policy said about it as a whole."""
    heard = hear(view, guard)
    if consent.grants:
        call_opinions = [*call_opinions, *hear_refusals(view, consent)]
    modes = guard.merged.modes
    if view.session.modes:
        modes = tuple(dict.fromkeys((*modes, *map(Mode, view.session.modes))))
    if len(modes) == 1:
        only = _judge(modes[0], view, guard, consent, heard, call_opinions)
        return _record(view, guard, only, only.boundary)
    judgements = _judge_by_all(modes, view, guard, consent, heard, call_opinions)
    strictest = max(judgements, key=_verdict_rank)
    # Also for an ask: the yes that answers it must find the boundary, and so the digest, that was asked about.
    return _record(view, guard, strictest, intersect(map(_boundary, judgements)))


def _judge_by_all(
    modes: Sequence[Mode],
    view: View,
    guard: Guard,
    consent: Consent,
    heard: list[list[Opinion]],
    call_opinions: Sequence[Opinion],
) -> list[Judgement]:
    return [_judge(mode, view, guard, consent, heard, call_opinions) for mode in modes]


def _judge(
    mode: Mode,
    view: View,
    guard: Guard,
    consent: Consent,
    heard: list[list[Opinion]],
    call_opinions: Sequence[Opinion],
) -> Judgement:
    row = TABLE[mode]
    boundary = sandbox = None
    if view.reading.tool == "Bash":
        profiles = guard.merged.profiles
        if profiles.own or profiles.others:
            boundary = profiles.boundary(view.place)
        if row.dangerous in _SANDBOXED:
            sandbox = profiles.boundary(view.place, SANDBOX)
    # A boundary that a policy demands stays, whatever it stopped; one that the mode chose may be asked about.
    stopped = consent.stopped if boundary is None and row.dangerous == "sandbox" else ""
    held = sandbox is not None and not stopped and _holds(row, sandbox, view)
    silent = not call_opinions and not any(heard)
    if silent and (said := looks(row, view, guard)) is not None:
        return Judgement(mode, ALLOW, boundary, tuple(said))
    coverage = Coverage(view, guard, consent, heard, call_opinions, boundary)
    kept: list[Opinion] = []
    for index, opinions in enumerate(heard):
        spoken = [*opinions, *call_opinions]
        if silent or not coverage.is_covered(index):
            default = defaults(index, row, view, guard, consent, spoken, held=held)
            spoken += default
            spoken += _outside(index, view, stopped) if stopped else ()
            spoken += _nowhere(index, view) if "sandbox" in map(_policy, default) else ()
        kept += settle(index, row, view, guard, spoken, coverage)
    verdicts = [o.verdict for o in kept if o.overruled is None]
    verdict = verdicts[0] if len(verdicts) == 1 else max(verdicts, key=_rank)
    if held and "sandbox" in map(_policy, kept):
        boundary = sandbox
    return Judgement(mode, verdict, boundary, tuple(dict.fromkeys(kept) if call_opinions else kept))


def _holds(row: ModeRow, sandbox: SandboxProfile, view: View) -> bool:
    """Tell whether a mode that runs things in the sandbox may do so with this call."""
    if any(map(_early, view.reading.operations)):
        return False
    return row.dangerous == "sandbox" or (_can_set_up(sandbox, view.facts) and can_hold(sandbox, view.reading))


def _can_set_up(boundary: SandboxProfile, facts: Facts) -> bool:
    return facts.sandbox and (facts.sandbox_writes or not boundary.write_roots)


def _outside(index: int, view: View, stopped: str) -> list[Opinion]:
    """Ask whether a dangerous call may run outside the sandbox in which it was stopped."""
    if view.reading.operations[index].tier is SAFE:
        return []
    reason = f"would run outside the sandbox, which stopped it: {stopped}"
    return [Opinion(verdict=ASK, source=Source.SANDBOX, policy="sandbox", reason=reason, operation=index)]


def _nowhere(index: int, view: View) -> list[Opinion]:
    """Ask before anything runs contained where neither a person nor a project says that it is a workspace."""
    roots = view.place.workspace
    if not view.facts.sandbox or (roots and not view.session.guessed):
        return []
    where = f"`{roots[0]}` is not a project" if roots else "this folder cannot be a workspace"
    reason = f"{view.reading.operations[index].reason}; {where}, and no workspace is set to run it in"
    return [Opinion(verdict=ASK, source=Source.SANDBOX, policy="workspace", reason=reason, operation=index)]


def _winner(opinions: Sequence[Opinion], verdict: Verdict) -> Opinion:
    """Pick the opinion that explains a decision best, of those that it comes from."""
    # Where a mode let something through, that is the news; a deny or an ask is best explained by the tier.
    precedence = _ALLOWING if verdict is ALLOW else _PRECEDENCE
    best, least = opinions[0], 1_000
    for opinion in opinions:
        if opinion.overruled is None and opinion.verdict is verdict and precedence[opinion.source] < least:
            best, least = opinion, precedence[opinion.source]
    if best.policy == "self-protection" and verdict is not ALLOW:
        # Who deletes everything is told that, and not that Assent's own files are among it.
        return next((o for o in _heeded(opinions, verdict) if o.source is Source.CLASSIFIER), best)
    return best


def _headline(view: View, opinions: Sequence[Opinion], winner: Opinion, verdict: Verdict) -> str:
    """Return the reason to show: of what Assent itself found, the gravest; what somebody wrote in a rule stays."""
    if not _is_ours(winner):
        return winner.reason
    gravest = winner
    if len(opinions) > 1:
        heeded = [o for o in _heeded(opinions, verdict) if _is_ours(o)]
        gravest = min((winner, *heeded), key=lambda o: _gravity(o, view))
    operation = None if gravest.operation is None else view.reading.operations[gravest.operation]
    # Who is asked is told what happens, and nothing of tiers and modes.
    return operation.reason if operation is not None and operation.sends and verdict is ASK else gravest.reason


def _is_ours(opinion: Opinion) -> bool:
    """Tell whether an opinion is Assent's own, and no word of a rule, a person or a hook."""
    return (opinion.built_in or opinion.source is Source.NOT_INTERACTIVE) and opinion.rule is None


def _gravity(opinion: Opinion, view: View) -> int:
    """Rank what an opinion is about: what cannot be undone, secrets sent away, the control plane, secrets, the rest."""
    operation = None if opinion.operation is None else view.reading.operations[opinion.operation]
    grave = (
        operation is not None and operation.tier is DESTRUCTIVE,
        opinion.policy == "self-protection",
        operation is not None and bool(operation.sends),
        opinion.policy == "control-plane",
        opinion.policy == "secrets",
    )
    return grave.index(True) if True in grave else len(grave)


def _heeded(opinions: Sequence[Opinion], verdict: Verdict) -> list[Opinion]:
    """Return the opinions that a verdict comes from."""
    return [o for o in opinions if o.overruled is None and o.verdict is verdict]


def _rules(judgement: Judgement) -> tuple[str, ...]:
    """Return the rules that a verdict comes from."""
    said = _heeded(judgement.opinions, judgement.verdict)
    return tuple(dict.fromkeys(filter(None, map(_rule, said))))


def _record(view: View, guard: Guard, judgement: Judgement, boundary: SandboxProfile | None) -> Decision:
    opinions = judgement.opinions
    winner = opinions[0] if len(opinions) == 1 else _winner(opinions, judgement.verdict)
    merged, allowed = guard.merged, judgement.verdict is ALLOW
    return Decision(
        verdict=judgement.verdict,
        boundary=boundary,
        available=boundary is None or _can_set_up(boundary, view.facts),
        decision_source=winner.source,
        decision_reason=winner.reason if allowed else _headline(view, opinions, winner, judgement.verdict),
        rule_refs=_rules(judgement) if any(map(_rule, opinions)) else (),
        scope=Scope.ONCE if winner.source is _PERSON else None,
        reading=view.reading,
        opinions=opinions,
        stakes=() if allowed else find_stakes(view, opinions),
        mode=judgement.mode,
        interactive=view.session.interactive and merged.interactive,
        policy_version=merged.version,
        policy_sources=merged.sources,
        digest=bound_digest(view.call, view.session, view.reading.tool, boundary, view.reading.environment),
    )
