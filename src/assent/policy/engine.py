"""The spine: read a call, hear everyone, decide. Whatever goes wrong on the way is a denial that names it."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from assent import budget
from assent.analysis.fact_log import watch
from assent.analysis.read import read
from assent.analysis.resources.paths import Place, place_of
from assent.analysis.tools.names import find_tool
from assent.budget import TookTooLongError
from assent.catalog import build_lexicon
from assent.model import (
    Consent,
    Decision,
    Facts,
    Operation,
    OperationKind,
    Opinion,
    Policy,
    Reading,
    Session,
    Source,
    Tier,
    ToolCall,
    Verdict,
    bound_digest,
)
from assent.policy.call_view import View
from assent.policy.decide import decide
from assent.policy.decision_cache import CachedDecision, DecisionCache, Key, key_of, weigh, world_of
from assent.policy.guard import Guard
from assent.policy.layers import Merged, merge

Answer: TypeAlias = Verdict | str | tuple[Verdict | str, str] | None
Voice: TypeAlias = Callable[[ToolCall, Session], Answer]
"""A check, a hook or a host's policy: says allow, ask or deny, perhaps with a reason, or nothing."""

_NOBODY = Session()
_NOTHING_SAID = Consent()


class Engine:
    """Decides tool calls by a fixed set of policies and voices. Made anew when a policy changes."""

    def __init__(
        self,
        policies: Sequence[Policy] = (),
        *,
        facts: Callable[[], Facts] = Facts,
        checks: Mapping[str, Sequence[Voice]] | None = None,
        hooks: Sequence[Voice] = (),
        host_policies: Sequence[Voice] = (),
    ) -> None:
        self.merged: Merged = merge(policies)
        self._lexicon = build_lexicon(self.merged.policies)
        self._facts = facts
        self._checks: dict[str, list[Voice]] = defaultdict(list)
        for name, voices in (checks or {}).items():
            self._checks[find_tool(name).name.lower()] += voices
        self._voices = [(Source.HOOK, "hooks", h) for h in hooks]
        self._voices += [(Source.HOST_POLICY, "host-policy", h) for h in host_policies]
        self._spoken = bool(self._voices or self._checks)
        self._guard = Guard(self.merged)
        self._memory = DecisionCache()
        rules = [r for p in self.merged.policies for r in (*p.allow, *p.ask, *p.deny)]
        self._expiries = sorted(r.expires for r in rules if r.expires is not None)

    def guard(self, tool: str | None = None, *, cwd: str | None = None, run: bool = False) -> Guard:
        """Return a fresh guard for one tool, or for all of them."""
        return Guard(self.merged, find_tool(tool).name if tool else None, cwd, run)

    def decide(
        self,
        call: ToolCall,
        session: Session = _NOBODY,
        consent: Consent = _NOTHING_SAID,
        guard: Guard | None = None,
        heard: Sequence[Opinion] = (),
    ) -> Decision:
        """Decide one call. Never raises: a fault is a denial.

        `heard` is what its host already asked a tool's check or a hook; like every opinion it cannot loosen.
        """
        try:
            guard = guard or self._guard
            place = place_of(call, session, self._facts(), self._lexicon)
            key = None if heard else self._key(call, session, consent, place)
            if key is not None:
                return self._recall(key, call, session, guard, place)
            return self._evaluate(call, session, consent, guard, place, heard)
        except Exception as error:  # noqa: BLE001 - the one catch-all: any fault is a denial
            return self.refuse(call, session, error)

    def decide_read(
        self, reading: Reading, call: ToolCall, session: Session, consent: Consent = _NOTHING_SAID
    ) -> Decision:
        """Decide a call by what was read in it before. Only policies and people are heard; never raises."""
        try:
            place = place_of(call, session, self._facts(), self._lexicon)
            return self._conclude(View(call, session, reading, place), self._guard, consent)
        except Exception as error:  # noqa: BLE001 - as in `decide`
            return self.refuse(call, session, error)

    def with_policy(self, policy: Policy) -> Engine:
        """Return an engine that hears one policy more, and no voices."""
        return Engine((*self.merged.policies, policy), facts=self._facts)

    def _key(self, call: ToolCall, session: Session, consent: Consent, place: Place) -> Key | None:
        """Name a line for the memory; None for what is decided anew: most lines come once, and are not worth it."""
        said = consent is not _NOTHING_SAID and consent != _NOTHING_SAID
        if said or self._spoken or find_tool(call.tool).shape != "command" or not self._memory.expects(call.input):
            return None
        expired = bisect.bisect_right(self._expiries, place.facts.now) if self._expiries else 0
        return key_of(call, session, place, expired)

    def _recall(self, key: Key, call: ToolCall, session: Session, guard: Guard, place: Place) -> Decision:
        """Decide a line as it was decided before; or anew, and remember it."""
        decision = self._memory.recall(key, guard, place)
        if decision is not None:
            return decision
        linked = guard.linked(place)
        facts, witness = watch(place.facts)
        watched = msgspec.structs.replace(place, facts=facts)
        decision = self._evaluate(call, session, _NOTHING_SAID, guard, watched)
        if decision.decision_source is Source.ERROR:
            return decision
        weight = weigh(call, decision, witness)
        self._memory.keep(key, CachedDecision(decision, guard, linked, world_of(facts), witness, weight))
        return decision

    def _evaluate(
        self,
        call: ToolCall,
        session: Session,
        consent: Consent,
        guard: Guard,
        place: Place,
        heard: Sequence[Opinion] = (),
    ) -> Decision:
        """Read a call in the time that there is for it, and decide it in the rest of that."""
        budget.start(place.facts.clock)
        try:
            reading = read(call, place)
        finally:
            left = budget.stop()
        if self._spoken:
            heard = [*heard, *self._hear(call, session, reading.tool)]
        return self._conclude(View(call, session, reading, place), guard, consent, heard, left)

    def _conclude(
        self,
        view: View,
        guard: Guard,
        consent: Consent,
        heard: Sequence[Opinion] = (),
        seconds: float = budget.LIMIT,
    ) -> Decision:
        budget.start(view.facts.clock, seconds)
        try:
            return decide(view, guard, consent, heard)
        except TookTooLongError as error:
            return self.refuse(view.call, view.session, error)
        finally:
            budget.stop()

    def _hear(self, call: ToolCall, session: Session, tool: str) -> list[Opinion]:
        voices = [(Source.TOOL_CHECK, "tool-check", c) for c in self._checks.get(tool.lower(), ())] + self._voices
        return [o for source, name, voice in voices if (o := _listen(source, name, voice, call, session)) is not None]

    def refuse(self, call: ToolCall, session: Session, error: Exception) -> Decision:
        """Deny a call because of a fault, and name it."""
        late = isinstance(error, TookTooLongError)
        reason = _fault(error) if late else f"Assent could not decide this call: {_fault(error)}"
        operation = Operation(kind=OperationKind.TOOL_CALL, resource=call.tool, tier=Tier.DANGEROUS, reason=reason)
        reading = Reading(
            tool=call.tool, operations=(operation,), tier=Tier.DANGEROUS, reason=reason, unreadable=reason
        )
        return Decision(
            verdict=Verdict.DENY,
            decision_source=Source.ERROR,
            decision_reason=reason,
            reading=reading,
            opinions=(Opinion(verdict=Verdict.DENY, source=Source.ERROR, policy="engine", reason=reason),),
            mode=self.merged.modes[0],
            interactive=session.interactive,
            policy_version=self.merged.version,
            policy_sources=self.merged.sources,
            digest=_digest_or_nothing(call, session),
        )


def _listen(source: Source, name: str, voice: Voice, call: ToolCall, session: Session) -> Opinion | None:
    """Ask one voice. One that raises, or says what cannot be understood, counts as a deny."""
    try:
        said = voice(call, session)
        if said is None:
            return None
        verdict, reason = said if isinstance(said, tuple) else (said, "")
        heard = Verdict(verdict)
        text = str(reason or f"said by the {name}")
        return Opinion(verdict=heard, source=source, policy=name, reason=text, opens=heard is Verdict.ASK)
    except Exception as error:  # noqa: BLE001 - a voice that fails is heard as its strictest
        reason = f"the {name} failed: {type(error).__name__}: {_fault(error)}"
        return Opinion(verdict=Verdict.DENY, source=source, policy=name, reason=reason)


def _fault(error: Exception) -> str:
    try:
        return str(error) or type(error).__name__
    except Exception:  # noqa: BLE001 - an error that cannot even be shown is still an error
        return type(error).__name__


def _digest_or_nothing(call: ToolCall, session: Session) -> str:
    try:
        return bound_digest(call, session, call.tool, None)
    except Exception:  # noqa: BLE001 - a call that has no canonical form has no digest, and is denied all the same
        return ""
